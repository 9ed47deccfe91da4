"""Shrinking keeps what breaks the promise, and leaves out the rest."""

from __future__ import annotations

from random import Random

from gate.campaign.case import Case
from gate.campaign.plans import random_plan
from gate.campaign.shrink import shrink
from gate.campaign.violation import Violation
from gate.simulate.scenario import Fault, LegCourse, Rerun, Scenario


def big() -> Case:
    plan = next(p for p in (random_plan(Random(seed)) for seed in range(50)) if len(p.legs) == 3)
    faults = tuple(
        Fault(kind, at=123.4, legs=("leg-a",)) for kind in ("oom", "evict", "vanish", "state_torn", "node_lost")
    )
    return Case(
        plan,
        Scenario(
            faults=faults,
            legs={leg.id: LegCourse(result="fail") for leg in plan.legs},
            reruns=(Rerun(),),
            neighbours=True,
        ),
        9,
        (),
    )


def vanish_breaks(case: Case) -> tuple[Violation, ...]:
    if any(fault.kind == "vanish" for fault in case.scenario.faults) and len(case.plan.legs) >= 2:
        return (Violation("gone", "it is gone"),)
    return ()


def test_only_what_matters_is_left() -> None:
    small = shrink(big(), "gone", checker=vanish_breaks)

    assert [fault.kind for fault in small.scenario.faults] == ["vanish"]
    assert len(small.plan.legs) == 2
    assert set(small.scenario.legs) == {leg.id for leg in small.plan.legs}
    assert small.scenario.reruns == ()
    assert not small.scenario.neighbours
    assert {course.result for course in small.scenario.legs.values()} == {"pass"}
    assert small.said == ("gone: it is gone",)


def test_it_is_the_same_promise_that_stays_broken() -> None:
    def other(case: Case) -> tuple[Violation, ...]:
        return (*vanish_breaks(case), Violation("other", "something else"))

    assert any(fault.kind == "vanish" for fault in shrink(big(), "gone", checker=other).scenario.faults)


def test_the_number_of_plays_is_bounded() -> None:
    calls = 0

    def count(case: Case) -> tuple[Violation, ...]:
        nonlocal calls
        calls += 1
        return vanish_breaks(case)

    shrink(big(), "gone", checker=count, plays=7)

    assert calls <= 8
