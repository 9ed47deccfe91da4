"""What the gate machine remembers between observations. Bounded: nothing here grows with the number of polls.

Two accounts of observed time, both in seconds, measured on `mono`:
`looks` counts while the shared root could be seen, and is what evidence is read again on and an outage is measured on;
`clear` counts while root and engine could both be seen at both ends, and is what a leg's silence is charged on.
Hard deadlines (queue, poll) use `boot` and count everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gate.contracts import LegView, Phase, Workload
from gate.machines.clock import Now
from gate.machines.observations import BlindKind, GateRules, LegRules, WorkloadRules
from gate.machines.verdict import Outcome, Reason, Rule, Verdict
from gate.rundir.formats import Decision


@dataclass(frozen=True, slots=True)
class Watch:
    """How far observation has come: the last reading, what could be seen then, and the two accounts."""

    last: Now
    root: bool = True
    engine: bool = True
    looks: float = 0.0
    clear: float = 0.0
    looked: Now | None = None
    """The last look at the legs' files."""
    listed: Now | None = None
    """The last answer of the engine."""


@dataclass(frozen=True, slots=True)
class Ages:
    """How many seconds ago the two sources were last read; None: never."""

    files: float | None = None
    engine: float | None = None


@dataclass(frozen=True, slots=True)
class Outage:
    """The engine has answered nothing since `since` (on `looks`; `boot` for people), in `ticks` polls in a row."""

    since: float
    boot: float
    ticks: int
    kind: BlindKind
    detail: str


@dataclass(frozen=True, slots=True)
class WorkloadState:
    """One workload in the engine's eyes, as last seen."""

    rules: WorkloadRules
    seen: Workload | None = None
    pending_boot: float = 0.0
    """When the present wait in the queue began."""
    running_boot: float | None = None
    missing_mono: float | None = None
    missing_lists: int = 0
    gone: bool = False

    @property
    def over(self) -> bool:
        """Nothing of it runs any more, as far as the engine tells."""
        return self.gone or (self.seen is not None and self.seen.phase.terminal)

    @property
    def pending(self) -> bool:
        return not self.gone and self.seen is not None and self.seen.phase is Phase.PENDING


ReadingKind = Literal["nothing", "running", "finished", "bad", "restarted"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one view of a leg's files amounts to, before time enters.

    `reason` is what it becomes when it stays so for too long; `torn`: it may only have been caught in the middle.
    """

    kind: ReadingKind
    words: str
    reason: Reason = Reason.ENDED_WITHOUT_RESULT
    torn: bool = False


@dataclass(frozen=True, slots=True)
class LegState:
    """One leg: the last view, since when things are as they are, and its verdict once there is one."""

    rules: LegRules
    view: LegView | None = None
    reading: Reading = field(default=Reading("nothing", "nothing of this leg has been seen yet"))
    stamp_looks: float = 0.0
    stamp_boot: float = 0.0
    """When anything of the leg advanced last, on `looks` and for people."""
    state_clear: float = 0.0
    """When the state file changed last, on `clear`."""
    bad_since: float | None = None
    ended_since: float | None = None
    """On `looks`: the first look that found it so, without a better one since."""
    ended_gone: bool = False
    """It counts as ended because the engine did not know its workload."""
    told: bool = False
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict without its frame."""

    outcome: Outcome
    reason: Reason
    sentence: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """What every reducer of one observation needs to know of the moment."""

    now: Now
    looks: float
    clear: float
    seen: bool
    """The engine answered in this observation."""
    outage: Outage | None
    rules: GateRules
    ages: Ages


@dataclass(frozen=True, slots=True)
class GateState:
    """The gate machine's state: the fold of all observations of one attempt."""

    rules: GateRules
    watch: Watch
    workloads: Mapping[str, WorkloadState]
    legs: Mapping[str, LegState]
    outage: Outage | None = None
    root_blind_boot: float | None = None
    opened: bool = False
    """Carried verdicts have been written under this attempt's tag."""
    lost: bool = False
    """A blocking leg that did not pass has been announced."""
    decision: Decision | None = None

    @property
    def undecided(self) -> tuple[str, ...]:
        """Ids of the legs without a verdict: the only ones that need to be looked at."""
        return tuple(leg_id for leg_id, leg in self.legs.items() if leg.verdict is None)
