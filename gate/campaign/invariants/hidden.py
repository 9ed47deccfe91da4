"""Nothing that was readable at the deciding tick is hidden by fail-fast, by an error, or by the scheduler's word."""

from __future__ import annotations

from collections.abc import Iterator

from gate.campaign.oracle import truth
from gate.campaign.views import disturbed, settled_by
from gate.machines.verdict import Outcome, Reason, Verdict
from gate.simulate.played import Played, PlayedAttempt

SKIPPED = (Reason.CANCELLED, Reason.SUPERSEDED)
"""What ends an attempt from outside looks at nothing any more: what its last look could judge is judged."""


def check(played: Played) -> Iterator[str]:
    """A leg without a measurement had nothing measurable on disk when that was decided."""
    for one in played.attempts:
        for written in one.verdicts:
            verdict = written.verdict
            if not written.effect or verdict.outcome in (Outcome.PASS, Outcome.FAIL) or verdict.reason in SKIPPED:
                continue
            at = one.first_poll + verdict.elapsed if one.first_poll is not None else written.at
            really = _readable(played, one, verdict, min(at, written.at))
            if really is not None:
                word = f"{verdict.outcome.value} ({verdict.reason.value})"
                yield f"{verdict.leg} is {word}, and its state file says {really}"


def _readable(played: Played, one: PlayedAttempt, verdict: Verdict, at: float) -> str | None:
    """What an undisturbed look shortly before `at` shows, where that is a measurement."""
    leg = one.attempt.plan.leg(verdict.leg)
    if disturbed(played, leg.id):
        return None
    workload = next(w.id for w in one.attempt.plan.workloads if leg.id in w.legs)
    tag = one.attempt.adopted.get(workload, one.attempt.tag)
    starts = [life for life in played.legs if (life.leg, life.tag) == (leg.id, tag) and life.began < at]
    if not starts or (len(starts) > 1 and not leg.allow_restart):
        return None
    last = max(starts, key=lambda life: life.began)
    found: dict[str, bytes | None] = {}
    for state in played.states:
        own = (state.leg, state.tag, state.incarnation) == (leg.id, tag, last.incarnation) and not state.planted
        if own and state.at <= settled_by(at):
            found[state.path] = state.data
    held = [data for data in found.values() if data is not None]
    pointed = any(pointer.state for at_, pointer in last.pointers if at_ <= settled_by(at))
    if len(held) != 1 or not pointed:
        return None
    really = truth(held[0], leg.judge)
    return really if really in ("pass", "fail") else None
