"""The gate machine, a test a rule: evidence first, then leg.json, then the scheduler's word, then time."""

from __future__ import annotations

from typing import Any

import pytest

from gate.contracts import EndReason, LegView, Phase
from gate.machines.gate import last_call
from gate.machines.observations import EngineBlind, EngineSeen, RootBlind, WorkloadRules
from gate.machines.verdict import Reason, StateView
from tests.machines.gate_world import (
    BUSY,
    EVIDENCE,
    GOOD,
    INTERVAL,
    LOST,
    OTHER,
    POLL,
    TAG,
    Player,
    leg,
    pointer,
    result,
    rules,
    state,
    view,
)

# --- evidence ----------------------------------------------------------------------------------------


def test_a_finished_state_is_judged_at_the_tick_that_sees_it() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.tick(a=view(GOOD))
    assert play.word() == "PASS criteria_met"
    verdict = play.verdicts["a"]
    assert (verdict.tag, verdict.attempt, verdict.at, verdict.elapsed) == (TAG, 1, play.clock + 1_800_000_000, 60)
    evidence = verdict.evidence
    assert evidence is not None
    assert (evidence.tag, evidence.incarnation, evidence.sequence, evidence.phase) == (TAG, "i1", 3, "Running")
    assert evidence.state == state(GOOD)
    assert play.decision is not None
    assert (play.decision.word, play.decision.exit_code) == ("GO", 0)


@pytest.mark.parametrize("reason", ["out_of_memory", "timeout", "node_lost", "stopped", "exit", "lost"])
def test_nvidia_modelopt_1900_own_evidence_beats_the_schedulers_word(reason: EndReason) -> None:
    play = Player(rules())
    play.says("a", Phase.FAILED, reason, exit_code=137)
    play.tick(a=view(GOOD))
    assert play.word() == "PASS criteria_met"


def test_skypilot_6133_a_job_that_finished_while_the_api_was_away_is_judged_so() -> None:
    play = Player(rules())
    play.engine = EngineBlind("refused", "connection refused")
    play.tick(a=view(LOST))
    assert play.word() == "FAIL not_accepted"


def test_evidence_after_an_outage_of_the_root_still_counts() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.says("a", Phase.SUCCEEDED, "exit", exit_code=0)
    play.views = RootBlind("stale handle")
    play.ticks(6000)
    assert play.word() == ""
    play.views = {"a": view(GOOD)}
    play.tick()
    assert play.word() == "PASS criteria_met"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (view(GOOD, pointer=pointer(tag=OTHER)), "tag"),
        (view(GOOD, pointer=pointer(leg="b")), "leg"),
        (view(GOOD, pointer=pointer(incarnation="i0")), "incarnation"),
        (view(GOOD, pointer=None), "no session pointer"),
        (view(StateView("foreign", "x", detail="tag zzzz")), "not of this run"),
        (view(StateView("foreign", detail="leg.json: somebody else's"), pointer=None, problem="x"), "somebody else's"),
        (view(StateView("foreign", detail="a link"), pointer=None, problem="a link"), "not of this run: a link"),
    ],
)
def test_skerryssh_364_an_older_runs_result_never_satisfies_the_gate(found: LegView, words: str) -> None:
    play = Player(rules())
    play.tick(a=found)
    play.ticks(EVIDENCE)
    assert play.word() == "ERROR evidence_foreign"
    assert words in play.verdicts["a"].sentence


def test_a_second_start_is_an_error_even_if_it_finished() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.tick(a=view(GOOD, incarnations=("i1", "i2"), pointer=pointer(incarnation="i2")))
    assert play.word() == "ERROR workload_restarted"
    assert [say.text for say in play.said("restarted")] == ["started again (2 starts)"]


def test_a_second_start_is_judged_where_the_leg_allows_it() -> None:
    play = Player(rules(leg(allow_restart=True)))
    play.tick(a=view(BUSY))
    play.tick(a=view(GOOD, incarnations=("i1", "i2"), pointer=pointer(incarnation="i2")))
    assert play.word() == "PASS criteria_met"
    assert play.verdicts["a"].evidence is not None
    assert play.verdicts["a"].evidence.incarnation == "i2"


def test_a_missing_value_on_a_finished_state_is_no_measurement() -> None:
    play = Player(rules())
    play.tick(a=view({"done": True, "stop_reason": "converged"}))
    assert play.word() == "ERROR value_missing"


# --- re-reading --------------------------------------------------------------------------------------

