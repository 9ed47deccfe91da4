"""The gate machine under random observations: what may never happen, whatever comes in."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import hypothesis.strategies as st
from hypothesis import Phase as Stage
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gate.contracts import LegView, NewerRun, Phase
from gate.machines.clock import Now
from gate.machines.gate import GateState, last_call, start, step
from gate.machines.observations import (
    CancelSeen,
    EngineBlind,
    EngineSeen,
    GateRules,
    LegRules,
    Observation,
    Resumed,
    RootBlind,
    SupersedeSeen,
    Tick,
)
from gate.machines.verdict import Outcome, Reason, StateView, Verdict
from tests.machines.gate_world import BUSY, GOOD, LOST, OTHER, POLL, Player, at, leg, pointer, result, rules, view

LEGS = ("a", "b", "c")
MEASURED = (Outcome.PASS, Outcome.FAIL)


def looks(name: str) -> dict[str, LegView]:
    """Everything a leg's files may look like."""
    return {
        "unseen": LegView(),
        "absent": view(None, name),
        "busy": view(BUSY, name),
        "moved": view({**BUSY, "gain": 2.0}, name),
        "good": view(GOOD, name),
        "lost": view(LOST, name),
        "empty": view(StateView("empty", "x"), name),
        "torn": view(StateView("torn", "x"), name),
        "malformed": view({"done": "yes"}, name),
        "unreadable": view(StateView("unreadable", "x"), name),
        "foreign": view(GOOD, name, pointer=pointer(name, tag=OTHER)),
        "no pointer": view(GOOD, name, pointer=None, problem="pointer.json: not a gate.pointer file"),
        "restarted": view(GOOD, name, incarnations=("i1", "i2"), pointer=pointer(name, incarnation="i2")),
        "failed": view(BUSY, name, result=result(name, "failed", Reason.TASK_STALLED, "stalled")),
        "claims": view(BUSY, name, result=result(name)),
        "failed but good": view(GOOD, name, result=result(name, "failed", Reason.TASK_STALLED, "stalled")),
    }


def judgeable(rules_: LegRules, seen: LegView) -> bool:
    """Told apart from the machine's own rules: is this look a finished, readable state file of this run?"""
    starts = len(seen.incarnations)
    ours = seen.pointer is not None and (seen.pointer.tag, seen.pointer.leg) == (rules_.tag, rules_.id)
    current = ours and seen.pointer is not None and seen.pointer.incarnation == seen.incarnations[-1]
    done = seen.state.status == "ok" and seen.state.fields["done"].value is True
    return current and done and (starts == 1 or rules_.allow_restart)


def fold(rules_: GateRules, journal: Sequence[tuple[Observation, Now]]) -> GateState:
    state = start(rules_, at(0))
    for observation, now in journal:
        state, _ = step(state, observation, now)
    return state


def verdicts(state: GateState) -> Mapping[str, Verdict]:
    return {name: each.verdict for name, each in state.legs.items() if each.verdict is not None}


