"""No PASS and no FAIL without fresh, owned, parsed evidence: held against what really lay on the disk."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from gate.campaign.oracle import truth
from gate.campaign.views import lag, settled_by
from gate.machines.verdict import Evidence, Outcome, Reason, Verdict
from gate.plan.model import LegPlan
from gate.simulate.played import Played, PlayedAttempt, StateWritten


def check(played: Played) -> Iterator[str]:
    """Every PASS and FAIL that was ever written, carried ones held against what they are carried from."""
    for attempt in played.attempts:
        for written in attempt.verdicts:
            verdict = written.verdict
            if verdict.outcome not in (Outcome.PASS, Outcome.FAIL):
                continue
            problem = (
                _measured(played, attempt, verdict, written.at)
                if verdict.carried_from is None
                else _carried(played, attempt, verdict)
            )
            if problem:
                yield f"{verdict.leg} is {verdict.outcome.value} under {verdict.tag}, and {problem}"


def _carried(played: Played, attempt: PlayedAttempt, verdict: Verdict) -> str:
    origin = next((one for one in played.attempts if one.attempt.tag == verdict.carried_from), None)
    if origin is None:
        return f"is carried from {verdict.carried_from}, which is no attempt of this run"
    if verdict.outcome is not Outcome.PASS:
        return "is carried although it is no PASS"
    stood = origin.standing.get(verdict.leg)
    if stood is None or stood.outcome is not Outcome.PASS:
        return f"is carried from {verdict.carried_from}, where it did not pass"
    if origin.attempt.plan.leg(verdict.leg).digest != attempt.attempt.plan.leg(verdict.leg).digest:
        return "is carried although its digest differs"
    return ""


def _measured(played: Played, attempt: PlayedAttempt, verdict: Verdict, at: float) -> str:
    leg = attempt.attempt.plan.leg(verdict.leg)
    workload = next(w.id for w in attempt.attempt.plan.workloads if leg.id in w.legs)
    tag = attempt.attempt.adopted.get(workload, attempt.attempt.tag)
    evidence = verdict.evidence
    if evidence is None or not evidence.state.sha256:
        return "rests on no evidence at all"
    if evidence.tag != tag:
        return f"its evidence is of tag {evidence.tag}, not {tag}"
    states = [one for one in played.states if (one.leg, one.tag) == (leg.id, tag) and one.at <= at]
    found = [one for one in states if _is(one, evidence)]
    if not found:
        return f"no run of it ever wrote what its evidence shows ({evidence.state.path})"
    if all(one.planted for one in found):
        return "its evidence was planted, not written by its run"
    stale = _restarted(played, leg, tag, evidence, at)
    return stale or _amounts(found[-1], leg, verdict)


def _is(one: StateWritten, evidence: Evidence) -> bool:
    return (
        one.data is not None
        and one.incarnation == evidence.incarnation
        and one.path == evidence.state.path
        and sha256(one.data).hexdigest() == evidence.state.sha256
    )


def _restarted(played: Played, leg: LegPlan, tag: str, evidence: Evidence, at: float) -> str:
    """Evidence of an earlier start, although a later one was long visible; of any later one where none is allowed."""
    starts = [life for life in played.legs if (life.leg, life.tag) == (leg.id, tag) and life.incarnation]
    seen = settled_by(at) - lag(played, leg.id)
    newest = max(
        (life for life in starts if life.began <= seen), key=lambda life: (life.began, life.incarnation), default=None
    )
    if newest is not None and newest.incarnation != evidence.incarnation:
        return f"its evidence is of start {evidence.incarnation}, though {newest.incarnation} had begun"
    first = min(starts, key=lambda life: (life.began, life.incarnation), default=None)
    if first is not None and not leg.allow_restart and evidence.incarnation != first.incarnation:
        return f"it was started again ({evidence.incarnation}), which it does not allow"
    return ""


def _amounts(state: StateWritten, leg: LegPlan, verdict: Verdict) -> str:
    assert state.data is not None
    really = truth(state.data, leg.judge)
    wanted = "pass" if verdict.outcome is Outcome.PASS or verdict.reason is Reason.FLAKY else "fail"
    return "" if really == wanted else f"its evidence amounts to {really}"
