"""What Primus-SaFE can do, and the bounds of its API that a client has to keep by itself."""

from __future__ import annotations

from gate.contracts import Capabilities
from gate.engines.safe.options import OPTIONS

LIST_LAG = 60.0
"""Lists and gets read a copy that is exported from where creates go: usually after a second, bounded by nothing."""
NAME = r"[a-z][a-z0-9-]*[a-z0-9]"
LONGEST_NAME = 44
"""Of a PyTorchJob. The server takes two more by an oversight."""

CAPABILITIES = Capabilities(
    list_lag=LIST_LAG,
    max_name=LONGEST_NAME,
    name_pattern=NAME,
    privileged=True,
    shared=True,
    images=True,
    timeouts=True,
    logs_after_end=True,
    shell=False,
    queue_position=True,
    gpus=True,
    protects_gate=False,
    options=OPTIONS,
)