class Gate(RuleBasedStateMachine):
    """One attempt of three legs, the last one informing."""

    @initialize(
        fail_fast=st.booleans(),
        silence=st.sampled_from([None, 600.0, 600.0]),
        restart=st.booleans(),
        before=st.booleans(),
        flaky=st.sampled_from(["show", "fail"]),
    )
    def begin(self, fail_fast: bool, silence: float | None, restart: bool, before: bool, flaky: str) -> None:
        legs = (leg("a", silence=silence), leg("b", allow_restart=restart), leg("c", blocking=False))
        legs = (replace(legs[0], failed_before=before), *legs[1:])
        self.play = Player(rules(*legs, fail_fast=fail_fast, flaky=flaky))
        self.seen_engine = self.play.engine
        self.seen_views = {each: LegView() for each in LEGS}
        self.known: dict[str, Verdict] = {}
        self.quiet = 0.0
        self.open = True
        self.before: LegView | None = None
        """How long leg a's state file stood still under eyes that were open at both ends, and how it looked then."""

    @rule(name=st.sampled_from(LEGS), data=st.data())
    def files(self, name: str, data: st.DataObject) -> None:
        kind = data.draw(st.sampled_from([*sorted(looks(name)), *["busy"] * 10]))
        self.seen_views = {**self.seen_views, name: looks(name)[kind]}
        self.play.views = self.seen_views

    @rule(
        name=st.sampled_from(LEGS),
        phase=st.sampled_from(Phase),
        reason=st.sampled_from(["", "exit", "out_of_memory", "evicted", "preempted", "lost"]),
    )
    def engine(self, name: str, phase: Phase, reason: str) -> None:
        if isinstance(self.play.engine, EngineBlind):
            self.play.engine = self.seen_engine
        self.play.says(name, phase, reason)  # type: ignore[arg-type]
        self.seen_engine = self.play.engine

    @rule(name=st.sampled_from(LEGS), complete=st.booleans())
    def loses(self, name: str, complete: bool) -> None:
        if isinstance(self.play.engine, EngineSeen):
            self.play.loses(name, complete=complete)

    @rule(kind=st.sampled_from(["refused", "rejected", "timed_out", "gone", "error"]))
    def blind(self, kind: str) -> None:
        self.play.engine = EngineBlind(kind, "")  # type: ignore[arg-type]

    @rule()
    def root_blind(self) -> None:
        self.play.views = RootBlind("hung")

    @rule()
    def back(self) -> None:
        self.play.engine, self.play.views = self.seen_engine, self.seen_views

    @rule(passed=st.sampled_from([1, 30, 30, 30, 120, 1300]), times=st.integers(1, 5))
    def poll(self, passed: float, times: int) -> None:
        for _ in range(times):
            self.play.tick(passed)
            self.charge(passed)
            self.check()

    def charge(self, passed: float) -> None:
        views = self.play.views
        if isinstance(views, RootBlind) or isinstance(self.play.engine, EngineBlind):
            self.open = False
            return
        now = views.get("a", LegView())
        same = self.before is not None and now.state == self.before.state
        self.quiet = (self.quiet + (passed if self.open else 0.0)) if same else 0.0
        self.before, self.open = now, True

    @rule(seconds=st.sampled_from([0, 5, 400, 8000]))
    def restart(self, seconds: float) -> None:
        self.play.gap(seconds)
        self.open = False
        self.check()

    @precondition(lambda self: self.play.clock > 600)
    @rule(signal=st.sampled_from([2, 15]))
    def cancel(self, signal: int) -> None:
        self.play.observe(CancelSeen(signal))
        self.check()

    @precondition(lambda self: self.play.clock > 600)
    @rule()
    def newer(self) -> None:
        self.play.observe(SupersedeSeen(NewerRun("2", "c" * 40, "")))
        self.check()

    def check(self) -> None:
        """After each observation: what is new must rest on what was just seen, what is old must stand."""
        now = verdicts(self.play.state)
        for name, verdict in self.known.items():
            assert now[name] is verdict, "a verdict never changes"
        views = self.play.views if isinstance(self.play.views, dict) else {}
        for name in now.keys() - self.known.keys():
            self.fresh(now[name], views.get(name))
        self.known = dict(now)
        if self.play.state.decision is not None:
            assert set(now) == set(LEGS), "a decision needs a verdict of every leg"

    def fresh(self, verdict: Verdict, seen: LegView | None) -> None:
        rules_ = self.play.state.legs[verdict.leg].rules
        ready = seen is not None and judgeable(rules_, seen)
        assert [each.decides for each in verdict.rules].count(True) == 1, "exactly one rule decides"
        if verdict.outcome in MEASURED:
            assert ready, "no PASS or FAIL without a finished state file of this run, read now"
            assert verdict.evidence is not None
            assert seen is not None
            assert verdict.evidence.state == seen.state
        if verdict.outcome is Outcome.PASS:
            assert verdict.evidence is not None
            assert verdict.evidence.state == looks(verdict.leg)["good"].state
        if verdict.reason is Reason.SILENT:
            assert self.quiet >= 600, "silence is charged for what was seen, and for nothing else"
        if verdict.reason in (Reason.FAIL_FAST, Reason.POLL_DEADLINE):
            assert not ready, "what can be judged at the deciding tick is judged"

    @invariant()
    def the_exit_code_is_never_green_by_accident(self) -> None:
        decision = self.play.state.decision if hasattr(self, "play") else None
        if decision is None:
            return
        passed = all(row.outcome is Outcome.PASS for row in decision.legs if row.blocking)
        assert (decision.exit_code == 0) == (decision.word in ("GO", "PASSED"))
        assert decision.exit_code != 0 or passed
        assert decision.exit_code != 1 or any(row.outcome is Outcome.FAIL for row in decision.legs if row.blocking)

    def teardown(self) -> None:
        if not hasattr(self, "play"):
            return
        self.poll(max(30.0, last_call(POLL) - self.play.clock), 1)
        assert self.play.state.decision is not None, "poll ends before its deadline"
        assert self.play.state.decision.elapsed <= max(POLL.deadline, self.play.clock)
        assert fold(self.play.rules, self.play.journal) == self.play.state, "a fold of the journal is having run"
        self.restarts_change_nothing_measured()

    def restarts_change_nothing_measured(self) -> None:
        """A poller that was down between two polls: whatever was PASS or FAIL is so again."""
        measured = {n: v for n, v in verdicts(self.play.state).items() if v.outcome in MEASURED}
        journal = self.play.journal
        for index in range(0, len(journal), max(1, len(journal) // 6)):
            now = journal[index][1]
            gap = now.mono - (journal[index - 1][1].mono if index else 0.0)
            down = [*journal[:index], (Resumed(gap), now), *journal[index:]]
            again = verdicts(fold(self.play.rules, down))
            for name, verdict in measured.items():
                found = again[name]
                assert (found.outcome, found.reason) == (verdict.outcome, verdict.reason)


TestGate = Gate.TestCase
TestGate.settings = settings(
    max_examples=300,
    stateful_step_count=30,
    deadline=None,
    phases=[Stage.explicit, Stage.reuse, Stage.generate, Stage.shrink],
)


def test_every_pair_of_looks_ends_before_the_deadline_with_a_verdict() -> None:
    """The catalogue itself, two looks in a row, with the workload ending in between: nothing is left hanging."""
    for first, second in itertools.product(looks("a"), repeat=2):
        play = Player(rules())
        play.tick(a=looks("a")[first])
        play.says("a", Phase.FAILED, "exit", exit_code=1)
        play.tick(a=looks("a")[second])
        play.ticks(300)
        assert play.decision is not None, (first, second)
        good = judgeable(play.rules.legs[0], looks("a")[second]) or judgeable(play.rules.legs[0], looks("a")[first])
        assert (play.verdicts["a"].outcome in MEASURED) <= good


def test_a_tick_that_lists_no_leg_still_ends_at_the_deadline() -> None:
    state = start(rules(), at(0))
    state, actions = step(state, Tick(EngineSeen({}, True), {}), at(last_call(POLL)))
    assert state.decision is not None
    assert actions
