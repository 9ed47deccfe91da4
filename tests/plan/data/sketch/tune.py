"""Stands for a program under test: it writes its result where gate says."""

import json
import os
import pathlib

pathlib.Path(os.environ["GATE_STATE_FILE"]).write_text(json.dumps({"done": True, "stop_reason": "converged"}))