BAD: list[tuple[StateView, Reason]] = [
    (StateView("torn", "x", detail="ends in the middle"), Reason.EVIDENCE_MALFORMED),
    (StateView("malformed", "x", detail="NaN is not JSON"), Reason.EVIDENCE_MALFORMED),
    (StateView("unreadable", "x", detail="permission denied"), Reason.EVIDENCE_UNREADABLE),
    (StateView("foreign", "x"), Reason.EVIDENCE_FOREIGN),
    (StateView("ambiguous", "x", detail="a/state.json, b/state.json"), Reason.EVIDENCE_AMBIGUOUS),
    (state({"done": "yes"}), Reason.EVIDENCE_MALFORMED),
]


@pytest.mark.parametrize(("found", "reason"), BAD)
def test_lingtai_743_a_bad_read_is_repeated_for_the_evidence_budget_and_never_defaulted(
    found: StateView, reason: Reason
) -> None:
    play = Player(rules())
    play.tick(a=view(found))
    play.ticks(EVIDENCE - INTERVAL)
    assert play.word() == ""
    assert len(play.said("evidence_waiting")) == 1
    play.tick()
    assert play.word() == f"ERROR {reason.value}"
    assert play.verdicts["a"].elapsed == INTERVAL + EVIDENCE


def test_a_good_look_starts_the_budget_anew() -> None:
    play = Player(rules())
    torn = view(StateView("torn", "x"))
    for _ in range(5):
        play.tick(a=torn)
        play.ticks(EVIDENCE - INTERVAL)
        play.tick(a=view(BUSY))
    assert play.word() == ""
    play.tick(a=view(GOOD))
    assert play.word() == "PASS criteria_met"


def test_different_bad_looks_are_one_episode() -> None:
    play = Player(rules())
    for index in range(5):
        play.tick(a=view(StateView("torn", "x", sha256=str(index))))
    assert play.word() == "ERROR evidence_malformed"


def test_bigdatascript_89_an_empty_file_is_not_yet_while_the_workload_runs() -> None:
    play = Player(rules())
    play.tick(a=view(StateView("empty", "x")))
    play.ticks(10 * EVIDENCE)
    assert play.word() == ""


def test_nextflow_5650_absent_after_the_end_is_read_past_the_cache() -> None:
    play = Player(rules())
    play.tick(a=view())
    play.says("a", Phase.SUCCEEDED, "exit", exit_code=0)
    play.tick()
    play.ticks(EVIDENCE - INTERVAL)
    assert play.word() == ""
    play.tick(a=view(GOOD))
    assert play.word() == "PASS criteria_met"


def test_maestrowf_266_success_without_a_result_is_no_success() -> None:
    play = Player(rules())
    play.says("a", Phase.SUCCEEDED, "exit", exit_code=0)
    play.tick(a=view())
    play.ticks(EVIDENCE)
    assert play.word() == "ERROR ended_without_result"
    said = play.verdicts["a"].sentence
    assert "the workload ended with exit code 0" in said
    assert "no state file yet" in said or "there is no state file" in said


def test_blind_time_is_no_time_to_read_again_in() -> None:
    play = Player(rules())
    play.says("a", Phase.FAILED, "exit", exit_code=1)
    play.tick(a=view())
    play.views = RootBlind("hung")
    play.ticks(100 * EVIDENCE)
    play.views = {"a": view()}
    play.tick()
    assert play.word() == ""
    play.ticks(EVIDENCE)
    assert play.word() == "ERROR ended_without_result"


# --- leg.json ----------------------------------------------------------------------------------------


def test_legs_own_failure_is_its_reason_at_once() -> None:
    play = Player(rules())
    failed = result(outcome="failed", reason=Reason.SETUP_STALLED, sentence="nothing moved for 20 min")
    play.tick(a=view(result=failed))
    assert play.word() == "ERROR setup_stalled"
    assert play.verdicts["a"].sentence == "nothing moved for 20 min"


def test_a_finished_state_wins_over_a_failed_leg_json() -> None:
    play = Player(rules())
    play.tick(a=view(GOOD, result=result(outcome="failed", reason=Reason.TASK_DEADLINE, sentence="late")))
    assert play.word() == "PASS criteria_met"


def test_a_failed_leg_json_beside_a_torn_state_file_is_read_again_first() -> None:
    play = Player(rules())
    failed = result(outcome="failed", reason=Reason.TASK_DEADLINE, sentence="late")
    play.tick(a=view(StateView("torn", "x"), result=failed))
    assert play.word() == ""
    play.ticks(EVIDENCE)
    assert play.word() == "ERROR task_deadline"


