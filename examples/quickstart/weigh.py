"""Weigh the wheel, and write that down as the leg's result."""

from __future__ import annotations

import json
import os
from pathlib import Path

kib = round(Path(os.environ["GATE_ARTIFACT"]).stat().st_size / 1024, 1)
state = Path(os.environ["GATE_STATE_FILE"])
state.parent.mkdir(parents=True, exist_ok=True)
new = state.with_suffix(".new")
new.write_text(json.dumps({"kib": kib, "stop_reason": "weighed", "close_sequence_done": True}))
new.replace(state)
print(f"{kib} KiB")
