"""A record as the contract has it, and the ends that were read once and do not change any more."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from gate.contracts import EndReason, Phase, Workload
from gate.documents import Json
from gate.engines.safe.ending import SUCCEEDED, TERMINAL, Ending, ending
from gate.engines.safe.record import Record

SETTLE = 15.0
"""Seconds for which the exit code of a workload that failed is waited for."""
LONG_AGO = 600.0
"""One that ended so long ago by its own clock has said all it will, also to a process that never saw it alive."""
_PHASES = {
    "Pending": Phase.PENDING,
    "Running": Phase.RUNNING,
    "Updating": Phase.RUNNING,
    "NotReady": Phase.RUNNING,
}
_UNREAD = {"Failed": Phase.FAILED, "Stopped": Phase.STOPPED}


@dataclass
class Ends:
    """Ends by workload id."""

    known: dict[str, Ending] = field(default_factory=dict)
    seen: dict[str, float] = field(default_factory=dict)
    """When this process first saw that one had ended, on its own clock."""
    alive: set[str] = field(default_factory=set)
    """What this process saw alive."""

    def note(self, found: Record) -> None:
        """Called with every record that is read."""
        if found.phase in TERMINAL:
            self.seen.setdefault(found.id, anyio.current_time())
        else:
            self.alive.add(found.id)

    def of(self, found: Record) -> Ending | None:
        """What is known of the end; None: it has to be read."""
        return SUCCEEDED if found.phase == "Succeeded" else self.known.get(found.id)

    def read(self, found: Record, detail: dict[str, Json], wall: float) -> Ending | None:
        """Take in a single answer; None while its exit code is waited for."""
        told = ending(detail)
        waited = anyio.current_time() - self.seen.get(found.id, anyio.current_time())
        if not told.certain and waited < SETTLE and (found.ended is None or wall - found.ended < LONG_AGO):
            return None
        self.known[found.id] = told
        return told


def alive(found: Record, tag: str, message: str = "") -> Workload:
    """A workload that has not ended, or whose end has not been read yet."""
    phase = Phase.RUNNING if found.phase in TERMINAL else _PHASES.get(found.phase, Phase.UNKNOWN)
    reason: EndReason = "preempted" if phase is Phase.PENDING and found.started else ""
    return Workload(
        id=found.id,
        name=found.name,
        tag=tag,
        run=found.about.run if found.about else "",
        ref=found.about.ref if found.about else "",
        phase=phase,
        reason=reason,
        message=message or _message(found, phase),
        queue_position=found.position or None if phase is Phase.PENDING else None,
        restarts=_restarts(found),
    )


def ended(found: Record, tag: str, end: Ending | None) -> Workload:
    """One that has ended; `end` None: long ago, and nobody asked how."""
    return Workload(
        id=found.id,
        name=found.name,
        tag=tag,
        run=found.about.run if found.about else "",
        ref=found.about.ref if found.about else "",
        phase=end.phase if end else _UNREAD.get(found.phase, Phase.FAILED),
        reason=end.reason if end else "",
        exit_code=end.exit_code if end else None,
        message=end.message if end else "",
        restarts=_restarts(found),
    )


def _message(found: Record, phase: Phase) -> str:
    if phase is Phase.UNKNOWN:
        return f"SaFE says {found.phase!r}, which this gate does not know"
    if phase is Phase.PENDING and not found.message and not found.position:
        return "placed; its pod is starting (a missing image or a node that is not ready also looks like this)"
    return found.message


def _restarts(found: Record) -> int:
    return max(0, found.dispatches - 1)
