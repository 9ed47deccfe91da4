"""One workload on its way out, and what each look at the engine says about it. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from gate.contracts import Workload
from gate.rundir.formats import WorkloadEntry

RESEND = 10.0
"""Seconds after which a stop that has not taken effect is sent again: stops are idempotent by contract."""


@dataclass(frozen=True, slots=True)
class Target:
    """A workload to be seen gone. `entry` None: the engine lists it, but no entry names it."""

    tag: str
    name: str
    entry: WorkloadEntry | None
    engine_id: str | None
    gone: bool = False
    stopped_at: float | None = None
    """When the last stop was sent, on our own monotonic clock."""
    absent_since: float | None = None
    """When a look first missed it; shortly after a create that is list lag and means nothing."""
    why: str = "the engine has not been asked yet"

    @property
    def label(self) -> str:
        """What people call it: its plan id, else the engine's name."""
        return self.entry.id if self.entry is not None else self.name

    def spared(self, kept: Collection[str]) -> bool:
        """Kept on purpose: `kept` holds plan ids, engine ids, or `TAG/ID` where a plan id alone is ambiguous."""
        return self.label in kept or self.engine_id in kept or f"{self.tag}/{self.label}" in kept

    def wants_stop(self, mono: float) -> bool:
        """True where a stop is due."""
        return self.engine_id is not None and (self.stopped_at is None or mono - self.stopped_at >= RESEND)


def of_entry(entry: WorkloadEntry) -> Target:
    """The target that an entry names."""
    return Target(entry.tag, entry.name, entry, entry.engine_id, gone=entry.stage == "seen_gone")


def seen(target: Target, workload: Workload) -> Target:
    """The engine shows it. Terminal is gone, save for leftovers of a dead supervisor that were never stopped."""
    found = replace(target, engine_id=workload.id, absent_since=None)
    leftovers = workload.reason == "lost" and target.stopped_at is None
    if workload.phase.terminal and not leftovers:
        return replace(found, gone=True, why=f"{workload.phase.value}")
    return replace(found, gone=False, why=f"the engine still shows it as {workload.phase.value}")


def missing(target: Target, mono: float, lag: float) -> Target:
    """A complete look missed it. Gone only once that has lasted for longer than the engine's list lag."""
    since = mono if target.absent_since is None else target.absent_since
    if mono - since >= lag:
        return replace(target, absent_since=since, gone=True, why="the engine does not know it")
    return replace(target, absent_since=since, why=f"not listed, but lists may lag by {lag:g} s")
