"""Building blocks for tests of the gate machine: rules, views and workloads in few words, and a player of ticks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gate.contracts import EndReason, LegView, Phase, Workload
from gate.machines.clock import Now
from gate.machines.gate import GateState, start, step
from gate.machines.observations import (
    Action,
    Decide,
    EngineBlind,
    EngineSeen,
    GateRules,
    LegRules,
    Observation,
    Resumed,
    RootBlind,
    Say,
    Tick,
    WorkloadRules,
    WriteVerdict,
)
from gate.machines.verdict import Field, StateView, Verdict
from gate.plan.model import Judge, Limit, PollBudgets
from gate.rundir.formats import Decision, LegResult, Pointer

TAG = "abcdefghij"
OTHER = "zzzzzzzzzz"
EPOCH = 1_800_000_000.0
EVIDENCE = 120.0
INTERVAL = 30.0

JUDGE = Judge(
    finished={"done": True},
    passes={"stop_reason": ("converged", "target_reached")},
    limits={"crashes": Limit(None, 0)},
    show=("gain",),
)
GOOD: Mapping[str, Any] = {"done": True, "stop_reason": "converged", "crashes": 0, "gain": 1.25}
LOST: Mapping[str, Any] = {**GOOD, "stop_reason": "gave_up"}
BUSY: Mapping[str, Any] = {"done": False, "gain": 1.0}


def at(seconds: float) -> Now:
    """A reading so many seconds after the first poll."""
    return Now(mono=seconds, wall=EPOCH + seconds, boot=seconds)


def fields(body: Mapping[str, Any]) -> dict[str, Field]:
    """A flat state file as the judged keys see it."""
    judged = JUDGE.keys()
    return {
        key: Field("container") if isinstance(value, (dict, list)) else Field("value", value)
        for key, value in body.items()
        if key in judged
    }


def state(body: Mapping[str, Any]) -> StateView:
    """A readable state file."""
    raw = json.dumps(body).encode()
    return StateView("ok", "session/run/state.json", hashlib.sha256(raw).hexdigest(), len(raw), fields(body))


def pointer(leg: str = "a", tag: str = TAG, incarnation: str = "i1", **more: Any) -> Pointer:
    """A session pointer of a leg that waits for its run."""
    base = Pointer(leg, tag, incarnation, 3, "wait", None, 2, 0, 0, 0, 0.0, None, None, EPOCH)
    return replace(base, **more)


def result(leg: str = "a", outcome: Any = "finished", reason: Any = None, sentence: str = "", **more: Any) -> LegResult:
    """A leg.json."""
    base = LegResult(leg, TAG, "i1", outcome, reason, sentence, None, 2, 0, 0, 0, None, None, (), (), EPOCH)
    return replace(base, **more)


def view(found: StateView | Mapping[str, Any] | None = None, leg: str = "a", **more: Any) -> LegView:
    """A look at a started leg. `found` is a state view, the body of a readable one, or None for absent."""
    seen = found if isinstance(found, StateView) else StateView("absent") if found is None else state(found)
    base = LegView(("i1",), pointer(leg), None, seen, "", f"{seen.status}{seen.sha256}{seen.detail}")
    return replace(base, **more)


def workload(name: str = "a", phase: Phase = Phase.RUNNING, reason: EndReason = "", **more: Any) -> Workload:
    """What the engine says of one workload."""
    return replace(Workload(f"id-{name}", name, TAG, "run", "main", phase, reason), **more)


def leg(name: str = "a", **more: Any) -> LegRules:
    """A blocking leg in a workload of its own name."""
    return replace(LegRules(name, True, JUDGE, TAG, name, EVIDENCE, None, False), **more)


POLL = PollBudgets(interval=INTERVAL, queue=7200, outage=1200, skew=900, deadline=50_000, job=None, token_life=86_400)


def rules(*legs: LegRules, workloads: tuple[WorkloadRules, ...] | None = None, **more: Any) -> GateRules:
    """Rules of one attempt; workloads follow from the legs where they are not given."""
    legs = legs or (leg(),)
    if workloads is None:
        names = dict.fromkeys(each.workload for each in legs if each.carried is None)
        workloads = tuple(WorkloadRules(n, tuple(x.id for x in legs if x.workload == n), 40_000) for n in names)
    base = GateRules("run", 1, TAG, "full", legs, workloads, POLL, 60.0, True, "show")
    return replace(base, **more)


@dataclass
class Player:
    """Plays observations into the machine and keeps what came of them."""

    rules: GateRules
    clock: float = 0.0
    actions: list[Action] = field(default_factory=list)
    journal: list[tuple[Observation, Now]] = field(default_factory=list)
    engine: EngineSeen | EngineBlind = field(default_factory=lambda: EngineSeen({}, True))
    views: dict[str, LegView] | RootBlind = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.state: GateState = start(self.rules, at(0))
        running = {w.id: workload(w.id) for w in self.rules.workloads if not w.create_problem}
        self.engine = EngineSeen(running, True)
        self.views = {each.id: LegView() for each in self.rules.legs}

    def observe(self, observation: Observation) -> tuple[Action, ...]:
        """Step with one observation now."""
        self.journal.append((observation, at(self.clock)))
        self.state, actions = step(self.state, observation, at(self.clock))
        self.actions += actions
        return actions

    def tick(self, passed: float = INTERVAL, **looks: LegView) -> tuple[Action, ...]:
        """Let time pass, then poll; `looks` replaces single legs' views from now on."""
        if looks and isinstance(self.views, dict):
            self.views = {**self.views, **looks}
        self.clock += passed
        return self.observe(Tick(self.engine, self.views))

    def ticks(self, seconds: float, every: float = INTERVAL) -> None:
        """Poll with nothing new for so long."""
        for _ in range(round(seconds / every)):
            self.tick(every)

    def gap(self, seconds: float) -> tuple[Action, ...]:
        """The poller is down for so long."""
        self.clock += seconds
        return self.observe(Resumed(seconds))

    def says(self, name: str, phase: Phase, reason: EndReason = "", **more: Any) -> None:
        """From now on the engine says this of one workload."""
        assert isinstance(self.engine, EngineSeen)
        self.engine = replace(
            self.engine, workloads={**self.engine.workloads, name: workload(name, phase, reason, **more)}
        )

    def loses(self, name: str, **more: Any) -> None:
        """From now on the engine's list lacks this workload."""
        assert isinstance(self.engine, EngineSeen)
        left = {k: v for k, v in self.engine.workloads.items() if k != name}
        self.engine = replace(self.engine, workloads=left, **more)

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """What was written, by leg; a second verdict of a leg is a failure of the test."""
        written = [action.verdict for action in self.actions if isinstance(action, WriteVerdict)]
        found = {verdict.leg: verdict for verdict in written}
        assert len(found) == len(written), "a verdict is written once"
        return found

    @property
    def decision(self) -> Decision | None:
        """What was decided."""
        found = [action.decision for action in self.actions if isinstance(action, Decide)]
        assert len(found) <= 1
        return found[0] if found else None

    @property
    def kept(self) -> tuple[str, ...]:
        """Workloads that the decision keeps."""
        return next(action.keep for action in self.actions if isinstance(action, Decide))

    def said(self, kind: str) -> list[Say]:
        """Everything said of one kind."""
        return [action for action in self.actions if isinstance(action, Say) and action.kind == kind]

    def word(self, name: str = "a") -> str:
        """`OUTCOME reason` of a leg, or "" while it has no verdict."""
        verdict = self.verdicts.get(name)
        return f"{verdict.outcome.value} {verdict.reason.value}" if verdict else ""
