"""The script that a pod starts with: secrets from their files, then the supervisor in its place."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from gate.bootstrap import exits
from gate.contracts import WorkloadRequest
from gate.errors import EngineRefused
from gate.rundir import layout

MOUNTED = "/etc/secrets"
"""General secrets lie below it, one folder a secret, one file a key."""
LONGEST = 90_000
"""Bytes of base64: the script travels as one word of a command line, of which the kernel takes 128 KiB."""
PATIENCE = 120
"""Seconds for the share to show what was staged: a client may remember for a while that it was not there."""


def script(request: WorkloadRequest, secrets: Mapping[str, str], python: str, extra: Sequence[str]) -> str:
    """`secrets`: name to the id of the secret that holds it. `extra`: lines before the supervisor starts."""
    pyz = str(PurePosixPath(request.run_dir, layout.STAGED_PYZ))
    assignment = str(PurePosixPath(request.run_dir, request.assignment))
    words = [python, pyz, "supervise", "--assignment", assignment, "--", "bootstrap", "--assignment", assignment]
    lines = [
        "cd /",
        f'say() {{ echo "gate: $*" >&2; exit {exits.BAD_ASSIGNMENT}; }}',
        f"command -v {shlex.quote(python)} >/dev/null || say {shlex.quote(f'the image has no {python}')}",
        "n=0",
        f"until [ -r {shlex.quote(pyz)} ] && [ -r {shlex.quote(assignment)} ]; do",
        f"  [ $n -lt {PATIENCE} ] || say {shlex.quote(f'{pyz} is not there: is the shared root mounted here?')}",
        "  n=$((n+1)); sleep 1",
        "done",
    ]
    for name, secret in sorted(secrets.items()):
        path = shlex.quote(f"{MOUNTED}/{secret}/{name}")
        lines.append(f"{name}=$(cat {path}) || say {shlex.quote(f'secret {name} is not mounted')}; export {name}")
    return "\n".join([*lines, *extra, f"exec {shlex.join(words)}", ""])


def encoded(text: str) -> str:
    """As the API wants it: base64 in one line, since what is wrapped gets encoded once more. Raises EngineRefused."""
    found = base64.b64encode(text.encode()).decode()
    if len(found) > LONGEST:
        raise EngineRefused(f"the entry point has {len(found)} bytes, and a pod starts with {LONGEST} at most")
    return found
