"""How an attempt ends: fail-fast, on to the end, cancel, supersede, carried legs, flaky ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gate.contracts import NewerRun, Phase
from gate.machines.observations import (
    CancelSeen,
    Decide,
    EngineBlind,
    EngineSeen,
    SupersedeSeen,
    Tick,
    VerdictsFound,
    WorkloadRules,
)
from gate.machines.verdict import Outcome, StateView
from tests.machines.gate_world import (
    BUSY,
    EVIDENCE,
    GOOD,
    INTERVAL,
    LOST,
    OTHER,
    TAG,
    Player,
    leg,
    rules,
    view,
    workload,
)

NEWER = SupersedeSeen(NewerRun("1002", "c0ffee" * 7, "https://ci/1002"))


def three(**more: Any) -> Player:
    play = Player(rules(leg("a"), leg("b"), leg("c", blocking=False), **more))
    play.tick(a=view(BUSY), b=view(BUSY, "b"), c=view(BUSY, "c"))
    return play


# --- fail-fast ---------------------------------------------------------------------------------------


def test_the_first_blocking_loss_decides_and_the_others_are_kept() -> None:
    play = three()
    play.tick(b=view(LOST, "b"))
    assert [play.word(x) for x in "abc"] == ["NOT_JUDGED fail_fast", "FAIL not_accepted", "NOT_JUDGED fail_fast"]
    assert play.decision is not None
    assert (play.decision.word, play.decision.exit_code) == ("NO-GO", 1)
    assert play.kept == ("a", "b", "c")
    assert "leg b decided first" in play.verdicts["a"].sentence


def test_everything_that_can_be_judged_at_the_deciding_tick_is() -> None:
    play = three()
    play.tick(a=view(LOST), b=view(LOST, "b"), c=view(GOOD, "c"))
    assert [play.word(x) for x in "abc"] == ["FAIL not_accepted", "FAIL not_accepted", "PASS criteria_met"]


def test_an_error_decides_too_and_is_not_measured() -> None:
    play = three()
    play.tick(a=view(BUSY, incarnations=("i1", "i2")))
    assert play.word("b") == "NOT_JUDGED fail_fast"
    assert play.decision is not None
    assert (play.decision.word, play.decision.exit_code) == ("NOT MEASURED", 3)


def test_a_fail_beside_an_error_is_the_products() -> None:
    play = three()
    play.tick(a=view(BUSY, incarnations=("i1", "i2")), b=view(LOST, "b"))
    assert play.decision is not None
    assert (play.decision.word, play.decision.exit_code) == ("NO-GO", 1)


def test_an_informing_loss_decides_nothing_and_is_waited_for() -> None:
    play = three()
    play.tick(a=view(GOOD), b=view(GOOD, "b"))
    play.ticks(3000)
    assert play.decision is None, "poll waits for informing legs too"
    play.tick(c=view(LOST, "c"))
    assert play.decision is not None
    assert (play.decision.word, play.decision.exit_code) == ("GO", 0)
    assert "informing only: leg c" in play.decision.cause
    assert play.kept == ("c",)


def test_no_fail_fast_says_so_once_and_goes_on() -> None:
    play = three(fail_fast=False)
    play.tick(b=view(LOST, "b"))
    play.ticks(300)
    play.tick(a=view(LOST))
    play.ticks(300)
    assert [say.leg for say in play.said("loss_announced")] == ["b"]
    assert play.decision is None
    play.tick(c=view(GOOD, "c"))
    assert play.decision is not None
    assert play.decision.exit_code == 1
    assert play.decision.cause == "2 legs (a, b): a value outside the success set"


def test_a_leg_that_is_being_read_again_is_not_judged_when_another_decides() -> None:
    play = three()
    play.tick(a=view(StateView("torn", "x")), b=view(LOST, "b"))
    assert play.word("a") == "NOT_JUDGED fail_fast"


# --- after the decision ------------------------------------------------------------------------------


def test_after_the_decision_nothing_happens_any_more() -> None:
    play = three()
    play.tick(b=view(LOST, "b"))
    before, count = play.state, len(play.actions)
    play.tick(a=view(LOST))
    play.observe(CancelSeen(15))
    play.observe(NEWER)
    play.gap(10)
    assert play.state is before
    assert len(play.actions) == count
    assert isinstance(play.actions[-1], Decide)


def test_a_verdict_stays_whatever_the_files_say_later() -> None:
    play = three(fail_fast=False)
    play.tick(a=view(GOOD))
    play.tick(a=view(LOST))
    play.tick(a=view())
    assert play.word("a") == "PASS criteria_met"


# --- cancel ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("signal", "code"), [(2, 130), (15, 143)])
def test_duckdb_2544_every_leg_reaches_a_terminal_verdict_on_cancel(signal: int, code: int) -> None:
    play = three()
    play.observe(CancelSeen(signal))
    assert [play.word(x) for x in "abc"] == ["NOT_JUDGED cancelled"] * 3
    assert play.decision is not None
    assert (play.decision.word, play.decision.exit_code) == ("CANCELLED", code)
    assert play.kept == ()


def test_what_the_last_look_judged_stands_in_a_cancel() -> None:
    play = three()
    play.tick(a=view(GOOD))
    play.observe(CancelSeen(15))
    assert [play.word(x) for x in "abc"] == ["PASS criteria_met", "NOT_JUDGED cancelled", "NOT_JUDGED cancelled"]
    assert play.decision is not None
    assert play.decision.cause == "cancelled by SIGTERM; 1 of 3 legs had a verdict"


def test_cancelled_wins_over_a_failed_leg() -> None:
    play = three(fail_fast=False)
    play.tick(a=view(LOST))
    play.observe(CancelSeen(15))
    assert play.decision is not None
    assert play.decision.exit_code == 143
    assert "leg a" in play.decision.cause


def test_a_cancel_before_the_first_poll() -> None:
    play = Player(rules())
    play.observe(CancelSeen(2))
    assert play.word() == "NOT_JUDGED cancelled"


# --- supersede ---------------------------------------------------------------------------------------


def test_superseded_leases_what_lives_and_is_never_green() -> None:
    play = three()
    play.says("b", Phase.FAILED, "exit")
    play.tick(a=view(GOOD))
    play.observe(NEWER)
    assert [play.word(x) for x in "abc"] == ["PASS criteria_met", "NOT_JUDGED superseded", "NOT_JUDGED superseded"]
    assert play.decision is not None
    assert (play.decision.word, play.decision.exit_code) == ("SUPERSEDED", 4)
    assert play.decision.cause.startswith("superseded by run 1002 (c0ffeec0ffee); 1 of 3")
    assert play.kept == ("a", "c")


# --- attempts ----------------------------------------------------------------------------------------


def first_verdict() -> Player:
    play = Player(rules())
    play.tick(a=view(GOOD))
    return play


def test_a_carried_leg_is_shown_as_carried_and_written_under_the_new_tag() -> None:
    earlier = first_verdict().verdicts["a"]
    play = Player(rules(leg("a", carried=earlier), leg("b"), tag=OTHER, attempt=2))
    play.tick(b=view(GOOD, "b", pointer=replace(view(GOOD, "b").pointer, tag=TAG)))  # type: ignore[type-var]
    verdict = play.verdicts["a"]
    assert (verdict.outcome, verdict.tag, verdict.attempt, verdict.carried_from) == (Outcome.PASS, OTHER, 2, TAG)
    assert verdict.evidence == earlier.evidence
    assert play.decision is not None
    assert [row.carried for row in play.decision.legs] == [True, False]
    assert play.decision.word == "GO"


def test_a_verdict_carried_twice_names_the_attempt_that_measured_it() -> None:
    earlier = first_verdict().verdicts["a"]
    second = Player(rules(leg("a", carried=earlier), tag=OTHER, attempt=2))
    second.tick()
    third = Player(rules(leg("a", carried=second.verdicts["a"]), tag="c" * 10, attempt=3))
    third.tick()
    assert third.verdicts["a"].carried_from == TAG
    assert [rule.name for rule in third.verdicts["a"].rules].count("carried") == 1


def test_an_adopted_leg_is_judged_under_its_own_tag_and_written_under_the_attempts() -> None:
    play = Player(rules(leg("a", tag=TAG), tag=OTHER, attempt=2))
    play.tick(a=view(GOOD))
    verdict = play.verdicts["a"]
    assert verdict.tag == OTHER
    assert verdict.evidence is not None
    assert verdict.evidence.tag == TAG


def test_bashunit_1040_a_pass_on_retry_is_shown_as_flaky() -> None:
    play = Player(rules(leg("a", failed_before=True)))
    play.tick(a=view(GOOD))
    assert play.word() == "PASS criteria_met"
    assert play.verdicts["a"].flaky
    assert play.decision is not None
    assert play.decision.exit_code == 0
    assert play.decision.cause == "the blocking leg passed; only on a later attempt: a"


def test_buzz_1838_and_can_be_made_to_fail_the_gate() -> None:
    play = Player(rules(leg("a", failed_before=True), flaky="fail"))
    play.tick(a=view(GOOD))
    assert play.word() == "FAIL flaky"
    assert play.decision is not None
    assert play.decision.exit_code == 1
    assert [rule.decides for rule in play.verdicts["a"].rules].count(True) == 1


def test_verdicts_found_on_disk_stand() -> None:
    earlier = first_verdict().verdicts["a"]
    play = Player(rules(leg("a"), leg("b")))
    play.observe(VerdictsFound((earlier, replace(earlier, leg="b", tag=OTHER))))
    play.tick(a=view(LOST), b=view(GOOD, "b"))
    assert set(play.verdicts) == {"b"}, "nothing is written again, and nothing of another tag counts"
    assert play.decision is not None
    assert [row.outcome for row in play.decision.legs] == [Outcome.PASS, Outcome.PASS]


# --- scopes and empty gates --------------------------------------------------------------------------


@pytest.mark.parametrize(("scope", "word"), [("full", "GO"), ("fast", "PASSED"), ("subset", "PASSED")])
def test_only_a_full_pass_is_a_go(scope: str, word: str) -> None:
    play = Player(rules(scope=scope))
    play.tick(a=view(GOOD))
    assert play.decision is not None
    assert (play.decision.word, play.decision.exit_code, play.decision.scope) == (word, 0, scope)


def test_hew_lang_2857_nothing_judged_is_no_pass() -> None:
    play = Player(replace(rules(), legs=(), workloads=()))
    play.tick()
    assert play.decision is not None
    assert (play.decision.word, play.decision.exit_code) == ("NOT MEASURED", 3)


def test_samyama_1180_informing_legs_alone_decide_nothing() -> None:
    play = Player(rules(leg("a", blocking=False)))
    play.tick(a=view(GOOD))
    assert play.decision is not None
    assert (play.decision.word, play.decision.exit_code) == ("NOT MEASURED", 3)
    assert play.decision.cause == "no blocking leg was judged"


def test_a_leg_without_a_workload_is_refused_at_the_start() -> None:
    with pytest.raises(ValueError, match="leg a: no workload 'a'"):
        Player(rules(workloads=()))


# --- shared workloads, keeping -----------------------------------------------------------------------


def test_legs_of_a_shared_workload_are_judged_each_by_its_own_state() -> None:
    made = (WorkloadRules("host", ("a", "b"), 100),)
    play = Player(rules(leg("a", workload="host"), leg("b", workload="host"), workloads=made, fail_fast=False))
    play.tick(a=view(GOOD), b=view(BUSY, "b"))
    play.says("host", Phase.FAILED, "out_of_memory")
    play.ticks(EVIDENCE + 30)
    assert (play.word("a"), play.word("b")) == ("PASS criteria_met", "ERROR out_of_memory")
    assert play.kept == (), "what has ended cannot be kept"


def test_what_cannot_be_seen_may_live_and_is_kept() -> None:
    play = three()
    play.engine = EngineBlind("refused", "")
    play.tick(a=view(LOST))
    assert play.kept == ("a", "b", "c")


# --- cost --------------------------------------------------------------------------------------------


def test_an_unchanged_tick_changes_nothing_but_the_clock() -> None:
    many = [leg(f"leg{i}") for i in range(50)]
    play = Player(rules(*many))
    views = {each.id: view(BUSY, each.id) for each in many}
    play.tick(INTERVAL, **views)
    before = play.state
    play.clock += 30
    fresh = {each.id: view(BUSY, each.id) for each in many}
    engine = EngineSeen({each.id: workload(each.id) for each in many}, True)
    assert play.observe(Tick(engine, fresh)) == ()
    assert play.state.legs is before.legs
    assert play.state.workloads is before.workloads


def test_the_state_does_not_grow_with_the_number_of_polls() -> None:
    play = three()
    sizes = []
    for _ in range(3):
        for _ in range(300):
            play.tick(5, a=view(StateView("torn", "x")))
            play.tick(5, a=view(BUSY))
            play.gap(5)
        sizes.append(len(repr(play.state)))
    assert max(sizes) - min(sizes) < 100, "only numbers get longer"
