"""`gate supervise --assignment PATH [--registry DIR] -- bootstrap …`: the entry point of every workload.

Starts bootstrap where nothing can get away from it, enforces the workload's time-out, passes signals on, holds a failed
workload open for post-mortem, ends everything, and leaves on disk what became of it. Synchronous and small: it has to
work when everything else does not.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import fcntl
import os
import sys
import traceback
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gate.bootstrap import exits
from gate.bootstrap import supervise_kernel as kernel
from gate.bootstrap.containment import end_workload, started
from gate.bootstrap.supervise_files import LOCK, REQUEST, LocalRequest, Survivor
from gate.bootstrap.supervise_log import say
from gate.bootstrap.supervise_record import Record
from gate.bootstrap.supervise_run import Job, Run
from gate.bootstrap.supervise_signals import Wake
from gate.bootstrap.supervise_slots import Claim
from gate.documents import load
from gate.errors import DocumentError, UsageError
from gate.rundir.formats import Assignment

GRACE = 10.0
"""Seconds that bootstrap has to end by itself after it was asked to."""
_USAGE = "gate supervise --assignment PATH [--registry DIR] [--grace SECONDS] -- COMMAND…"
_HELP = f"""usage: {_USAGE}

Runs one workload to its end, for engines: enforces its time-out, passes signals on, holds a failed one open for
post-mortem, ends everything it started.

exit codes: bootstrap's own, or {exits.TIMED_OUT} timed out, {exits.STOPPED} stopped, 128 + n ended by signal n,
  {exits.BAD_ASSIGNMENT} the assignment cannot be used, {exits.BUG} a bug in gate
"""


@dataclass(frozen=True, slots=True)
class Options:
    """The command line. `hold` and `ready` are descriptors that the local engine hands over."""

    assignment: Path
    registry: Path | None
    hold: int | None
    ready: int | None
    grace: float
    command: tuple[str, ...]


def main(argv: Sequence[str]) -> int:
    """Run one workload to its end; `argv` are the words behind `supervise`. Returns a code of `exits`."""
    if argv[:1] in (["--help"], ["-h"]):
        sys.stdout.write(_HELP)
        return 0
    try:
        options = parse(argv)
    except UsageError as error:
        say(str(error))
        return exits.BAD_ASSIGNMENT
    if options.registry is not None and os.getpgrp() != os.getpid():
        # Out of the dispatcher's session and group: neither its terminal nor its runner's clean-up ends us.
        os.setsid()
    wake = Wake()
    lock = _hold(options)
    record = Record(options.registry)
    try:
        record.update(phase="pending", pid=os.getpid(), start=started(os.getpid()) or 0)
        _tell(options, record)
        return _supervise(options, record, wake)
    except Exception as error:  # noqa: BLE001 - whatever it is, nothing of the workload may go on unwatched
        return _bug(record, error)
    finally:
        if lock is not None:
            os.close(lock)


def _bug(record: Record, error: Exception) -> int:
    say("bug in the supervisor, ending the workload:\n" + "".join(traceback.format_exception(error)))
    left = end_workload(record.status.tag, record.status.workload, grace=GRACE, bound=60.0, root=os.getpid())
    record.update(
        phase="ended",
        exit_code=exits.BUG,
        reason="bug",
        message=f"bug in the supervisor: {error!r}",
        survivors=tuple(Survivor(each.pid, each.start, each.command) for each in left),
    )
    return exits.BUG


def _supervise(options: Options, record: Record, wake: Wake) -> int:
    try:
        assignment = load(Assignment, options.assignment.read_bytes(), str(options.assignment))
        request = _request(options.registry, assignment)
    except (OSError, DocumentError) as error:
        say(f"the assignment cannot be used: {error}")
        record.update(
            phase="ended", exit_code=exits.BAD_ASSIGNMENT, reason="exit", message=f"assignment cannot be used: {error}"
        )
        return exits.BAD_ASSIGNMENT
    record.belongs_to(assignment)
    subreaper = _become_subreaper()
    claim = Claim(options.registry.parent, request) if options.registry is not None and request is not None else None
    return Run(Job(assignment, _command(options.command), options.grace, subreaper), claim, record, wake).run()


def parse(argv: Sequence[str]) -> Options:
    """Read the command line. Raises UsageError."""
    words, given = list(argv), dict[str, str]()
    if "--" not in words or words[-1] == "--":
        raise UsageError("supervise: no command behind `--`", hint=_USAGE)
    split = words.index("--")
    own = words[:split]
    while own:
        name, value = own[0], own[1] if len(own) > 1 else None
        if name not in ("--assignment", "--registry", "--hold", "--ready", "--grace") or value is None:
            raise UsageError(f"supervise: unknown or unfinished option {name!r}", hint=_USAGE)
        given[name] = value
        own = own[2:]
    if "--assignment" not in given:
        raise UsageError("supervise: --assignment is missing", hint=_USAGE)
    try:
        return Options(
            assignment=Path(given["--assignment"]),
            registry=Path(given["--registry"]) if "--registry" in given else None,
            hold=int(given["--hold"]) if "--hold" in given else None,
            ready=int(given["--ready"]) if "--ready" in given else None,
            grace=float(given.get("--grace", GRACE)),
            command=tuple(words[split + 1 :]),
        )
    except ValueError as error:
        raise UsageError(f"supervise: {error}", hint=_USAGE) from error


def _become_subreaper() -> bool:
    try:
        kernel.become_subreaper()
    except OSError as error:
        say(f"{error}: what leaves the workload's tree is found by its mark only")
        return False
    return True


def _hold(options: Options) -> int | None:
    """The entry's lock, taken over from the engine or taken now; never inherited by what runs in the workload."""
    if options.hold is not None:
        os.set_inheritable(options.hold, False)
        return options.hold
    if options.registry is None:
        return None
    fd = os.open(options.registry / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return fd


def _tell(options: Options, record: Record) -> None:
    """Tell the engine that waits for it who we are: from here on the registry shows this workload by itself."""
    if options.ready is None:
        return
    try:
        os.write(options.ready, f"{record.status.pid} {record.status.start}\n".encode())
    except BrokenPipeError:
        say("whoever started this is gone already; going on")
    finally:
        os.close(options.ready)


def _request(registry: Path | None, assignment: Assignment) -> LocalRequest | None:
    if registry is None:
        return None
    path = registry / REQUEST
    request = load(LocalRequest, path.read_bytes(), str(path))
    if (request.tag, request.workload) != (assignment.tag, assignment.workload):
        raise DocumentError(
            f"{path}: this is workload {request.workload!r} of tag {request.tag}, "
            f"but the assignment is for {assignment.workload!r} of tag {assignment.tag}"
        )
    return request


def _command(words: tuple[str, ...]) -> tuple[str, ...]:
    """`bootstrap …` is this very program; anything else is run as it stands."""
    if words[0] != "bootstrap":
        return words
    program = (sys.argv[0],) if zipfile.is_zipfile(sys.argv[0]) else ("-m", "gate")
    return (sys.executable, *program, *words)
