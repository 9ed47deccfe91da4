"""Starting a supervisor that nothing takes along: neither the dispatcher's death nor a CI runner's clean-up."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gate.bootstrap.supervise_files import LOG
from gate.contracts import WorkloadRequest
from gate.engines.local.registry import Claimed
from gate.errors import CreateUnclear, EngineRefused
from gate.plan import identity

READY_SECONDS = 45.0
"""For an interpreter to start on a busy machine."""
TRACKING = "RUNNER_TRACKING_ID"
WITHHELD = (
    TRACKING,
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_URL",
)
"""Of the dispatcher's environment: keys of the CI job, which no leg was given, and the runner's handle on orphans."""
# The shell ends at once, so the supervisor is nobody's child: no zombie waits for a dispatcher that lives for hours.
_DETACH = '"$@" &'


def environment(request: WorkloadRequest, own: Mapping[str, str]) -> dict[str, str]:
    """The supervisor's environment: the dispatcher's without what is withheld, the request's, its secrets.

    The tag is bootstrap's alone: the supervisor must not be found among the processes that it has to end.
    """
    env = {name: value for name, value in own.items() if name not in (*WITHHELD, *request.withheld)}
    env |= request.env
    env |= request.secrets
    for name in (identity.ENV_TAG, identity.ENV_WORKLOAD):
        env.pop(name, None)
    return env


def notes(own: Mapping[str, str]) -> tuple[str, ...]:
    """What the log says of the environment that the workload does not get."""
    found = [f"{name} is not passed on to the workload" for name in WITHHELD if name in own and name != TRACKING]
    if TRACKING in own:
        found.append(f"{TRACKING} is dropped: the CI runner's clean-up of orphans must not end the workload")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Start:
    """What to start: the supervisor's words up to its command, and that command."""

    supervisor: Sequence[str]
    command: Sequence[str]
    env: Mapping[str, str]
    notes: Sequence[str]
    """Lines for the top of the log."""


def launch(claimed: Claimed, what: Start) -> tuple[int, int]:
    """Start a supervisor, detached; returns its pid and start time.

    Raises EngineRefused where it died at once: nothing of the workload ran. Raises CreateUnclear where it did not
    answer.
    """
    read, write = os.pipe()
    try:
        log = os.open(claimed.path / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            for note in what.notes:
                os.write(log, f"gate: {note}\n".encode())
            handed = ("--hold", str(claimed.lock), "--ready", str(write))
            words = [*what.supervisor, *handed, "--", *what.command]
            subprocess.run(
                ["sh", "-c", _DETACH, "sh", *words],
                env=dict(what.env),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=(claimed.lock, write),
                check=True,
            )
        finally:
            os.close(log)
        os.close(write)
        write = -1
        return _answer(claimed, read)
    except (OSError, subprocess.CalledProcessError) as error:
        raise EngineRefused(f"{claimed.path.name}: cannot start a supervisor: {error}") from error
    finally:
        os.close(read)
        if write >= 0:
            os.close(write)


def _answer(claimed: Claimed, read: int) -> tuple[int, int]:
    deadline, said = time.monotonic() + READY_SECONDS, b""
    while not said.endswith(b"\n"):
        ready, _, _ = select.select([read], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            raise CreateUnclear(f"{claimed.path.name}: its supervisor did not answer within {READY_SECONDS:g} s")
        if not (piece := os.read(read, 64)):
            raise EngineRefused(
                f"{claimed.path.name}: its supervisor died at once:\n{_tail(claimed.path / LOG)}",
                hint="Is staged/gate.pyz there, and readable for this user?",
            )
        said += piece
    pid, start = said.split()
    return int(pid), int(start)


def _tail(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")[-800:].strip() or "(it said nothing)"
