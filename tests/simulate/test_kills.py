"""Killed before and after every change it makes, and started again: the same verdicts, and nothing leaks."""

from __future__ import annotations

from functools import cache
from typing import Literal

import pytest

from gate.contracts import Phase
from gate.simulate.played import Played, Role
from gate.simulate.scenario import Side
from tests.simulate.gates import PASSED, fault, own, played, settled, words

SIDES: tuple[Side, ...] = ("before", "after")


@cache
def calm() -> Played:
    """The same gate when nobody dies."""
    return played()


def steps(*roles: Role, subject: str = "") -> int:
    """How many changes these processes make when nobody dies."""
    found = [p for p in calm().processes if p.role in roles and subject in p.name]
    return sum(len(process.steps) for process in found)


def killed(kind: Literal["kill_dispatcher", "kill_poller", "kill_supervisor"], step: int, side: Side) -> Played:
    legs = ("agent",) if kind == "kill_supervisor" else ()
    result = played(fault(kind, step=step, side=side, legs=legs, restart=45.0))
    assert len(result.kills) == 1, "the fault did not strike"
    settled(result)
    return result


@pytest.mark.parametrize("side", SIDES)
def test_a_dispatcher_that_dies_anywhere_is_gone_on_with(side: Side) -> None:
    count = steps("dispatcher")
    assert count > 10
    for step in range(1, count + 1):
        result = killed("kill_dispatcher", step, side)
        assert words(result) == PASSED, (step, result.kills)
        assert sorted(w.workload for w in own(result)) == ["agent", "command"], (step, result.kills)
        assert result.exit_codes == (0,)


@pytest.mark.parametrize("side", SIDES)
def test_a_poller_that_dies_anywhere_comes_to_the_same_verdicts(side: Side) -> None:
    count = steps("poller")
    assert count > 60
    expected = calm().attempt
    assert expected is not None
    for step in range(1, count + 1):
        result = killed("kill_poller", step, side)
        assert result.attempt is not None
        assert words(result) == PASSED, (step, result.kills)
        for leg, verdict in expected.standing.items():
            found = result.attempt.standing[leg].evidence
            assert verdict.evidence is not None
            assert found is not None
            assert found.state.sha256 == verdict.evidence.state.sha256, (step, result.kills)
        assert result.exit_codes == (0,)


@pytest.mark.parametrize("side", SIDES)
def test_a_supervisor_that_dies_anywhere_is_never_believed_to_have_passed_without_evidence(side: Side) -> None:
    count = steps("supervisor", "bootstrap", subject="agent")
    assert count > 20
    seen: set[str] = set()
    for step in range(1, count + 1):
        result = killed("kill_supervisor", step, side)
        leg = words(result)["agent"]
        seen.add(leg)
        assert words(result)["command"] == PASSED["command"]
        # Before the leg's directory is there, a second start is the first one that anybody sees.
        starts = [life for life in result.legs if life.leg == "agent" and life.incarnation]
        if len({life.incarnation for life in starts}) > 1:
            assert leg in ("ERROR workload_restarted", PASSED["agent"]), (step, result.kills)
        if leg == PASSED["agent"]:
            finished = [s for s in result.states if s.leg == "agent" and b'"done":true' in (s.data or b"")]
            assert finished, (step, result.kills)
    assert seen == {"ERROR workload_restarted", PASSED["agent"]}


def test_a_dispatcher_that_dies_for_good_leaves_what_it_launched_to_its_own_end() -> None:
    result = played(fault("kill_dispatcher", at=0.3, restart=None), fault("api_slow", lasts=5.0, seconds=0.4))
    assert result.exit_codes == (137,)
    settled(result)


def test_after_a_poller_that_died_for_good_the_clean_up_step_stops_what_it_watched() -> None:
    result = played(fault("kill_poller", at=2000.0, restart=None))
    assert result.exit_codes == (137,)
    assert {w.history[-1].phase for w in own(result)} == {Phase.STOPPED}
    assert {process for w in own(result) for _, process in w.stops} == {"reaper-1"}
    assert result.attempt is not None
    assert result.attempt.decision is None


def test_a_process_that_is_dead_changes_nothing_more() -> None:
    """A kill is not a cancel: what unwinds has no effect, and a lease is left behind as a dead process leaves it."""
    result = played(fault("kill_poller", at=2000.0, restart=None))
    (poller,) = (process for process in result.processes if process.role == "poller")
    assert poller.killed
    assert max(write.at for write in result.writes if write.process == poller.name) < 2000.0
    assert "gate/lease.json" in result.files[result.run]


def test_kills_by_chance_are_survived() -> None:
    result = played(fault("kill_poller", probability=0.05, restart=20.0), seed=3)
    assert len(result.kills) > 3
    assert words(result) == PASSED
    settled(result)