def test_cc89495_a_claim_to_have_finished_is_checked_against_the_state_file() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY, result=result()))
    assert play.word() == ""
    play.ticks(EVIDENCE)
    assert play.word() == "ERROR ended_without_result"
    assert "leg.json says that the leg finished; the state file is not finished" in play.verdicts["a"].sentence


def test_a_claim_to_have_finished_beside_a_malformed_file_is_malformed_evidence() -> None:
    play = Player(rules())
    play.says("a", Phase.SUCCEEDED, "exit", exit_code=0)
    play.tick(a=view(StateView("malformed", "x", detail="NaN"), result=result()))
    play.ticks(EVIDENCE)
    assert play.word() == "ERROR evidence_malformed"


def test_a_leg_json_of_another_start_is_nobodys_word() -> None:
    play = Player(rules())
    foreign = result(outcome="failed", reason=Reason.SETUP_STALLED, tag=OTHER)
    play.tick(a=view(BUSY, result=foreign))
    play.ticks(10 * EVIDENCE)
    assert play.word() == ""


def test_stopped_from_outside() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY, result=result(outcome="stopped", reason=Reason.WORKLOAD_STOPPED, sentence="signal 15")))
    play.ticks(EVIDENCE)
    assert play.word() == "ERROR workload_stopped"


def test_the_engine_knows_better_why_it_was_stopped() -> None:
    play = Player(rules())
    play.says("a", Phase.FAILED, "timeout", exit_code=124)
    play.tick(a=view(BUSY, result=result(outcome="stopped", sentence="signal 15")))
    play.ticks(EVIDENCE)
    assert play.word() == "ERROR workload_timeout"


# --- the scheduler's word ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phase", "reason", "word"),
    [
        (Phase.FAILED, "out_of_memory", "out_of_memory"),
        (Phase.FAILED, "evicted", "evicted"),
        (Phase.FAILED, "preempted", "evicted"),
        (Phase.FAILED, "node_lost", "node_lost"),
        (Phase.FAILED, "timeout", "workload_timeout"),
        (Phase.FAILED, "image_unavailable", "image_unavailable"),
        (Phase.FAILED, "unschedulable", "unschedulable"),
        (Phase.FAILED, "lost", "vanished"),
        (Phase.FAILED, "exit", "ended_without_result"),
        (Phase.FAILED, "", "ended_without_result"),
        (Phase.SUCCEEDED, "", "ended_without_result"),
        (Phase.STOPPED, "", "workload_stopped"),
        (Phase.STOPPED, "stopped", "workload_stopped"),
    ],
)
def test_every_way_to_end_has_its_reason(phase: Phase, reason: EndReason, word: str) -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.says("a", phase, reason, message="said the engine")
    play.tick()
    assert play.word() == ""
    play.ticks(EVIDENCE)
    assert play.word() == f"ERROR {word}"
    assert "said the engine" in play.verdicts["a"].sentence
    assert "done is false" in play.verdicts["a"].sentence, "the reason names both sources"


def test_argo_13373_137_while_the_state_says_running_is_a_failure_that_says_so() -> None:
    play = Player(rules())
    play.says("a", Phase.FAILED, "exit", exit_code=137)
    play.tick(a=view(BUSY))
    play.ticks(EVIDENCE)
    assert play.word() == "ERROR ended_without_result"
    assert "exit code 137 (killed; often for want of memory)" in play.verdicts["a"].sentence


def test_never_started() -> None:
    play = Player(rules())
    play.says("a", Phase.PENDING, queue_position=3, message="0/4 nodes")
    play.tick(a=LegView())
    play.ticks(POLL.queue - INTERVAL)
    assert play.word() == ""
    play.tick()
    assert play.word() == "ERROR never_started"
    assert "0/4 nodes; queued for 2 h" in play.verdicts["a"].sentence


@pytest.mark.parametrize("ended", [Phase.SUCCEEDED, Phase.FAILED])
def test_a_directory_that_cannot_be_listed_is_unreadable_once_the_workload_has_ended(ended: Phase) -> None:
    closed = LegView(problem="the leg's directory cannot be listed: Permission denied")
    play = Player(rules())
    play.tick(a=closed)
    play.ticks(10 * EVIDENCE)
    assert play.word() == "", "nothing follows from it while the workload may open it yet"
    play.says("a", ended, "exit", exit_code=0)
    play.tick()
    play.ticks(EVIDENCE)
    assert play.word() == "ERROR evidence_unreadable"
    assert "Permission denied" in play.verdicts["a"].sentence
    assert "Permission denied" in play.verdicts["a"].rules[0].observed


