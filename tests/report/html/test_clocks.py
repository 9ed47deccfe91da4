"""Where a leg's times stand on the poller's axis. trino#3730: skew is tolerated, measured and shown."""

from __future__ import annotations

import re

import pytest

from gate.report.html.clocks import place
from gate.report.html.history import Sign
from gate.report.html.story import Story, ToldTurn
from tests.report.html.course import Course
from tests.report.html.made import BEGIN, Made, agent_leg, make_run, plan_of


def story(began: float, *, skew: float = 0.0) -> Story:
    """A leg that began so long after the first poll, has had one turn from 100 s on, and ended after 900 s."""
    told = Story(wall=BEGIN + began + skew, ended=900.0)
    told.turns.append(ToldTurn(1, "setup", "starts", 100.0, 1200.0))
    return told


SIGNS = (
    Sign("start", "1-a", 0, 60.0, 90.0),
    Sign("turn", "1-a", 1, 150.0, 180.0),
    Sign("end", "1-a", 0, 960.0, 990.0),
)


def test_clocks_that_agree_are_believed() -> None:
    placed = place(story(75), BEGIN, SIGNS)
    assert (placed.offset, placed.skew) == (75.0, 0.0)


@pytest.mark.parametrize("skew", [900.0, -900.0, 4 * 86400.0])
def test_trino_3730_a_skewed_clock_is_put_where_the_poller_saw_the_leg(skew: float) -> None:
    placed = place(story(75, skew=skew), BEGIN, SIGNS)
    assert 60.0 <= placed.offset <= 90.0
    assert placed.skew == pytest.approx(skew, abs=30)


def test_a_result_that_came_late_over_a_hung_root_moves_nothing() -> None:
    late = Sign("end", "1-a", 0, 4000.0, 4030.0)
    assert place(story(75), BEGIN, (SIGNS[0], late)).offset == 75.0


def test_a_leg_that_nobody_has_seen_is_put_by_its_own_clock() -> None:
    assert place(story(75), BEGIN, ()).offset == 75.0


def skewed(by: float) -> Made:
    return make_run(plan_of([agent_leg("a")]), {"a": Course(skew=by)})


def test_lanes_do_not_depend_on_the_workloads_clock_and_say_so() -> None:
    straight, fast = skewed(0).page().lanes[0], skewed(900).page().lanes[0]
    assert straight.remarks == ()
    assert len(fast.remarks) == 1
    assert re.search(r"clock is about 1[45] min.* ahead of the poller's; its times are shifted", fast.remarks[0])
    begins = {span.kind: span.begin for span in fast.spans}
    for span in straight.spans:
        assert begins[span.kind] == pytest.approx(span.begin, abs=30), "one poll interval"
