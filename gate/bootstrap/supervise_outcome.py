"""What a workload came to, from how bootstrap ended. Pure, but for one look at the kernel's out-of-memory counter.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Literal

from gate.bootstrap import exits, supervise_memory
from gate.bootstrap.supervise_files import Ended

_NOT_KEPT = (exits.LEGS_FINISHED, exits.STOPPED, exits.BAD_ASSIGNMENT)
"""Nothing went wrong in the workload that somebody could look into."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Why the supervisor ends the workload; "" while it does not."""

    why: Literal["", "stopped", "timeout"] = ""
    text: str = ""
    signal: int = signal.SIGTERM


@dataclass(frozen=True, slots=True)
class CameTo:
    """Exit code of the workload, why, a sentence, and whether it is worth keeping."""

    code: int
    reason: Ended
    message: str
    keep: bool


def outcome(status: int | None, ending: Ending, memory: tuple[str, int], timeout: float) -> CameTo:
    """`status`: bootstrap's, negative for a signal, None where it could not be ended or never ran.

    `memory`: where out-of-memory kills are counted, and the count before the start.
    """
    if status == exits.LEGS_FINISHED:
        # Also when it was asked to end: what it finished in its grace is finished.
        return CameTo(exits.LEGS_FINISHED, "exit", "", keep=False)
    if ending.why == "timeout":
        return CameTo(
            exits.TIMED_OUT, "timeout", ending.text or f"ended after its time-out of {timeout:g} s", keep=False
        )
    if ending.why == "stopped":
        code = status if status is not None and status > 0 else exits.STOPPED
        return CameTo(code, "stopped", ending.text, keep=False)
    if status is None:
        return CameTo(exits.BUG, "bug", "bootstrap's exit code was never seen", keep=True)
    if status > 0:
        return CameTo(status, "exit", "", keep=status not in _NOT_KEPT)
    return _signalled(status, memory)


def _signalled(status: int, memory: tuple[str, int]) -> CameTo:
    where, before = memory
    if status == -signal.SIGKILL and where and supervise_memory.kills()[1] > before:
        text = f"bootstrap was killed while {where} counted an out-of-memory kill"
        return CameTo(128 - status, "out_of_memory", text, keep=True)
    return CameTo(128 - status, "signal", f"bootstrap was ended by {_name(-status)}", keep=True)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