def test_a_directory_that_can_be_listed_in_the_end_is_judged() -> None:
    play = Player(rules())
    play.tick(a=LegView(problem="the leg's directory cannot be listed: Permission denied"))
    play.says("a", Phase.SUCCEEDED, "exit", exit_code=0)
    play.tick()
    play.tick(a=view(GOOD))
    assert play.word() == "PASS criteria_met"


@pytest.mark.parametrize("reason", ["image_unavailable", "unschedulable"])
def test_a_queue_with_a_reason_ends_with_that_reason(reason: EndReason) -> None:
    play = Player(rules())
    play.says("a", Phase.PENDING, reason)
    play.ticks(POLL.queue + INTERVAL)
    assert play.word() == f"ERROR {reason}"


def test_the_queue_budget_is_not_decided_while_the_engine_cannot_be_seen() -> None:
    play = Player(rules(poll=POLL.__class__(INTERVAL, 7200, 1e6, 900, 50_000, None, 86_400)))
    play.says("a", Phase.PENDING)
    play.tick()
    seen, play.engine = play.engine, EngineBlind("timed_out", "")
    play.ticks(3 * POLL.queue)
    assert play.word() == ""
    play.engine = seen
    play.tick()
    assert play.word() == "ERROR never_started", "a hard deadline counts blind time"


def test_a_leg_that_works_while_the_engine_says_pending_is_not_queueing() -> None:
    play = Player(rules())
    play.says("a", Phase.PENDING)
    play.tick(a=view(BUSY))
    play.ticks(2 * POLL.queue)
    assert play.word() == ""


def test_sent_back_to_the_queue_and_left_there() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.ticks(3600)
    play.says("a", Phase.PENDING, "preempted")
    play.tick()
    play.ticks(POLL.queue)
    assert play.word() == ""
    play.tick()
    assert play.word() == "ERROR evicted"


def test_sent_back_between_two_looks_and_never_seen_to_run() -> None:
    play = Player(rules())
    play.says("a", Phase.PENDING, "preempted")
    play.ticks(POLL.queue + INTERVAL)
    assert play.word() == "ERROR evicted", "the engine says that it ran"


def test_sent_back_before_anything_of_the_leg_was_there() -> None:
    """It ran for a moment: that it never started would not be true."""
    play = Player(rules())
    play.tick(a=LegView())
    play.says("a", Phase.PENDING, "preempted")
    play.tick()
    play.ticks(POLL.queue + INTERVAL)
    assert play.word() == "ERROR evicted"


def test_a_workload_held_open_for_post_mortem_has_ended_although_it_still_runs() -> None:
    play = Player(rules())
    play.says("a", Phase.RUNNING, exit_code=12, kept_until=play.clock + 1_800_014_400)
    play.tick()
    play.ticks(EVIDENCE)
    assert play.word() == "ERROR ended_without_result"
    assert "exit code 12" in play.verdicts["a"].sentence


def test_vanished_takes_two_complete_lists_the_list_lag_and_the_evidence_budget() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.loses("a")
    play.ticks(60)
    assert not play.said("phase")[1:]
    play.tick()
    assert "vanished" in play.said("phase")[-1].text
    play.ticks(EVIDENCE - INTERVAL)
    assert play.word() == ""
    play.tick()
    assert play.word() == "ERROR vanished"


def test_model_optimizer_1900_a_leg_that_moves_has_not_vanished() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.loses("a")
    play.ticks(90)
    assert "vanished" in play.said("phase")[-1].text
    for number in range(40):
        play.tick(a=view(BUSY, stamp=f"moved {number}"))
    assert play.word() == "", "not known to the engine for twenty minutes, and alive all the time"
    play.ticks(EVIDENCE - INTERVAL)
    assert play.word() == ""
    play.tick()
    assert play.word() == "ERROR vanished"


def test_one_that_was_only_lost_sight_of_is_read_again_from_its_real_end() -> None:
    """The engine did not know it for a while, and it ended just now: its files are as fresh as any other's."""
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.loses("a")
    play.ticks(60 + EVIDENCE)
    assert play.word() == ""
    play.says("a", Phase.FAILED, "exit", exit_code=12)
    play.ticks(EVIDENCE - INTERVAL)
    assert play.word() == "", "the result may not be visible yet"
    play.tick(a=view(GOOD))
    assert play.word() == "PASS criteria_met"


