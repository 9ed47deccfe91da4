"""Launch and wait of a simulated leg in virtual time: two clocks, no second launch, evidence first."""

from __future__ import annotations

import signal

import pytest
import trio

from gate.contracts import TurnEnd
from gate.machines.verdict import Reason
from gate.simulate.agent import Script, SimTurn
from gate.simulate.commands import SimRun
from gate.simulate.legworld import SimLegWorld
from tests.bootstrap.legs import LAUNCH, PROMPTS, agent_leg, command_leg, run_leg

NOTHING = SimTurn(seconds=30, changes=0)


def launching(**changes: object) -> SimTurn:
    return SimTurn(seconds=30, launches=SimRun(**changes))  # type: ignore[arg-type]


def test_finished_state_file_ends_the_leg_and_is_named() -> None:
    ran = run_leg()
    assert ran.result.outcome == "finished"
    assert ran.result.reason is None
    assert ran.result.state == "session/run/state.json"
    pointer = ran.world.home.pointers[-1]
    assert (pointer.phase, pointer.state, pointer.gpu) == ("ended", "session/run/state.json", 0)
    assert [p.sequence for p in ran.world.home.pointers] == sorted({p.sequence for p in ran.world.home.pointers})


def test_a_state_file_ten_minutes_late_without_a_second_launch() -> None:
    ran = run_leg(agent_leg(stall=300), {"task": (launching(delay=600, installs=True),)})
    assert ran.result.outcome == "finished"
    assert ran.kinds == ["setup", "task"]


def test_a_quiet_install_within_the_stall_budget_is_no_second_launch_either() -> None:
    ran = run_leg(agent_leg(stall=900), {"task": (launching(delay=880),)})
    assert ran.kinds == ["setup", "task"]


def test_nothing_running_is_asked_to_be_launched_after_the_stall_budget() -> None:
    ran = run_leg(script={"task": (NOTHING,)})
    assert ran.result.outcome == "finished"
    assert ran.kinds == ["setup", "task", "finish_launch"]
    task, again = ran.agent.called[1:]
    assert again.began - task.ended >= 900
    assert again.request.resume


def test_launches_are_bounded() -> None:
    ran = run_leg(script={"task": (NOTHING,), "finish_launch": (NOTHING,)})
    assert ran.result.reason is Reason.LAUNCH_FAILED
    assert ran.kinds == ["setup", "task", "finish_launch", "finish_launch"]


def test_a_stray_state_file_is_named_and_does_not_count() -> None:
    async def stray(world: SimLegWorld) -> None:
        await trio.sleep(500)
        world.home.write("session/state.json", b'{"done": true, "stop_reason": "converged"}')

    ran = run_leg(script={"task": (NOTHING,), "finish_launch": (NOTHING,)}, meddle=stray)
    assert ran.result.reason is Reason.LAUNCH_FAILED
    assert "session/state.json" in ran.result.sentence


def test_a_task_prompt_that_nobody_read_is_sent_again_without_waiting_for_a_stall() -> None:
    ran = run_leg(script={"task": (SimTurn(end=TurnEnd.NO_START), LAUNCH)})
    assert ran.kinds == ["setup", "task", "task"]
    assert ran.result.outcome == "finished"


def test_a_task_turn_that_failed_is_not_repeated_before_the_stall_budget() -> None:
    failed = SimTurn(seconds=5, end=TurnEnd.FAILED, changes=0)
    ran = run_leg(script={"task": (failed,)})
    assert ran.kinds == ["setup", "task", "finish_launch"]
    assert ran.agent.called[2].began - ran.agent.called[1].ended >= 900


def test_a_cli_that_never_starts_again_ends_the_launch() -> None:
    ran = run_leg(agent_leg(max_turns=1000, task=100000), {"task": (SimTurn(end=TurnEnd.NO_START),)})
    assert ran.result.reason is Reason.LAUNCH_FAILED


def test_redrives_are_bounded_and_counted() -> None:
    stuck = launching(writes=2, final={"done": False, "step": 9})
    ran = run_leg(agent_leg(task=100000), {"task": (stuck,), "redrive": (NOTHING,)})
    assert ran.result.reason is Reason.TASK_STALLED
    assert ran.kinds == ["setup", "task", "redrive", "redrive", "redrive"]
    assert ran.result.redrives == 3
    assert "done is false" in ran.result.sentence
    ends = [call.ended for call in ran.agent.called]
    assert all(call.began - ended >= 900 for call, ended in zip(ran.agent.called[2:], ends[1:], strict=False))


def test_the_task_deadline_is_not_reset_by_redrives() -> None:
    stuck = launching(writes=2, final={"done": False})
    ran = run_leg(agent_leg(redrives=100, task=5000), {"task": (stuck,), "redrive": (NOTHING,)})
    assert ran.result.reason is Reason.TASK_DEADLINE
    assert ran.result.redrives > 3
    began = ran.agent.called[1].began
    assert 5000 <= ran.seconds - began <= 5000 + 1200


