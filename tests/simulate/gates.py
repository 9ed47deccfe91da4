"""A small gate for tests of the simulation: an agent leg and a command leg, an hour or two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from gate.plan.model import Plan
from gate.plan.resolve import Choice, resolve
from gate.simulate.menu import Kind
from gate.simulate.play import play
from gate.simulate.played import Played, PlayedWorkload
from gate.simulate.scenario import Durations, Fault, LegCourse, Scenario, Span

HERE = Path(__file__).parent
CONFIG = HERE / "data" / "gate.yaml"
REFERENCE = HERE.parent / "plan" / "data" / "reference" / "gate.yaml"

DURATIONS = Durations(
    queue=Span(10, 10),
    pull=Span(100, 100),
    wake=Span(10, 10),
    prepare=Span(5, 5),
    install=Span(600, 600),
    verify=Span(2, 2),
    launch=Span(60, 60),
    first_state=Span(900, 900),
    every=Span(600, 600),
    task=Span(3600, 3600),
)
"""Everything at its place: running after 2 min, set up after 12, launched after 13, finished after 73."""


@cache
def small() -> Plan:
    """The plan of data/gate.yaml."""
    return resolve(CONFIG, Choice(version="1.0")).plan


@cache
def reference() -> Plan:
    """The eight-leg 3 h/12 h gate."""
    return resolve(REFERENCE, Choice(version="1.0")).plan


def fault(kind: Kind, **fields: Any) -> Fault:
    """One fault, by its kind and fields."""
    return Fault(kind, **fields)


def played(
    *faults: Fault, seed: int = 0, legs: Mapping[str, LegCourse] | None = None, plan: Plan | None = None, **world: Any
) -> Played:
    """The small gate, played with these faults."""
    scenario = Scenario(durations=DURATIONS, faults=faults, legs=legs or {}, **world)
    return play(plan or small(), scenario, seed)


def words(played: Played) -> dict[str, str]:
    """Leg to `OUTCOME reason`, of the last attempt."""
    assert played.attempt is not None
    return {leg: f"{v.outcome.value} {v.reason.value}" for leg, v in sorted(played.attempt.standing.items())}


def word(played: Played) -> str:
    """The decision's word."""
    assert played.attempt is not None
    assert played.attempt.decision is not None
    return played.attempt.decision.word


def own(played: Played) -> tuple[PlayedWorkload, ...]:
    """Workloads that this gate created."""
    return tuple(workload for workload in played.workloads if not workload.foreign)


def alive(played: Played) -> list[str]:
    """Own workloads that were alive when everything was over."""
    return [workload.engine_id for workload in own(played) if workload.ended is None]


def settled(played: Played) -> None:
    """What holds after every play: nothing leaks, and a verdict is written once."""
    assert alive(played) == []
    for attempt in played.attempts:
        effective = [written.verdict.leg for written in attempt.verdicts if written.effect]
        assert len(effective) == len(set(effective)), "a verdict is written once"
        assert sum(decided.effect for decided in attempt.decisions) <= 1
        assert attempt.standing == {w.verdict.leg: w.verdict for w in attempt.verdicts if w.effect}


PASSED = {"agent": "PASS criteria_met", "command": "PASS criteria_met"}


def without(plan: Plan, **changes: Any) -> Plan:
    """The plan, changed."""
    return replace(plan, **changes)