def test_one_list_without_it_is_never_enough() -> None:
    play = Player(rules(leg(evidence=0.0), list_lag=0.0))
    play.tick(a=view(BUSY))
    play.loses("a")
    play.tick()
    assert play.word() == ""
    play.tick()
    assert play.word() == "ERROR vanished"


def test_galaxy_2403_absence_in_an_incomplete_list_means_nothing() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.loses("a", complete=False)
    play.ticks(20_000)
    assert play.word() == ""


def test_list_lag_after_a_create_is_no_vanishing() -> None:
    play = Player(rules())
    play.loses("a")
    play.tick(a=LegView())
    play.tick()
    play.says("a", Phase.PENDING)
    play.tick()
    assert [say.data["phase"] for say in play.said("phase")] == ["Pending"]
    assert play.word() == ""


def test_an_id_that_the_engine_does_not_know_counts_in_an_incomplete_list_too() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.loses("a", complete=False, not_found=("a",))
    play.tick()
    assert len(play.said("phase")) == 1, "the list may lag"
    play.ticks(60 + EVIDENCE)
    assert play.word() == "ERROR vanished"


def test_a_workload_that_comes_back_goes_on() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.loses("a")
    play.ticks(60 + EVIDENCE)
    play.says("a", Phase.RUNNING)
    play.ticks(10 * EVIDENCE)
    assert play.word() == ""


def test_an_ended_workload_that_the_engine_forgets_keeps_its_reason() -> None:
    play = Player(rules())
    play.says("a", Phase.FAILED, "out_of_memory")
    play.tick(a=view(BUSY))
    play.loses("a")
    play.ticks(EVIDENCE)
    assert play.word() == "ERROR out_of_memory"


def test_unknown_is_never_terminal() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.says("a", Phase.UNKNOWN)
    play.ticks(20_000)
    assert play.word() == ""


def test_create_problems() -> None:
    made = (
        WorkloadRules("a", ("a",), 100, "refused", "quota"),
        WorkloadRules("b", ("b",), 100, "unclear", "timed out"),
    )
    play = Player(rules(leg("a"), leg("b"), workloads=made, fail_fast=False))
    play.tick(0)
    assert play.word("a") == "ERROR create_refused"
    assert "quota" in play.verdicts["a"].sentence
    assert play.word("b") == ""
    play.ticks(60)
    assert play.word("b") == "ERROR create_unclear"


def test_an_unclear_create_that_turns_out_to_live_is_a_leg_like_any_other() -> None:
    made = (WorkloadRules("a", ("a",), 100, "unclear", "timed out"),)
    play = Player(rules(workloads=made))
    play.says("a", Phase.RUNNING)
    play.tick(a=LegView())
    play.ticks(600)
    play.tick(a=view(GOOD))
    assert play.word() == "PASS criteria_met"


# --- silence -----------------------------------------------------------------------------------------


def test_silence_of_the_state_file() -> None:
    play = Player(rules(leg(silence=600.0)))
    play.tick(a=view(BUSY))
    play.ticks(600 - INTERVAL)
    assert play.word() == ""
    play.tick()
    assert play.word() == "ERROR silent"
    assert "has not changed for 10 min" in play.verdicts["a"].sentence


@pytest.mark.parametrize("blind", ["root", "engine", "poller"])
def test_silence_is_not_charged_for_blind_time(blind: str) -> None:
    play = Player(rules(leg(silence=600.0), poll=POLL.__class__(INTERVAL, 7200, 1e6, 900, 50_000, None, 86_400)))
    play.tick(a=view(BUSY))
    before: Any = play.engine, play.views
    for _ in range(20):
        if blind == "poller":
            play.gap(2000)
            play.tick(1)
            continue
        play.engine, play.views = before
        play.tick()
        if blind == "root":
            play.views = RootBlind("hung")
        else:
            play.engine = EngineBlind("refused", "")
        play.ticks(1500)
    assert play.word() == ""


def test_silence_needs_a_state_file() -> None:
    play = Player(rules(leg(silence=600.0)))
    play.tick(a=view())
    play.ticks(6000)
    assert play.word() == ""


