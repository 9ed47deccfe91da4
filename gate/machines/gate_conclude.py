"""What a leg comes to at this moment, if anything: evidence first, then leg.json, then the scheduler's word, then time.

Every rule here takes a leg whose files were just looked at. It answers with a Finding, or with the leg as it goes on
waiting. Blind time is charged nowhere: `looks` and `clear` do not run in it.
"""

from __future__ import annotations

from dataclasses import replace

from gate.machines.clock import reading as clock_reading
from gate.machines.duration import spell
from gate.machines.gate_derive import (
    AFTER_END,
    CREATED,
    ENGINE,
    EVER,
    MOVES,
    ONE_START,
    OWN_WORD,
    QUEUE,
    READABLE,
    evidence_rules,
    judged,
    not_over,
    waited,
)
from gate.machines.gate_reading import own_result
from gate.machines.gate_state import Finding, LegState, Moment, WorkloadState
from gate.machines.gate_workloads import REASONS, WORDS, End, end_of
from gate.machines.observations import BlindKind, Say
from gate.machines.verdict import Outcome, Reason, Rule
from gate.rundir.formats import LegResult

MIN_BLIND_TICKS = 3
"""Polls in a row that must have failed before an outage can decide anything, however long they took."""

API_REASONS: dict[BlindKind, Reason] = {
    "refused": Reason.API_REFUSED,
    "rejected": Reason.API_REJECTED,
    "timed_out": Reason.API_TIMED_OUT,
    "gone": Reason.API_GONE,
    "error": Reason.API_ERROR,
}

API_WORDS: dict[BlindKind, str] = {
    "refused": "refuses connections",
    "rejected": "rejects the credential",
    "timed_out": "does not answer in time",
    "gone": "is gone",
    "error": "answers with errors",
}

Concluded = tuple[LegState, Finding | None, Say | None]


def conclude(leg: LegState, workload: WorkloadState, moment: Moment) -> Concluded:
    """The leg after this look, with a Finding where it is decided now."""
    result = own_result(leg.rules, leg.view)
    if (finding := _at_once(leg, workload, result, moment)) is not None:
        return leg, finding, None
    over = end_of(workload)
    if over is not None or result is not None:
        return _ended(leg, workload, _leg_end(result, over), moment)
    if leg.reading.kind == "bad":
        return _bad(leg, workload, moment)
    if leg.bad_since is not None or leg.ended_since is not None:
        leg = replace(leg, bad_since=None, ended_since=None, told=False)
    return leg, _by_time(leg, workload, moment), None


def _at_once(leg: LegState, workload: WorkloadState, result: LegResult | None, moment: Moment) -> Finding | None:
    if leg.reading.kind == "restarted":
        return _error(leg, workload, Reason.WORKLOAD_RESTARTED, leg.reading.words, ONE_START, moment)
    if leg.reading.kind == "finished":
        return judged(leg, moment.ages)
    if result is not None and result.outcome == "failed" and not leg.reading.torn:
        end = _leg_end(result, None)
        return _error(leg, workload, end.reason, end.words, OWN_WORD, moment)
    return _create(leg, workload, moment)


def _leg_end(result: LegResult | None, over: End | None) -> End:
    """Why nothing more will come of this leg: its own word first, unless the engine knows better why it was stopped."""
    if result is not None and result.outcome == "failed":
        return End(result.reason or Reason.ENDED_WITHOUT_RESULT, result.sentence, plain=False)
    if result is not None and result.outcome == "stopped" and (over is None or over.plain):
        return End(Reason.WORKLOAD_STOPPED, result.sentence or "bootstrap was asked to stop", plain=False)
    if over is not None and (result is None or not over.plain):
        return over
    return End(Reason.ENDED_WITHOUT_RESULT, "leg.json says that the leg finished", plain=True)


def _create(leg: LegState, workload: WorkloadState, moment: Moment) -> Finding | None:
    problem = workload.rules.create_problem
    if not problem or workload.seen is not None or (leg.view is not None and leg.view.incarnations):
        return None
    detail = workload.rules.problem_detail
    because = f": {detail}" if detail else ""
    if problem == "refused":
        said = f"the engine refused to create the workload{because}"
        return _error(leg, workload, Reason.CREATE_REFUSED, said, CREATED, moment)
    if moment.now.mono < moment.rules.list_lag:
        return None
    said = f"nobody knows whether the workload was created{because}"
    return _error(leg, workload, Reason.CREATE_UNCLEAR, said, CREATED, moment)


