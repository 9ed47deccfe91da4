"""What is known so far of a leg that is not judged."""

from __future__ import annotations

from gate.contracts import LegView, Phase
from gate.machines.gate_sofar import so_far
from gate.machines.observations import EngineBlind, RootBlind
from gate.machines.verdict import StateView
from tests.machines.gate_world import BUSY, INTERVAL, Player, at, leg, rules, view


def known(play: Player, passed: float = 0.0) -> dict[str, tuple[str, bool, float | None]]:
    """Rule to what was observed, whether it holds, and how old that is, so many seconds after the last poll."""
    found = so_far(play.state, "a", at(play.clock + passed))
    assert not any(rule.decides for rule in found)
    return {rule.name: (rule.observed, rule.holds, rule.age) for rule in found}


def test_a_leg_that_queues() -> None:
    play = Player(rules())
    play.says("a", Phase.PENDING)
    play.tick(a=LegView())
    play.ticks(600)
    found = known(play, passed=5)
    assert found["started within the queue budget"] == ("waited 10 min 35 s of 2 h", True, None)
    assert found["bootstrap has started"] == ("no directory of this leg", False, 5)
    assert found["workload a is not over"] == ("Pending", True, 5)
    assert found["decided before the poll deadline"][0] == "waited 10 min 35 s of 13 h 53 min"


def test_a_leg_that_is_read_again() -> None:
    play = Player(rules())
    play.tick(a=view(StateView("torn", "x")))
    play.tick()
    assert known(play)["readable within the evidence budget"][0] == "waited 30 s of 2 min"
    play.says("a", Phase.SUCCEEDED, "exit", exit_code=0)
    play.tick()
    play.tick()
    found = known(play)
    assert "readable within the evidence budget" not in found
    assert found["finished within the evidence budget after the end"][0] == "waited 30 s of 2 min"
    assert found["workload a is not over"] == ("Succeeded, exit code 0", False, 0)


def test_a_leg_that_falls_silent_and_an_engine_that_does_too() -> None:
    play = Player(rules(leg(silence=600.0)))
    play.tick(a=view(BUSY))
    play.ticks(300)
    assert known(play)["the state file changes within the silence budget"][0] == "waited 5 min of 10 min"
    play.engine = EngineBlind("refused", "connection refused")
    play.ticks(300)
    found = known(play)
    assert found["the engine answers or the leg moves within the outage budget"][0] == "waited 4 min 30 s of 20 min"
    assert found["the state file changes within the silence budget"][0] == "waited 5 min of 10 min", (
        "blind time is not charged"
    )
    assert found["workload a is not over"] == ("Running", True, 300), "its word is as old as its last answer"


def test_how_old_the_files_are_while_the_root_is_away() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.views = RootBlind("hung")
    play.ticks(10 * INTERVAL)
    found = known(play)
    assert found["ours"][2] == 10 * INTERVAL
    assert found["finished: done = true"] == ("false", False, 10 * INTERVAL)
    assert found["workload a is not over"][2] == 0
    assert found["the shared root answers"] == ("not for 4 min 30 s", False, 0)


def test_a_workload_that_is_missing_from_the_lists() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.loses("a")
    play.tick()
    assert known(play)["workload a is not over"] == ("Running; missing from the last list", True, 0)
