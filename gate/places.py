"""The runner's own disk: where gate keeps what must not depend on the shared root.

`$GATE_STATE_DIR`, else `$XDG_STATE_HOME/gate`, else `~/.local/state/gate`; below it `runs/` (the default root),
`local/` (the local engine's registry), `cancels/` (cancel intents) and `logs/` (saved logs of bugs).
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
from pathlib import Path


def state_dir() -> Path:
    """The folder itself; not created here."""
    if named := os.environ.get("GATE_STATE_DIR"):
        return Path(named).absolute()
    home = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser().absolute() / "gate"


def default_root() -> Path:
    """The root of run directories where gate.yaml names none."""
    return state_dir() / "runs"


def local_registry() -> Path:
    """The local engine's registry of this host's workloads."""
    return state_dir() / "local"


def cancel_notes() -> Path:
    """Cancel intents."""
    return state_dir() / "cancels"


def bug_logs() -> Path:
    """Saved logs of bugs in gate."""
    return state_dir() / "logs"
