"""What the page shows, as values: filled from a run directory (`from_run`) or by a simulation, drawn by `render`.

All times on the page's axis are seconds since the attempt's first poll (negative: before it) on the poller's clock;
`begin`, `observed`, `written` and `until` are wall times, Unix seconds. Texts are from outside and carry no markup.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gate.machines.rows import LegRow
from gate.machines.verdict import Rule, Verdict
from gate.plan.model import Plan
from gate.rundir.formats import Decision, Manifest

SpanKind = Literal["queue", "start", "prepare", "setup", "launch", "run", "read"]
"""Phases of a leg in their order. `start`: the workload runs and the leg has not begun; `read`: it has ended, and its
evidence is read until it is judged."""

TurnHow = Literal["starts", "resumes", "recap"]
Unseen = Literal["engine", "root", "poller"]


@dataclass(frozen=True, slots=True)
class Span:
    """One phase of a leg. `end` None: it goes on."""

    kind: SpanKind
    begin: float
    end: float | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the agent. `outcome` is a TurnEnd's value, "" while it runs or where its end is not known."""

    ordinal: int
    kind: str
    """setup, nudge, task, finish_launch or redrive."""
    how: TurnHow
    begin: float
    end: float | None
    outcome: str
    said: str
    """The last words of the agent, or why the turn ended badly."""
    budget: float
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which the leg's state file was there and was not written. `end` None: it goes on."""

    begin: float
    end: float | None


@dataclass(frozen=True, slots=True)
class Rung:
    """One deadline of the ladder as it was met. `begin` None: its clock never started, and `used` is None too."""

    name: str
    budget: float
    begin: float | None
    used: float | None
    hit: bool = False
    """It was reached."""
    open: bool = False
    """Its clock still runs."""

    @property
    def slack(self) -> float | None:
        """Seconds that were left; negative where it was overrun."""
        return None if self.used is None else self.budget - self.used


@dataclass(frozen=True, slots=True)
class Blind:
    """A time in which the engine or the shared root could not be seen, or nobody polled. `end` None: it goes on."""

    what: Unseen
    begin: float
    end: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened to the gate as a whole."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Burning:
    """A workload that still runs, as far as is known. `until` None: nothing ends it by itself."""

    workload: str
    legs: tuple[str, ...]
    gpus: int
    why: str
    until: float | None
    stop: str
    """The command that ends it."""
    kept: bool = False
    """On purpose, with an end date."""
    tag: str = ""
    engine_id: str | None = None
    """How the engine calls it; None: nobody knows whether it was created."""


@dataclass(frozen=True, slots=True)
class Eta:
    """When a running attempt will be decided: expected from legs alike that are done, and at the latest."""

    expected: float | None
    latest: float


@dataclass(frozen=True, slots=True)
class Lane:
    """One leg: where it stands, how it got there, and why."""

    row: LegRow
    verdict: Verdict | None
    sentence: str = ""
    """What has been seen so far of a leg that is not judged; a judged one has its verdict's."""
    rules: tuple[Rule, ...] = ()
    """The same as a derivation."""
    spans: tuple[Span, ...] = ()
    turns: tuple[Turn, ...] = ()
    gaps: tuple[Gap, ...] = ()
    rungs: tuple[Rung, ...] = ()
    incarnations: tuple[str, ...] = ()
    agent_version: str | None = None
    survivors: tuple[str, ...] = ()
    secret_hits: tuple[str, ...] = ()
    log: str = ""
    """The end of its transcript, where that is worth showing."""
    moments: tuple[Moment, ...] = ()
    """What happened to it beside its turns (a check that disagrees, a launch asked for again)."""
    remarks: tuple[str, ...] = ()
    """What a reader must know of how this lane was drawn (clock skew, a journal that could not be read)."""


@dataclass(frozen=True, slots=True)
class Page:
    """One attempt, everything that the page shows."""

    kind: Literal["run", "simulation"]
    plan: Plan
    run: str
    attempt: int
    tag: str
    begin: float
    """Wall time of the attempt's first poll: where the axis is 0."""
    elapsed: float
    """Where observation ended, on the axis."""
    observed: float | None
    """Wall time of the last observation; None: nobody has polled yet."""
    written: float
    decision: Decision | None
    manifest: Manifest | None
    lanes: tuple[Lane, ...]
    """In the order of gate.yaml."""
    rungs: tuple[Rung, ...] = ()
    """Those of the gate as a whole."""
    blind: tuple[Blind, ...] = ()
    moments: tuple[Moment, ...] = ()
    burning: tuple[Burning, ...] = ()
    next: tuple[str, ...] = ()
    """Commands, most useful first; each can be typed as it stands."""
    eta: Eta | None = None
    poller: str = ""
    """Who watches, in words; "" for nobody."""
    facts: tuple[tuple[str, str], ...] = field(default=())
    """Further lines of the run's identity: label, value."""
