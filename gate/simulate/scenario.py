"""A scenario: how the simulated world behaves, how each leg does, and what goes wrong when. Plain frozen values.

Times are seconds of virtual time since the first dispatch began. `gate.simulate.scenario_file` reads and writes it as
YAML; `gate.simulate.menu` says what each kind of fault does and which of its fields count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gate.simulate.menu import Kind

Result = Literal["pass", "fail", "over_limit", "missing", "never"]
"""What the run's last state file says: the criteria are met, not met, a limit is broken, a judged key is missing; or
it never says finished."""

Who = Literal["dispatcher", "poller", "workload"]
Side = Literal["before", "after"]


@dataclass(frozen=True, slots=True)
class Span:
    """A duration drawn uniformly from `low` to `high`: seconds, or parts of the budget that holds for it."""

    low: float
    high: float
    of_budget: bool = False


@dataclass(frozen=True, slots=True)
class Durations:
    """How long things take in this world, as seen in the field. Each leg and workload draws its own."""

    queue: Span = Span(0, 60)
    """From create to a free place."""
    pull: Span = Span(600, 1800)
    """Image pull, where a workload has an image or its engine needs one; shown as Pending."""
    wake: Span = Span(5, 14)
    """From there to Running; p50 9.5 s."""
    prepare: Span = Span(2, 20)
    install: Span = Span(600, 1800)
    """Work that set-up needs in all, over as many turns as it takes."""
    verify: Span = Span(1, 8)
    """The leg's own check."""
    launch: Span = Span(60, 240)
    """The task turn."""
    first_state: Span = Span(780, 1020)
    """From the launch to the first state file; never more than a fifth of the task."""
    every: Span = Span(360, 840)
    """Between two writes of the state file; never more than an eighth of the task."""
    task: Span = Span(0.75, 0.92, of_budget=True)
    """From the launch to the finished state file."""


@dataclass(frozen=True, slots=True)
class LegCourse:
    """How one leg differs from the world's usual. None: as usual."""

    prepare: Span | None = None
    install: Span | None = None
    verify: Span | None = None
    launch: Span | None = None
    first_state: Span | None = None
    every: Span | None = None
    task: Span | None = None
    result: Result = "pass"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong. `menu.MENU[kind]` says which fields count for it, and their defaults.

    `at` None and `probability` None: from the start, or at a moment drawn from the run. `probability` alone: of each
    call, turn or step for kinds that have many; of happening at all, for each leg or workload, for kinds that happen
    once.
    """

    kind: Kind
    at: float | None = None
    probability: float | None = None
    lasts: float | None = None
    """Seconds (`for` in YAML)."""
    legs: tuple[str, ...] = ()
    """Ids or globs; all legs, or the workloads of all legs, where empty."""
    seconds: float | None = None
    """By how much: slow calls, longer phases, skew of clocks (may be negative)."""
    turn: int | None = None
    """The n-th turn of a leg, from 1."""
    who: Who | None = None
    """Whose clock, whose view of the shared root; everybody's where None."""
    step: int | None = None
    """Kills: at the n-th change (from 1) that the process makes to the world, counted over all its incarnations."""
    side: Side = "before"
    """Kills: before that change takes effect, or after."""
    restart: float | None = 30.0
    """Kills: seconds until the process is started again; None: never."""
    signal: int = 15
    """A cancel's signal."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """Somebody asks for another attempt, `after` seconds after the one before has ended."""

    after: float = 600.0
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything about the world around one gate."""

    name: str = ""
    durations: Durations = field(default_factory=Durations)
    legs: Mapping[str, LegCourse] = field(default_factory=dict)
    """Leg id or glob to how it differs; of several that match, the last one."""
    faults: tuple[Fault, ...] = ()
    reruns: tuple[Rerun, ...] = ()
    neighbours: bool = False
    """Workloads of other gates, refs and runs live in the same engine, and evidence of an earlier run in the same
    root: nothing of theirs may be touched or believed."""