def test_a_long_turn_is_not_charged_to_the_stall_budget() -> None:
    stuck = launching(writes=1, final={"done": False})
    hang = SimTurn(seconds=10**9, changes=0)
    ran = run_leg(agent_leg(redrives=1, stall=600, task=100000), {"task": (stuck,), "redrive": (hang,)})
    assert ran.result.reason is Reason.TASK_STALLED
    assert ran.seconds - ran.agent.called[-1].ended >= 600


def test_blind_time_is_not_charged() -> None:
    steady = launching(delay=60, every=500, writes=10)

    async def blind(world: SimLegWorld) -> None:
        await trio.sleep(700)
        world.home.blind = True
        world.home.wake()
        await trio.sleep(3000)
        world.home.see_again()

    ran = run_leg(agent_leg(stall=1000), {"task": (launching(delay=60, every=3700, writes=2),)}, meddle=blind)
    assert ran.kinds == ["setup", "task"]
    assert ran.result.outcome == "finished"
    assert ran.world.home.pointers[-1].blind >= 2900
    ran = run_leg(agent_leg(stall=1000), {"task": (steady,)}, meddle=blind)
    assert ran.kinds == ["setup", "task"]


def test_the_same_quiet_without_blindness_is_a_stall() -> None:
    ran = run_leg(agent_leg(stall=1000), {"task": (launching(delay=60, every=3700, writes=2),)})
    assert "redrive" in ran.kinds


def test_session_lost_on_redrive_brings_recap_task_and_redrive() -> None:
    stuck = SimTurn(seconds=30, launches=SimRun(writes=1, final={"done": False}), loses_session=True)
    ran = run_leg(script={"task": (stuck,)})
    assert ran.kinds == ["setup", "task", "redrive", "redrive"]
    prompt = ran.agent.called[3].request.prompt
    assert prompt.startswith(PROMPTS.recap)
    assert PROMPTS.task in prompt
    assert prompt.rstrip().endswith(PROMPTS.redrive)
    assert (ran.result.recaps, ran.result.redrives) == (1, 1)


def test_a_run_that_finishes_during_the_turn_ends_the_leg_with_the_turn() -> None:
    long_turn = SimTurn(seconds=1000)

    async def quick(world: SimLegWorld) -> None:
        await trio.sleep(400)
        world.home.write("session/run/state.json", b'{"done": true, "stop_reason": "converged"}')

    ran = run_leg(script={"task": (long_turn,)}, meddle=quick)
    assert ran.result.outcome == "finished"
    assert ran.agent.called[-1].outcome is TurnEnd.COMPLETED
    named = next(p for p in ran.world.home.pointers if p.state)
    assert named.updated - 1_800_000_000 < 410


def test_the_retry_of_a_later_turn_is_the_one_that_counts() -> None:
    dead = launching(writes=1, final={"done": False}, rel="session/a/state.json")
    again = SimTurn(seconds=30, launches=SimRun(rel="session/b/state.json"))
    ran = run_leg(script={"task": (dead,), "redrive": (again,)})
    assert ran.result.state == "session/b/state.json"


def test_two_equal_state_files_are_named_as_ambiguous() -> None:
    async def twice(world: SimLegWorld) -> None:
        await trio.sleep(300)
        for name in "ab":
            world.home.write(f"session/{name}/state.json", b'{"done": true, "stop_reason": "converged"}')

    ran = run_leg(agent_leg(task=2000, redrives=0), {"task": (NOTHING,)}, meddle=twice)
    assert ran.result.outcome == "failed"
    assert ran.result.state is None
    assert "cannot be told" in ran.result.sentence


def test_cc76814_survivors_are_named_and_ended() -> None:
    ran = run_leg(script={"task": (launching(goes_on=10**6),)})
    assert ran.result.outcome == "finished"
    assert any("python run.py" in one for one in ran.result.survivors)


def test_what_cannot_be_ended_is_said() -> None:
    def prepare(world: SimLegWorld) -> None:
        world.commands.stubborn = ("77 zombie",)
        world.home.secrets = ("workspace/.env: API_KEY",)

    ran = run_leg(setup=prepare)
    assert ran.result.survivors == ("77 zombie (could not be ended)",)
    assert ran.result.secret_hits == ("workspace/.env: API_KEY",)


@pytest.mark.parametrize("at", [0.5, 10, 70, 100, 300, 2000])
def test_a_signal_in_every_phase(at: float) -> None:
    async def stop(world: SimLegWorld) -> None:
        await trio.sleep(at)
        world.signals.send(signal.SIGTERM, 2.5)

    def prepare(world: SimLegWorld) -> None:
        world.home.prepare = 2

    long: Script = {"task": (launching(delay=1500, every=2000, installs=True),)}
    ran = run_leg(script=long, setup=prepare, meddle=stop)
    assert ran.result.outcome == "stopped"
    assert ran.result.reason is Reason.WORKLOAD_STOPPED
    assert ran.seconds - at <= 2.5
    assert "SIGTERM" in ran.result.sentence
    if at > 2:
        assert ran.world.home.results[-1] == ran.result
        assert ran.agent.running == 0