# --- outage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("refused", "api_refused"),
        ("rejected", "api_rejected"),
        ("timed_out", "api_timed_out"),
        ("gone", "api_gone"),
        ("error", "api_error"),
    ],
)
def test_a_long_total_outage_over_a_leg_that_stands_still(kind: Any, word: str) -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.engine = EngineBlind(kind, "HTTP 401")
    play.tick()
    play.ticks(POLL.outage - INTERVAL)
    assert play.word() == ""
    play.tick()
    assert play.word() == f"ERROR {word}"
    assert "HTTP 401" in play.verdicts["a"].sentence


def test_skypilot_10157_failed_queries_decide_nothing_and_one_answer_resets() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    seen = play.engine
    for _ in range(20):
        play.engine = EngineBlind("error", "503")
        play.ticks(POLL.outage)
        play.engine = seen
        play.tick()
    assert play.word() == ""
    assert (len(play.said("blind")), len(play.said("seen_again"))) == (20, 20)


def test_a_leg_that_advances_in_an_outage_is_waited_for() -> None:
    play = Player(rules(leg("a"), leg("b"), fail_fast=False))
    play.tick(a=view(BUSY), b=view(BUSY, "b"))
    play.engine = EngineBlind("refused", "")
    for index in range(200):
        play.tick(a=view({**BUSY, "gain": index}))
    assert play.word("a") == ""
    assert play.word("b") == "ERROR api_refused"
    play.tick(a=view(GOOD))
    assert play.word("a") == "PASS criteria_met"


def test_an_outage_takes_several_polls_however_long_they_last() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.engine = EngineBlind("timed_out", "")
    play.tick()
    play.tick(2 * POLL.outage)
    assert play.word() == ""
    play.tick()
    assert play.word() == "ERROR api_timed_out"


def test_an_outage_is_not_aged_by_time_in_which_nobody_looked() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.engine = EngineBlind("refused", "")
    play.ticks(90)
    play.gap(10 * POLL.outage)
    play.tick()
    assert play.word() == ""


def test_with_the_root_away_too_nothing_is_known_and_nothing_decided() -> None:
    play = Player(rules())
    play.tick(a=view(BUSY))
    play.engine, play.views = EngineBlind("refused", ""), RootBlind("hung")
    play.ticks(20 * POLL.outage)
    assert play.word() == ""
    assert len(play.said("root_blind")) == 1


# --- deadline ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("blind", [False, True])
def test_autosubmit_382_unknown_ages_out_before_the_poll_deadline(blind: bool) -> None:
    play = Player(rules(leg("a"), leg("b"), fail_fast=False))
    play.tick(a=view(BUSY), b=view(BUSY, "b"))
    play.ticks(5000)
    if blind:
        play.views = RootBlind("hung")
    play.ticks(POLL.deadline)
    assert (play.word("a"), play.word("b")) == ("ERROR poll_deadline", "ERROR poll_deadline")
    assert last_call(POLL) <= play.verdicts["a"].elapsed <= POLL.deadline - INTERVAL
    assert play.decision is not None
    assert (play.decision.word, play.decision.exit_code) == ("NOT MEASURED", 3)


def test_a_poller_that_comes_back_after_the_deadline_reads_once_more() -> None:
    play = Player(rules(leg("a"), leg("b"), fail_fast=False))
    play.tick(a=view(BUSY), b=view(BUSY, "b"))
    play.gap(2 * POLL.deadline)
    assert play.word("a") == ""
    play.tick(1, a=view(GOOD))
    assert (play.word("a"), play.word("b")) == ("PASS criteria_met", "ERROR poll_deadline")


def test_cron_comes_to_an_end() -> None:
    """`gate poll --once` from cron: every poll is a new process after a gap."""
    play = Player(rules())
    play.says("a", Phase.FAILED, "exit", exit_code=1)
    play.tick(a=view(BUSY))
    polls = 0
    while not play.word():
        play.gap(300)
        play.tick(0)
        polls += 1
    assert polls == EVIDENCE / INTERVAL
    assert play.word() == "ERROR ended_without_result"


# --- the journal lists only what was asked about -------------------------------------------------------


def test_a_leg_that_was_not_asked_about_is_left_alone() -> None:
    play = Player(rules(leg("a"), leg("b"), fail_fast=False))
    play.tick(a=view(GOOD), b=view(BUSY, "b"))
    play.views = {"b": view(BUSY, "b")}
    play.ticks(300)
    play.views = {}
    play.says("b", Phase.FAILED, "exit")
    play.ticks(3000)
    assert play.word("b") == ""
    assert isinstance(play.engine, EngineSeen)
