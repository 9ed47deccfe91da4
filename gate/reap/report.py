"""What a reap did, or would do."""

from __future__ import annotations

from dataclasses import dataclass

from gate.contracts import Workload
from gate.reap.remaining import Remaining, removal
from gate.rundir.formats import Kept, Lease


@dataclass(frozen=True, slots=True)
class Held:
    """A run that a live poller or dispatcher holds: named and left."""

    run: str
    lease: Lease
    workloads: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReapReport:
    """`stopped`: what was live and was stopped (with `--dry-run`: would be). `remaining` may still run."""

    stopped: tuple[Workload, ...] = ()
    kept: tuple[Kept, ...] = ()
    held: tuple[Held, ...] = ()
    remaining: tuple[Remaining, ...] = ()
    cancelled: int | None = None
    """Signal of a cancel that was noted for the run's latest attempt."""

    def and_(self, other: ReapReport) -> ReapReport:
        """Both together."""
        return ReapReport(
            self.stopped + other.stopped,
            self.kept + other.kept,
            self.held + other.held,
            self.remaining + other.remaining,
            self.cancelled if self.cancelled is not None else other.cancelled,
        )


def burning(workload: Workload) -> bool:
    """True where something of it may run: not over, or over because its supervisor died and left processes."""
    return not workload.phase.terminal or workload.reason == "lost"


STRANGE = "no attempt of its run has its tag: it is of another root, or its attempt's record is lost"
"""Why a workload is left alone though its run's directory is there."""


def left_alone(workload: Workload, why: str, kind: str) -> Remaining:
    """A workload that is not stopped because nobody here can know whose it is; `--all` takes it all the same."""
    return Remaining(workload.name, workload.id, why, f"{removal(kind, workload.run, None)} --all")
