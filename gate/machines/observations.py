"""What the gate machine is told, and what it asks for. The journal of a run is a sequence of these observations.

`state = fold(step, observations)`: restarting, replaying and simulating are the same thing as running.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gate.contracts import LegView, NewerRun, Workload
from gate.documents import Json
from gate.machines.verdict import Verdict
from gate.plan.model import Judge, PollBudgets
from gate.rundir.formats import Decision

# --- rules: what does not change during an attempt ---------------------------------------------------


@dataclass(frozen=True, slots=True)
class LegRules:
    """One leg as the gate machine needs it. `tag` differs from the attempt's where the workload was adopted."""

    id: str
    blocking: bool
    judge: Judge
    tag: str
    workload: str
    evidence: float
    silence: float | None
    allow_restart: bool
    carried: Verdict | None = None
    failed_before: bool = False
    """An earlier attempt of this run judged it, and it did not pass: a PASS now is flaky."""


@dataclass(frozen=True, slots=True)
class WorkloadRules:
    """One workload of the attempt; `create_problem` where dispatch could not create it."""

    id: str
    legs: tuple[str, ...]
    timeout: float
    create_problem: Literal["", "refused", "unclear"] = ""
    problem_detail: str = ""


@dataclass(frozen=True, slots=True)
class GateRules:
    """Everything fixed for one attempt."""

    run: str
    attempt: int
    tag: str
    scope: Literal["full", "fast", "subset", "none"]
    legs: tuple[LegRules, ...]
    workloads: tuple[WorkloadRules, ...]
    poll: PollBudgets
    list_lag: float
    fail_fast: bool
    flaky: Literal["show", "fail"]


# --- observations ------------------------------------------------------------------------------------

BlindKind = Literal["refused", "rejected", "timed_out", "gone", "error"]


@dataclass(frozen=True, slots=True)
class EngineSeen:
    """The engine answered: workload id of the plan to what the engine says. Missing from a complete list: gone.

    `not_found` are plan ids whose engine id the engine, asked by itself, does not know (WorkloadNotFound).
    """

    workloads: Mapping[str, Workload]
    complete: bool
    not_found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineBlind:
    """Every query of this tick failed."""

    kind: BlindKind
    detail: str


@dataclass(frozen=True, slots=True)
class RootBlind:
    """The shared root did not answer."""

    detail: str


@dataclass(frozen=True, slots=True)
class Tick:
    """One poll: what the engine and the legs' files showed. `legs` holds a view of every leg asked about."""

    engine: EngineSeen | EngineBlind
    legs: Mapping[str, LegView] | RootBlind


@dataclass(frozen=True, slots=True)
class Resumed:
    """The poller was down: `gap` seconds in which nothing was observed (never negative).

    `interval` and `fail_fast`: what the poller that goes on was told differently; None: as before.
    """

    gap: float
    interval: float | None = None
    fail_fast: bool | None = None


@dataclass(frozen=True, slots=True)
class CancelSeen:
    """A cancel was asked for, now or by an earlier poller of this attempt."""

    signal: int


@dataclass(frozen=True, slots=True)
class SupersedeSeen:
    """A newer run waits behind this one and will dispatch."""

    newer: NewerRun


@dataclass(frozen=True, slots=True)
class VerdictsFound:
    """Verdicts of this attempt that are already on disk (an earlier poller, or a write that raced): they stand."""

    verdicts: tuple[Verdict, ...]


Observation = Tick | Resumed | CancelSeen | SupersedeSeen | VerdictsFound

# --- actions -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WriteVerdict:
    """Create the verdict, once. An existing one wins over this."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Say:
    """Tell the reporters; `kind` is stable (`phase`, `blind`, `seen_again`, `loss_announced` …)."""

    kind: str
    leg: str | None
    text: str
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decide:
    """The attempt is decided; every leg has its verdict among the actions so far. The last action there ever is."""

    decision: Decision
    keep: tuple[str, ...]
    """Workloads to keep for post-mortem, or to leave to a superseded run until their time-out."""


Action = WriteVerdict | Say | Decide
