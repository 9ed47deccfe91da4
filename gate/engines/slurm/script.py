"""The batch script: the supervisor below a shell that outlasts it, so that what it read can be taken away.

Its text is in the controller's state and shown by `scontrol write batch_script`: no secret's value is in it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gate.bootstrap import exits


@dataclass(frozen=True, slots=True)
class Script:
    """What the job runs. `secrets`: a file of shell assignments, or None."""

    name: str
    env: Mapping[str, str]
    secrets: Path | None
    command: Sequence[str]


# TERM comes to the whole process group, the supervisor included: passing it on would be a second request, which cuts
# the supervisor's grace short. USR1 (the limit is near) comes to the shell alone. A wait that a signal interrupted is
# taken up again; 127 is a child that is known already.
_WAIT = """\
code=127
trap 'hit=1' TERM INT HUP
trap 'hit=1; kill -USR1 "$child" 2>/dev/null' USR1
{command} &
child=$!
while :; do
    hit=
    wait "$child"
    now=$?
    [ "$now" = 127 ] || code=$now
    [ -n "$hit" ] || break
done
{remove}exit "$code"
"""


def render(script: Script) -> str:
    """The script's text, for /bin/sh."""
    lines = ["#!/bin/sh", f"# {script.name}: a workload of gate", "cd /"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in sorted(script.env.items())]
    remove = ""
    if script.secrets is not None:
        path = shlex.quote(str(script.secrets))
        said = f"gate: {script.secrets} cannot be read on this node: secrets_dir must be on storage that nodes share"
        lines += [
            f"if ! [ -r {path} ]; then",
            f"    echo {shlex.quote(said)} >&2",
            f"    exit {exits.BAD_ASSIGNMENT}",
            "fi",
            f". {path}",
        ]
        remove = f"rm -f {path}\n"
    return "\n".join([*lines, _WAIT.format(command=shlex.join(script.command), remove=remove)])


def assignments(secrets: Mapping[str, str]) -> str:
    """The secrets' file: one exported variable a line."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(secrets.items()))
