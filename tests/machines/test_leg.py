"""The leg machine fed by hand, and with random observations: pure, total, ends once."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from gate.contracts import CommandResult, Scan, TurnEnd, TurnOutcome
from gate.machines import leg
from gate.machines.clock import Now
from gate.machines.leg_model import (
    Action,
    Audited,
    CommandStarted,
    Finish,
    FullScan,
    LegState,
    Looked,
    Observation,
    PointerFacts,
    Prepare,
    Prepared,
    Publish,
    RunTurn,
    RunVerify,
    StopAsked,
    TurnEnded,
    Verified,
    Watch,
)
from gate.machines.verdict import Field, Reason, StateView
from gate.plan.model import LegPlan
from tests.bootstrap.legs import MARKER, agent_leg, command_leg

QUIET = Scan(changed=False, full=False, blind=False, entries=1)
FULL = replace(QUIET, full=True)
PATH = "legs/leg/abcdefghij/1-00000001/session/run/state.json"
RUNNING = StateView("ok", PATH, "1", 1, {"done": Field("value", False)})
FINISHED = StateView("ok", PATH, "2", 1, {"done": Field("value", True)})


class Machine:
    """A machine and a clock that stands until it is told."""

    def __init__(self, plan: LegPlan) -> None:
        self.now = 1000.0
        self.state, actions = leg.start(plan, self._now())
        self.actions: tuple[Action, ...] = actions

    def _now(self) -> Now:
        return Now(self.now, 1e9 + self.now, self.now)

    def see(self, seen: Observation, *, after: float = 0.0) -> tuple[Action, ...]:
        self.now += after
        self.state, self.actions = leg.step(self.state, seen, self._now())
        return self.actions

    def find(self, kind: type[Action]) -> list[Action]:
        return [action for action in self.actions if isinstance(action, kind)]


def turn(end: TurnEnd = TurnEnd.COMPLETED, text: str = "") -> TurnEnded:
    return TurnEnded(TurnOutcome(end, text, "", None, 0, None, 0.1))


def waiting() -> Machine:
    """A leg whose task turn has ended, and nothing runs yet."""
    machine = Machine(agent_leg(stall=600))
    assert machine.actions == (Prepare(300),)
    machine.see(Prepared("1-00000001", "1"))
    machine.see(turn(text=MARKER), after=60)
    machine.see(Verified(CommandResult(0, "")))
    machine.see(Audited(()))
    machine.see(turn(), after=60)
    return machine


def test_the_way_to_a_finished_leg() -> None:
    machine = Machine(agent_leg())
    machine.see(Prepared("1-00000001", "1"))
    (first,) = machine.find(RunTurn)
    assert first == RunTurn(1, "setup", 1, False, False, 1200)
    machine.see(turn(text=MARKER), after=60)
    assert machine.find(RunVerify) == [RunVerify(1200)]
    machine.see(Verified(CommandResult(0, "")))
    machine.see(Audited(()))
    (task,) = machine.find(RunTurn)
    assert task == RunTurn(2, "task", 1, True, False, 1200)
    machine.see(turn(), after=60)
    machine.see(Looked(QUIET, (RUNNING,)), after=10)
    assert machine.state.phase == "wait"
    machine.see(Looked(QUIET, (FINISHED,)), after=10)
    assert machine.find(Finish) == [Finish("finished", None, "session/run/state.json says that the run is finished.")]
    assert machine.see(Looked(QUIET, (FINISHED,))) == ()


def published(machine: Machine) -> PointerFacts:
    assert machine.state.published is not None
    return machine.state.published


def test_what_a_trial_run_of_set_up_left_is_no_result() -> None:
    machine = Machine(agent_leg())
    machine.see(Prepared("1-00000001", "1"))
    assert published(machine).earlier is None
    machine.see(turn(text=MARKER), after=60)
    machine.see(Verified(CommandResult(0, "")))
    machine.see(Audited((), (FINISHED,)))
    assert published(machine).earlier == (PATH,)
    machine.see(turn(), after=60)
    machine.see(Looked(QUIET, (FINISHED,)), after=10)
    assert machine.state.phase == "launch"
    machine.see(Looked(QUIET, (RUNNING,)), after=10)
    assert (published(machine).earlier, published(machine).state) == ((), PATH)
    machine.see(Looked(QUIET, (FINISHED,)), after=10)
    assert machine.find(Finish)


def test_a_staged_state_file_is_no_result_of_the_command() -> None:
    machine = Machine(command_leg("true"))
    machine.see(Prepared("1-00000001", None, states=(FINISHED,)))
    assert published(machine).earlier == (PATH,)
    machine.see(CommandStarted())
    machine.see(Looked(None, (FINISHED,), CommandResult(0, "")), after=1)
    machine.see(Looked(None, (FINISHED,), CommandResult(0, "")), after=100)
    (end,) = machine.find(Finish)
    assert isinstance(end, Finish)
    assert end.reason is Reason.COMMAND_FAILED
    assert "session/run/state.json lay there before the task began, and was not written since" in end.sentence


def test_a_turns_budget_is_cut_to_what_is_left_of_set_up() -> None:
    machine = Machine(agent_leg(setup=1500))
    machine.see(Prepared("1-00000001", "1"))
    machine.see(turn(), after=1000)
    machine.see(Looked(replace(QUIET, changed=True), ()))
    (nudge,) = machine.find(RunTurn)
    assert isinstance(nudge, RunTurn)
    assert nudge.budget == 500


def test_a_stall_is_declared_only_by_a_full_scan_that_began_after_the_budget() -> None:
    machine = waiting()
    machine.see(Looked(QUIET, ()), after=599)
    assert not machine.find(FullScan)
    machine.see(Looked(FULL, ()), after=0.5)  # one that was under way does not count
    assert not machine.find(RunTurn)
    machine.see(Looked(QUIET, ()), after=1)
    assert machine.find(FullScan)
    machine.see(Looked(QUIET, ()), after=5)  # a hot look meanwhile decides nothing
    assert not machine.find(RunTurn)
    machine.see(Looked(FULL, ()), after=5)
    (asked,) = machine.find(RunTurn)
    assert isinstance(asked, RunTurn)
    assert asked.kind == "finish_launch"


def test_a_change_during_the_full_scan_makes_it_worthless() -> None:
    machine = waiting()
    machine.see(Looked(QUIET, ()), after=601)
    machine.see(Looked(replace(QUIET, changed=True), ()), after=5)
    machine.see(Looked(FULL, ()), after=595)  # the abandoned one comes back
    assert not machine.find(RunTurn)
    machine.see(Looked(QUIET, ()), after=10)
    assert machine.find(FullScan)
    assert machine.state.scanning


def test_quiet_of_set_up_is_not_charged_to_the_launch() -> None:
    machine = Machine(agent_leg(stall=600))
    machine.see(Prepared("1-00000001", "1"))
    machine.see(turn(), after=60)
    machine.see(Looked(QUIET, ()))
    machine.see(Looked(QUIET, ()), after=500)
    machine.see(turn(text=MARKER), after=60)
    machine.see(Verified(CommandResult(0, "")))
    machine.see(Audited(()))
    machine.see(turn(), after=60)
    machine.see(Looked(QUIET, ()), after=590)
    assert not machine.find(FullScan)


def test_only_one_full_scan_at_a_time() -> None:
    machine = waiting()
    machine.see(Looked(QUIET, ()), after=601)
    assert machine.find(FullScan)
    machine.see(Looked(replace(QUIET, changed=True), ()), after=1)
    machine.see(Looked(QUIET, ()), after=700)
    assert not machine.find(FullScan)


def test_a_blind_full_scan_confirms_nothing() -> None:
    machine = waiting()
    machine.see(Looked(QUIET, ()), after=601)
    machine.see(Looked(replace(FULL, blind=True), None), after=5)
    assert not machine.find(RunTurn)
    machine.see(Looked(QUIET, ()), after=500)
    assert machine.find(FullScan)


def test_a_finished_state_found_by_the_confirming_scan_counts() -> None:
    machine = waiting()
    machine.see(Looked(QUIET, ()), after=601)
    machine.see(Looked(FULL, (FINISHED,)), after=5)
    (end,) = machine.find(Finish)
    assert isinstance(end, Finish)
    assert end.outcome == "finished"


def test_the_pointer_is_rewritten_only_when_its_facts_change() -> None:
    machine = waiting()
    machine.see(Looked(QUIET, ()), after=1)
    assert not machine.find(Publish)
    machine.see(Looked(replace(QUIET, blind=True), None), after=10)
    assert not machine.find(Publish)
    machine.see(Looked(QUIET, ()), after=10)
    (told,) = machine.find(Publish)
    assert isinstance(told, Publish)
    assert told.facts.blind == 20
    machine.see(Looked(QUIET, (RUNNING,)), after=1)
    assert machine.find(Publish)


def test_suspended_time_counts_for_the_deadline_and_not_for_the_stall() -> None:
    machine = waiting()
    now = Now(machine.now + 10, 1e9, machine.now + 14400)
    state, actions = leg.step(machine.state, Looked(QUIET, (RUNNING,)), now)
    (end,) = [action for action in actions if isinstance(action, Finish)]
    assert end.reason is Reason.TASK_DEADLINE
    assert state.quiet.seconds < 100


def _look(dice: Random) -> Looked:
    scan = Scan(changed=dice.random() < 0.3, full=dice.random() < 0.5, blind=dice.random() < 0.2, entries=1)
    views = [RUNNING, FINISHED, replace(RUNNING, path=PATH + "x"), StateView("absent")]
    states = None if dice.random() < 0.2 else tuple(dice.sample(views, dice.choice((0, 0, 0, 1, 2))))
    return Looked(dice.choice((None, scan, scan)), states, dice.choice((None, None, _result(dice))))


def _result(dice: Random) -> CommandResult:
    return CommandResult(dice.choice((0, 0, 1, None, -9)), "out")


def _outcome(dice: Random) -> TurnOutcome:
    text = dice.choice(("", MARKER, "words"))
    end = dice.choice((TurnEnd.COMPLETED, *TurnEnd))
    return TurnOutcome(end, text, "d", None, None, None, dice.choice((None, 0.5)))


def answer(state: LegState, dice: Random) -> Observation:  # noqa: PLR0911 - one row a state
    """What may come in this state: the answer to what was asked for, a look, now and then a stop."""
    if dice.random() < 0.01:
        return StopAsked(15)
    if state.doing != "prepare" and dice.random() < 0.3:
        return _look(dice)
    match state.doing:
        case "prepare":
            failed = (Prepared("2-0", "1"), Prepared("", None, "prepare", "x"))
            return dice.choice(failed) if dice.random() < 0.1 else Prepared("1-00000001", "1")
        case "turn":
            return TurnEnded(_outcome(dice))
        case "verify":
            return Verified(_result(dice))
        case "audit":
            return Audited(("1 pip",))
        case "start":
            return CommandStarted(dice.choice(("", "", "", "no shell")))
        case "judge" | "pause" | "watch" | "confirm" | "close" | "done":
            return _look(dice)


@given(st.integers(0, 2**64))
@settings(max_examples=400, deadline=None)
def test_random_observations(seed: int) -> None:
    dice = Random(seed)
    plan = dice.choice([agent_leg(max_turns=8), command_leg(), agent_leg(verify=None)])
    machine = Machine(plan)
    ends = turns = 0
    hard = 0.0
    for _ in range(60):
        before = machine.state
        machine.see(answer(before, dice), after=dice.choice((0.0, dice.uniform(0, 100), dice.uniform(0, 2000))))
        state = machine.state
        ends += len(machine.find(Finish))
        turns += len(machine.find(RunTurn))
        assert len(machine.find(RunTurn)) <= 1
        assert state.turns.count == turns <= plan.max_turns
        assert state.turns.redrives <= plan.redrives
        assert state.turns.launches <= plan.launches
        assert state.quiet.seconds <= machine.now - 1000
        if before.task_began:
            assert state.task_began == before.task_began, "the hard deadline is never reset"
            hard = before.task_began + plan.budgets.task
        for watch in machine.find(Watch):
            assert isinstance(watch, Watch)
            assert watch.longest > 0 or state.doing == "judge"
            if state.doing in ("watch", "confirm", "pause") and hard:
                assert watch.longest <= max(0.001, hard - machine.now)
        if state.phase == "ended":
            assert ends == 1
            assert machine.see(Looked(None, None)) == ()
        elif state.doing in ("judge", "pause", "watch", "confirm", "close"):
            assert machine.find(Watch), "somebody must wake it again"
    assert ends <= 1
