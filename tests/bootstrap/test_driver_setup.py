"""Set-up of a simulated leg in virtual time."""

from __future__ import annotations

from itertools import pairwise

import pytest
import trio

from gate.contracts import TurnEnd
from gate.machines.verdict import Reason
from gate.simulate.agent import SimTurn
from gate.simulate.commands import SimRun
from gate.simulate.legworld import SimLegWorld
from tests.bootstrap.legs import DONE, MARKER, PROMPTS, agent_leg, run_leg

EARLY = SimTurn(seconds=40)
FAILS = SimTurn(seconds=5, end=TurnEnd.FAILED, changes=0)


def test_converges_in_three_turns_of_one_conversation() -> None:
    ran = run_leg(script={"setup": (EARLY,), "nudge": (EARLY, DONE)})
    assert ran.result.outcome == "finished"
    assert ran.kinds == ["setup", "nudge", "nudge", "task"]
    first, *later = [call.request for call in ran.agent.called]
    assert not first.resume
    assert all(request.resume and request.session == first.session for request in later)
    assert (ran.result.turns, ran.result.resumes, ran.result.recaps) == (4, 3, 0)
    assert ran.result.cost_usd == 0.4


def test_every_turn_is_in_the_journal_before_it_starts() -> None:
    ran = run_leg(script={"setup": (EARLY,)})
    turns = [entry for entry in ran.world.home.journal if entry.get("kind") == "turn"]
    assert [entry["session"] for entry in turns] == [call.request.session for call in ran.agent.called]
    assert all(entry["mono"] <= call.began for entry, call in zip(turns, ran.agent.called, strict=True))


def test_the_marker_alone_is_not_enough() -> None:
    said: list[int] = []

    def check() -> tuple[int, str]:
        said.append(1)
        return (0, "") if len(said) == 2 else (3, "the server does not answer")

    def prepare(world: SimLegWorld) -> None:
        world.commands.check = check

    ran = run_leg(setup=prepare)
    assert ran.kinds == ["setup", "nudge", "task"]
    assert "the server does not answer" in ran.agent.called[1].request.prompt


def test_cc89495_a_lying_set_up_complete_never_gets_to_the_task() -> None:
    def prepare(world: SimLegWorld) -> None:
        world.commands.check = lambda: (1, "nothing there")

    ran = run_leg(setup=prepare)
    assert ran.result.reason is Reason.SETUP_DEADLINE
    assert "task" not in ran.kinds
    assert "nothing there" in ran.result.sentence
    assert ran.seconds <= 300 + 2700 + 300


def test_a_marker_that_is_not_the_last_line_does_not_count() -> None:
    chatty = SimTurn(text=f"{MARKER}\nNow I only have to start the server.")
    ran = run_leg(script={"setup": (chatty,)})
    assert ran.kinds == ["setup", "nudge", "task"]


def test_stalled_set_up_ends_after_the_stall_budget_and_not_before() -> None:
    idle = SimTurn(seconds=30, changes=0)
    ran = run_leg(agent_leg(setup=100000), {"setup": (idle,), "nudge": (idle,)})
    assert ran.result.reason is Reason.SETUP_STALLED
    turns = sum(call.ended - call.began for call in ran.agent.called)
    assert 900 <= ran.seconds - turns <= 960
    assert 5 < ran.result.turns < 12


def test_a_change_that_only_a_full_scan_sees_is_no_stall() -> None:
    idle = SimTurn(seconds=30, changes=0)

    async def slow_install(world: SimLegWorld) -> None:
        for _ in range(40):
            await trio.sleep(100)
            world.home.touch("workspace/deep/file", cold=True)

    ran = run_leg(agent_leg(setup=100000), {"setup": (idle,), "nudge": (idle,)}, meddle=slow_install)
    assert ran.result.reason is Reason.SETUP_STALLED
    assert ran.seconds > 4000 + 900


def test_set_up_deadline_in_time_however_many_turns() -> None:
    ran = run_leg(agent_leg(setup=1000), {"setup": (EARLY,), "nudge": (EARLY,)})
    assert ran.result.reason is Reason.SETUP_DEADLINE
    assert 1000 <= ran.seconds < 1100
    assert ran.result.turns > 20


def test_turn_cap_against_token_spend() -> None:
    ran = run_leg(agent_leg(max_turns=5), {"setup": (EARLY,), "nudge": (EARLY,)})
    assert ran.result.reason is Reason.TURNS_SPENT
    assert ran.result.turns == 5


def test_cc38516_a_hung_turn_is_bounded_and_resumed() -> None:
    hang = SimTurn(seconds=10**9, changes=0)
    ran = run_leg(script={"setup": (hang,)})
    first, second = ran.agent.called[:2]
    assert first.outcome is TurnEnd.TIMED_OUT
    assert first.ended - first.began == 1200
    assert second.request.resume
    assert ran.result.outcome == "finished"


def test_a_429_on_the_first_turn_is_a_warning() -> None:
    ran = run_leg(script={"setup": (FAILS,)})
    assert ran.result.outcome == "finished"
    assert ran.kinds == ["setup", "nudge", "task"]
    assert any(entry.get("seen") == "TurnEnded" for entry in ran.world.home.journal)


def test_cc38709_an_empty_turn_is_no_success() -> None:
    ran = run_leg(script={"setup": (SimTurn(end=TurnEnd.EMPTY, changes=0, claims=True),)})
    assert ran.kinds == ["setup", "nudge", "task"]