def _ended(leg: LegState, workload: WorkloadState, end: End, moment: Moment) -> Concluded:
    # nextflow#5650: a share caches "absent", so that what ended is read again before its absence decides anything
    if leg.ended_since is None or (leg.ended_gone and not workload.gone):
        # What an engine had only lost sight of ends later, and its files are then as fresh as any other's.
        leg = replace(leg, ended_since=moment.looks, ended_gone=workload.gone, bad_since=None, told=False)
    if workload.gone and leg.stamp_looks > (leg.ended_since or 0.0):
        # NVIDIA/Model-Optimizer#1900: not known to the engine, and yet it moves: its own evidence beats the scheduler
        leg = replace(leg, ended_since=leg.stamp_looks)
    since = leg.ended_since if leg.ended_since is not None else moment.looks
    spent = moment.looks - since
    if spent < leg.rules.evidence:
        return _wait(leg, f"{end.words}; {leg.reading.words}", spent)
    reason = leg.reading.reason if end.plain else end.reason
    # What ended it is what decided, where that says why; that nothing finished was read afterwards lets it stand.
    by = "" if end.plain else not_over(workload) if end == end_of(workload) else OWN_WORD
    last = replace(waited(AFTER_END, spent, leg.rules.evidence), decides=not by)
    rules = (*evidence_rules(leg, workload, moment.ages, decides=by), last)
    return leg, Finding(Outcome.ERROR, reason, f"{end.words}; {leg.reading.words}", rules), None


def _bad(leg: LegState, workload: WorkloadState, moment: Moment) -> Concluded:
    if leg.bad_since is None:
        leg = replace(leg, bad_since=moment.looks, ended_since=None, told=False)
    since = leg.bad_since if leg.bad_since is not None else moment.looks
    spent = moment.looks - since
    if spent < leg.rules.evidence:
        return _wait(leg, leg.reading.words, spent)
    said = f"{leg.reading.words}; read again for {spell(spent)}"
    rules = (*evidence_rules(leg, workload, moment.ages), waited(READABLE, spent, leg.rules.evidence))
    return leg, Finding(Outcome.ERROR, leg.reading.reason, said, rules), None


def _wait(leg: LegState, what: str, spent: float) -> Concluded:
    if leg.told or spent <= 0:
        return leg, None, None
    budget = spell(leg.rules.evidence)
    say = Say(
        "evidence_waiting", leg.rules.id, f"{what}; read again for up to {budget}", {"budget": leg.rules.evidence}
    )
    return replace(leg, told=True), None, say


def _by_time(leg: LegState, workload: WorkloadState, moment: Moment) -> Finding | None:
    return _queue(leg, workload, moment) or _silence(leg, workload, moment) or _outage(leg, workload, moment)


def _queue(leg: LegState, workload: WorkloadState, moment: Moment) -> Finding | None:
    if not workload.pending or not moment.seen or workload.seen is None or workload.missing_lists:
        return None
    queued = clock_reading(moment.now, "queue") - workload.pending_boot
    started = leg.view is not None and bool(leg.view.incarnations)
    # A leg that has started while the engine still says Pending is not queueing: phases lag. One that was sent back to
    # the queue has nothing that moves.
    if queued <= moment.rules.poll.queue or (started and leg.stamp_boot >= workload.pending_boot):
        return None
    seen = workload.seen
    budget = spell(moment.rules.poll.queue)
    message = f": {seen.message}" if seen.message else ""
    if seen.reason in ("image_unavailable", "unschedulable"):
        reason, said = REASONS[seen.reason], f"the workload {WORDS[seen.reason]}{message}"
    elif started or workload.pending_boot > 0.0 or seen.reason == "preempted" or seen.restarts:
        # It ran before, if only for a moment between two looks.
        reason, said = Reason.EVICTED, f"the workload was sent back to the queue{message}"
    else:
        reason, said = Reason.NEVER_STARTED, f"the workload never started{message}"
    said = f"{said}; queued for {spell(queued)}, allowed are {budget}"
    rules = (*evidence_rules(leg, workload, moment.ages), waited(QUEUE, queued, moment.rules.poll.queue))
    return Finding(Outcome.ERROR, reason, said, rules)


def _silence(leg: LegState, workload: WorkloadState, moment: Moment) -> Finding | None:
    budget = leg.rules.silence
    if budget is None or leg.reading.kind != "running":
        return None
    quiet = moment.clear - leg.state_clear
    if quiet < budget:
        return None
    said = f"the state file has not changed for {spell(quiet)}, allowed are {spell(budget)}; {leg.reading.words}"
    rules = (*evidence_rules(leg, workload, moment.ages), waited(EVER, quiet, budget))
    return Finding(Outcome.ERROR, Reason.SILENT, said, rules)


def _outage(leg: LegState, workload: WorkloadState, moment: Moment) -> Finding | None:
    outage = moment.outage
    if outage is None or outage.ticks < MIN_BLIND_TICKS:
        return None
    still = moment.looks - max(outage.since, leg.stamp_looks)
    if still < moment.rules.poll.outage:
        return None
    detail = f" ({outage.detail})" if outage.detail else ""
    said = f"the engine {API_WORDS[outage.kind]}{detail}, and nothing of the leg moved for {spell(still)}"
    silent = Rule(
        "the engine answers",
        f"{outage.ticks} polls in a row failed; the last one: {outage.kind}{detail}",
        ENGINE,
        holds=False,
        age=0.0,
    )
    rules = (*evidence_rules(leg, workload, moment.ages), silent, waited(MOVES, still, moment.rules.poll.outage))
    return Finding(Outcome.ERROR, API_REASONS[outage.kind], said, rules)


def _error(leg: LegState, workload: WorkloadState, reason: Reason, said: str, rule: str, moment: Moment) -> Finding:
    return Finding(Outcome.ERROR, reason, said, evidence_rules(leg, workload, moment.ages, decides=rule))