def test_a_stop_leaves_its_word_before_anything_is_ended() -> None:
    async def stop(world: SimLegWorld) -> None:
        await trio.sleep(30)
        world.signals.send(signal.SIGINT, 7.5)

    ran = run_leg(meddle=stop)
    assert len(ran.world.home.results) == 2
    assert ran.world.home.results[0].outcome == "stopped"


def test_records_wait_for_a_root_that_is_away_and_the_leg_goes_on() -> None:
    async def away(world: SimLegWorld) -> None:
        await trio.sleep(30)
        world.home.disk.present = False
        await trio.sleep(600)
        world.home.disk.present = True
        world.home.wake()

    ran = run_leg(script={"setup": (SimTurn(seconds=40),)}, meddle=away)
    assert ran.result.outcome == "finished"
    turns = [entry["ordinal"] for entry in ran.world.home.journal if entry.get("kind") == "turn"]
    assert turns == [1, 2, 3]


def test_a_second_incarnation_is_refused_unless_the_leg_allows_it() -> None:
    def second(world: SimLegWorld) -> None:
        world.home.disk.write("legs/leg/abcdefghij/1-0000aaaa/journal.jsonl", b"")

    ran = run_leg(setup=second)
    assert ran.result.reason is Reason.WORKLOAD_RESTARTED
    assert ran.kinds == []
    assert run_leg(agent_leg(allow_restart=True), setup=second).result.outcome == "finished"


# --- command legs ------------------------------------------------------------------------------------


def test_a_command_leg_finishes_with_its_state_file() -> None:
    ran = run_leg(command_leg())
    assert ran.result.outcome == "finished"
    assert ran.world.commands.started == 1
    assert ran.result.turns == 0


def test_a_finished_state_ends_the_leg_while_the_command_still_runs() -> None:
    def prepare(world: SimLegWorld) -> None:
        world.commands.command = SimRun(goes_on=10**6)

    ran = run_leg(command_leg(), setup=prepare)
    assert ran.result.outcome == "finished"
    assert ran.seconds < 200


def test_a_command_that_ends_without_a_finished_state_fails_with_code_and_output() -> None:
    def prepare(world: SimLegWorld) -> None:
        world.commands.command = SimRun(writes=1, final={"done": False}, exit_code=7)

    ran = run_leg(command_leg(), setup=prepare)
    assert ran.result.reason is Reason.COMMAND_FAILED
    assert "exit code 7" in ran.result.sentence
    assert "the last words" in ran.result.sentence
    assert "done is false" in ran.result.sentence
    assert 60 + 30 <= ran.seconds <= 60 + 40


def test_evidence_that_comes_within_its_budget_after_the_command_counts() -> None:
    def prepare(world: SimLegWorld) -> None:
        world.commands.command = SimRun(delay=10, writes=0, exit_code=0)

    async def late(world: SimLegWorld) -> None:
        await trio.sleep(35)
        world.home.write("session/run/state.json", b'{"done": true, "stop_reason": "converged"}')

    assert run_leg(command_leg(), setup=prepare, meddle=late).result.outcome == "finished"


def test_a_command_that_ends_in_an_outage_is_judged_when_the_files_are_seen_again() -> None:
    async def blind(world: SimLegWorld) -> None:
        await trio.sleep(50)
        world.home.blind = True
        await trio.sleep(2000)
        world.home.see_again()

    ran = run_leg(command_leg(), meddle=blind)
    assert ran.result.outcome == "finished"


def test_a_silent_command_has_no_stall_clock_but_a_deadline() -> None:
    def prepare(world: SimLegWorld) -> None:
        world.commands.command = SimRun(delay=10**6)

    ran = run_leg(command_leg(task=7000), setup=prepare)
    assert ran.result.reason is Reason.TASK_DEADLINE
    assert 7000 <= ran.seconds <= 7000 + 60


def test_a_torn_state_at_the_deadline_is_read_again() -> None:
    async def torn(world: SimLegWorld) -> None:
        await trio.sleep(6995)
        world.home.write("session/run/state.json", b'{"done": tr')
        await trio.sleep(15)
        world.home.write("session/run/state.json", b'{"done": true, "stop_reason": "converged"}')

    def prepare(world: SimLegWorld) -> None:
        world.commands.command = SimRun(delay=10**6)

    assert run_leg(command_leg(task=7000), setup=prepare, meddle=torn).result.outcome == "finished"


def test_a_stop_that_comes_while_the_leg_is_closed_is_not_kept_waiting() -> None:
    """The share hangs as the result is to be written: whoever asks to stop then uses force in ten seconds."""

    def prepare(world: SimLegWorld) -> None:
        world.commands.command = SimRun(delay=10**6)

    async def stop(world: SimLegWorld) -> None:
        await trio.sleep(6990)
        world.home.blind = True
        await trio.sleep(60)
        asked.append(trio.current_time())
        world.signals.send(15, 2.5)

    asked: list[float] = []
    ran = run_leg(command_leg(task=7000), setup=prepare, meddle=stop)
    assert ran.result.reason is Reason.TASK_DEADLINE
    assert asked[0] <= ran.seconds <= asked[0] + 5
