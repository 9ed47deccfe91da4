"""`supervise` and `bootstrap`, the two commands that run inside workloads.

Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from gate.bootstrap import exits
from gate.documents import load
from gate.errors import DocumentError, GateError, UsageError
from gate.rundir.formats import Assignment

USAGE = "gate bootstrap --assignment PATH"
HELP = f"""usage: {USAGE}

Runs the legs of one workload to their end: prepares, sets up, launches, waits, and leaves a leg.json each.
Started by `gate supervise`, which is what engines run; secrets are read from the environment, by name.

exit codes: {exits.LEGS_FINISHED} every leg finished (which says nothing about PASS), {exits.LEG_FAILED} a leg did not,
  {exits.STOPPED} asked to stop, {exits.BAD_ASSIGNMENT} the assignment cannot be used, {exits.BUG} a bug in gate
"""


def main(argv: Sequence[str]) -> int:
    """Run `supervise …` or `bootstrap …`; a code of `exits`."""
    if argv[:1] == ["supervise"]:
        from gate.bootstrap.supervise import main as supervise  # noqa: PLC0415 - works without anything bootstrap needs

        return supervise(argv[1:])
    if set(argv[1:]) & {"--help", "-h"}:
        sys.stdout.write(HELP)
        return 0
    try:
        assignment = read(argv[1:])
    except GateError as error:
        return _complain(error)
    return _bootstrap(assignment)


def read(words: Sequence[str]) -> Assignment:
    """The assignment that the command line names. Raises UsageError, DocumentError."""
    path: str | None = None
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, joined, value = word.partition("=")
        if name != "--assignment":
            raise UsageError(f"bootstrap: unknown option {word!r}", hint=f"usage: {USAGE}")
        if path is not None:
            raise UsageError("bootstrap: --assignment is given twice", hint=f"usage: {USAGE}")
        path = value if joined else (rest.pop(0) if rest else "")
    if not path:
        raise UsageError("bootstrap: --assignment needs the path of a file", hint=f"usage: {USAGE}")
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise DocumentError(
            f"{path}: the assignment cannot be read: {error.strerror}", hint="Is the shared root mounted here?"
        ) from error
    assignment = load(Assignment, raw, path)
    if not assignment.legs:
        raise DocumentError(f"{path}: the assignment has no legs")
    return assignment


def _bootstrap(assignment: Assignment) -> int:
    import anyio  # noqa: PLC0415 - what an image may lack is imported where its absence can be reported

    from gate.bootstrap.workload import run_workload  # noqa: PLC0415

    try:
        return anyio.run(run_workload, assignment, dict(os.environ))
    except GateError as error:
        return _complain(error)
    except Exception:  # noqa: BLE001 - a bug is named as one, with a code that engines read
        sys.stderr.write(f"gate bootstrap: a bug in gate:\n{traceback.format_exc()}")
        return exits.BUG


def _complain(error: GateError) -> int:
    sys.stderr.write(f"gate: {error}\n")
    return exits.BAD_ASSIGNMENT
