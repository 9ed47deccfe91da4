"""The page of a gate that was played by the real drivers, against what really happened in its world."""

from __future__ import annotations

from functools import cache

import anyio
import pytest

from gate.report.html.from_run import page_of, simulated
from gate.report.html.page import Page
from gate.report.html.records import StoredRecords
from gate.report.html.render import render
from gate.rundir.run import Run
from gate.simulate.clock import EPOCH
from gate.simulate.play import play
from gate.simulate.played import Played
from gate.simulate.scenario import Fault, Scenario
from gate.simulate.store import MemoryDisk, MemoryStore
from tests.report.html.made import agent_leg, command_leg, plan_of
from tests.report.html.reading import Read

LEGS = ("vllm", "sglang", "sort")


@cache
def played(*faults: Fault) -> tuple[Played, Page]:
    """A gate of two agent legs and a command leg, and its page."""
    plan = plan_of([agent_leg("vllm"), agent_leg("sglang"), command_leg("sort")], fail_fast=False)
    done = play(plan, Scenario(faults=faults), 7)
    assert done.attempt is not None
    attempt = done.attempt.attempt
    disk = MemoryDisk()
    for key, raw in done.files[done.run].items():
        disk.write(key, raw)
    store = MemoryStore(disk)
    page = anyio.run(lambda: page_of(Run(store), attempt, StoredRecords(store), written=EPOCH + done.ended))
    return done, page


def first_poll(done: Played) -> float:
    assert done.attempt is not None
    assert done.attempt.first_poll is not None
    return done.attempt.first_poll


def test_turns_are_those_that_the_agents_really_had() -> None:
    done, page = played(Fault("turn_early", legs=("vllm",), turn=1))
    begin = first_poll(done)
    for lane in page.lanes:
        lives = [life for life in done.legs if life.leg == lane.row.leg]
        truth = [turn for life in lives for turn in life.turns]
        assert [(turn.ordinal, turn.outcome) for turn in lane.turns] == [(turn.ordinal, turn.end) for turn in truth]
        for shown, really in zip(lane.turns, truth, strict=True):
            assert shown.begin == pytest.approx(really.began - begin, abs=1)
            assert shown.end == pytest.approx(really.ended - begin, abs=1)
    assert len(page.lanes[0].turns) > 2
    assert page.lanes[2].turns == ()


def test_lanes_and_decision_are_those_of_the_world() -> None:
    done, page = played()
    assert done.attempt is not None
    assert page.decision == done.attempt.decision
    begin = first_poll(done)
    for lane in page.lanes:
        assert lane.verdict == done.attempt.standing[lane.row.leg]
        assert lane.remarks == ()
        own = next(span for span in lane.spans if span.kind == "prepare")
        life = next(life for life in done.legs if life.leg == lane.row.leg)
        assert own.begin == pytest.approx(life.began - begin, abs=1)
        wrote = [state.at - begin for state in done.states if state.leg == lane.row.leg and state.data is not None]
        run = next(span for span in lane.spans if span.kind == "run")
        assert run.begin == pytest.approx(wrote[0], abs=2)


def test_a_played_outage_is_drawn_where_it_was() -> None:
    done, page = played(Fault("api_timeout", at=3000.0, lasts=900.0))
    blind = [each for each in page.blind if each.what == "engine"]
    assert len(blind) == 1
    assert blind[0].begin == pytest.approx(3000.0 - first_poll(done), abs=60)
    assert (blind[0].end or 0) - blind[0].begin == pytest.approx(900, abs=60)


def test_a_workload_whose_clock_is_wrong_is_drawn_where_it_was() -> None:
    done, page = played(Fault("clock_skew", who="workload", seconds=-840.0))
    begin = first_poll(done)
    for lane in page.lanes:
        assert len(lane.remarks) == 1
        assert "behind the poller's; its times are shifted by it" in lane.remarks[0]
        life = next(life for life in done.legs if life.leg == lane.row.leg)
        own = next(span for span in lane.spans if span.kind == "prepare")
        assert own.begin == pytest.approx(life.began - begin, abs=31), "to within one poll"


def test_time_in_which_the_workload_saw_nothing_is_told() -> None:
    _, page = played(Fault("root_hangs", at=3000.0, lasts=600.0, who="workload", legs=("vllm",)))
    told = [remark for remark in page.lanes[0].remarks if "could not see its files" in remark]
    assert len(told) == 1
    assert "charged to no stall budget" in told[0]
    assert page.blind == ()


def test_a_poller_that_was_killed_left_a_time_that_nobody_saw() -> None:
    done, page = played(Fault("kill_poller", at=2000.0, restart=600.0))
    assert [kill.role for kill in done.kills] == ["poller"]
    unseen = [each for each in page.blind if each.what == "poller"]
    assert len(unseen) == 1
    # From the last look before it died to the first of the one after it, which waits until the old lease is stale.
    assert 600 <= (unseen[0].end or 0) - unseen[0].begin <= 600 + 4 * 30 + 31
    assert page.decision is not None


def test_the_page_of_a_play_says_so_and_counts_from_its_own_clock() -> None:
    _, page = played()
    text = Read(render(simulated(page, (("seed", "7"),), ("gate simulate --seed 7",))))
    whole = " ".join(render(simulated(page, (("seed", "7"),), ())).split())
    assert "Simulated in virtual time: nothing was launched, nothing was measured." in whole
    assert "Nothing: it was only played" in whole
    assert "before this page was written" not in whole
    assert text.data["simulated"] is True
    assert [leg["name"] for leg in text.data["legs"]] == list(LEGS)