def test_cc45717_a_killed_cli_is_resumed() -> None:
    ran = run_leg(script={"setup": (SimTurn(end=TurnEnd.KILLED, claims=True),)})
    assert [call.request.resume for call in ran.agent.called] == [False, True, True]


def test_cc75613_nothing_at_start_is_asked_again_with_the_same_words() -> None:
    ran = run_leg(script={"setup": (SimTurn(end=TurnEnd.NO_START), DONE)})
    assert ran.kinds == ["setup", "setup", "task"]
    first, second = (call.request for call in ran.agent.called[:2])
    assert first.session != second.session
    assert not second.resume
    assert ran.result.recaps == 0


def test_a_broken_cli_does_not_spin() -> None:
    broken = SimTurn(seconds=0.01, end=TurnEnd.FAILED, changes=0)
    ran = run_leg(agent_leg(max_turns=1000), {"setup": (broken,), "nudge": (broken,)})
    assert ran.result.reason is Reason.SETUP_STALLED
    assert ran.result.turns < 12
    gaps = [b.began - a.ended for a, b in zip(ran.agent.called, ran.agent.called[1:], strict=False)]
    assert gaps[0] >= 10
    assert all(later >= earlier - 0.001 for earlier, later in pairwise(gaps))


def test_failing_at_once_while_something_changes_does_not_spin_either() -> None:
    broken = SimTurn(seconds=0.01, end=TurnEnd.FAILED, changes=1)
    ran = run_leg(agent_leg(max_turns=1000), {"setup": (broken,), "nudge": (broken,)})
    assert ran.result.reason is Reason.SETUP_DEADLINE
    assert ran.result.turns < 40


def test_cc40609_session_gone_on_resume_gives_one_fresh_turn_with_a_recap() -> None:
    lost = SimTurn(loses_session=True)
    ran = run_leg(script={"setup": (lost, EARLY)})
    assert ran.kinds == ["setup", "nudge", "setup", "nudge", "task"]
    fresh = ran.agent.called[2].request
    assert not fresh.resume
    assert fresh.session not in {call.request.session for call in ran.agent.called[:2]}
    assert fresh.ordinal == 3
    assert fresh.prompt == f"{PROMPTS.recap}\n\n{PROMPTS.setup}\n"
    assert ran.result.recaps == 1
    assert all(PROMPTS.recap not in call.request.prompt for call in ran.agent.called[3:])


def test_an_agent_that_never_keeps_a_session_ends_the_leg_and_no_loop() -> None:
    lost = SimTurn(loses_session=True)
    ran = run_leg(script={"setup": (lost,), "nudge": (lost,)})
    assert ran.result.reason is Reason.AGENT_UNAVAILABLE
    assert ran.result.recaps == 4
    assert ran.result.turns <= 8


def test_a_missing_agent_is_said_before_any_turn() -> None:
    def prepare(world: SimLegWorld) -> None:
        assert world.agent is not None
        world.agent.missing = "claude is not on PATH"

    ran = run_leg(setup=prepare)
    assert ran.result.reason is Reason.AGENT_UNAVAILABLE
    assert ran.result.sentence == "claude is not on PATH"
    assert ran.world.home.results[-1] == ran.result


def test_an_agent_that_stops_being_executable_ends_the_leg() -> None:
    gone = SimTurn(seconds=0, end=TurnEnd.UNAVAILABLE, changes=0)
    ran = run_leg(script={"setup": (EARLY,), "nudge": (gone,)})
    assert ran.result.reason is Reason.AGENT_UNAVAILABLE
    assert ran.result.turns == 4


def test_preparing_has_a_budget() -> None:
    def prepare(world: SimLegWorld) -> None:
        world.home.prepare = 1000

    ran = run_leg(setup=prepare)
    assert ran.result.reason is Reason.PREPARE_FAILED
    assert ran.seconds < 310


def test_unfinished_set_up_work_is_noted() -> None:
    def prepare(world: SimLegWorld) -> None:
        from gate.simulate.commands import SimRun  # noqa: PLC0415 - only here

        world.commands.detach(SimRun(delay=100000, name="/usr/bin/pip install torch"))
        world.commands.detach(SimRun(delay=100000, name="python -m server"))

    ran = run_leg(setup=prepare)
    notes = [a for e in ran.world.home.journal for a in e.get("actions", ()) if a.get("note") == "unfinished_work"]
    assert "pip install torch" in notes[0]["text"]
    assert "server" not in notes[0]["text"]
    assert any("pip install torch" in one for one in ran.result.survivors)


@pytest.mark.parametrize("comes_back", [None, 3000.0])
def test_a_root_that_goes_away_as_set_up_converges_takes_no_time_from_the_ladder(comes_back: float | None) -> None:
    """The wait for it is the task's time: bootstrap returns before its workload's time-out, whatever cannot be seen."""

    async def blind(world: SimLegWorld) -> None:
        await trio.sleep(30)
        world.home.blind = True
        if comes_back is not None:
            await trio.sleep(comes_back)
            world.home.see_again()

    leg = agent_leg(setup=1200, task=2400)
    endless = SimTurn(launches=SimRun(every=100, writes=1000))
    ran = run_leg(leg, {"task": (endless,)}, meddle=blind)
    assert ran.result.reason is Reason.TASK_DEADLINE
    assert 3600 <= ran.seconds <= 3600 + leg.budgets.wait_margin
