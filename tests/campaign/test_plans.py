"""Random plans: always the same for a seed, and always ones that gate would launch."""

from __future__ import annotations

from random import Random

import pytest

from gate.campaign.plans import HOUR, random_plan
from gate.plan.ladder import ladder_of


@pytest.mark.parametrize("full", [False, True])
def test_every_deadline_fits(full: bool) -> None:
    for seed in range(200):
        assert ladder_of(random_plan(Random(seed), full=full)).broken == ()


def test_small_gates_have_up_to_three_legs_and_take_about_an_hour() -> None:
    plans = [random_plan(Random(seed)) for seed in range(300)]

    assert {len(plan.legs) for plan in plans} == {1, 2, 3}
    longest = [max(workload.timeout for workload in plan.workloads) for plan in plans]
    assert min(longest) > 0.3 * HOUR
    assert max(longest) < 1.2 * HOUR


def test_a_full_size_gate_is_as_large_as_a_release_gate() -> None:
    plans = [random_plan(Random(seed), full=True) for seed in range(50)]

    assert max(len(plan.legs) for plan in plans) == 8
    assert max(workload.timeout for plan in plans for workload in plan.workloads) > 10 * HOUR


def test_the_same_seed_makes_the_same_plan_and_another_one_another() -> None:
    assert random_plan(Random(7)) == random_plan(Random(7))
    assert random_plan(Random(7)) != random_plan(Random(8))


def test_every_leg_is_in_exactly_one_workload() -> None:
    for seed in range(200):
        plan = random_plan(Random(seed))
        carried = [leg for workload in plan.workloads for leg in workload.legs]
        assert sorted(carried) == sorted(leg.id for leg in plan.legs)
