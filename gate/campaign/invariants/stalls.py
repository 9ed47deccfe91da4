"""Stall and silence budgets are not charged for blind time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gate.campaign.views import VIEW_FAULTS, befell, overlap, unwatched
from gate.machines.verdict import Outcome, Reason
from gate.simulate.draw import window_of
from gate.simulate.played import LegLife, Played, PlayedAttempt, WrittenVerdict

STALLS = (Reason.SETUP_STALLED, Reason.TASK_STALLED, Reason.LAUNCH_FAILED)
ASKED = ("redrive", "finish_launch")
"""Turns that a stall brings about."""
UNHEARD = ("no_start", "session_used", "session_lost", "unavailable")
"""Ends of a turn whose prompt nobody read: it is sent again."""
HIDDEN = frozenset(("root_hangs", "root_gone"))
ROUNDING = 1.0


def check_legs(played: Played) -> Iterator[str]:
    """A leg that says that nothing changed for its budget has had so much time without a turn, and could see."""
    plans = {one.attempt.tag: one.attempt.plan for one in played.attempts}
    for life in played.legs:
        plan = plans.get(life.tag)
        if plan is None:
            continue
        budget = plan.leg(life.leg).budgets.stall
        for turn in life.turns:
            earlier = [one for one in life.turns if one.ordinal < turn.ordinal]
            seen = _quiet(played, replace(life, turns=tuple(earlier)), turn.began, since_last=True)
            before = next((one for one in life.turns if one.ordinal == turn.ordinal - 1), None)
            unheard = before is not None and before.end in UNHEARD
            if turn.kind in ASKED and not unheard and seen < budget - ROUNDING:
                yield f"{life.leg} was asked to go on after {seen:.0f} s of seen quiet, allowed are {budget:.0f} s"
        for at, result in life.results[:1]:
            if result.reason not in STALLS:
                continue
            seen = _quiet(played, life, at, since_last=result.reason is not Reason.SETUP_STALLED)
            if seen < budget - ROUNDING:
                why = f"after {seen:.0f} s of seen quiet, allowed are {budget:.0f} s"
                yield f"{life.leg} ended as {result.reason.value} {why}"


def _quiet(played: Played, life: LegLife, at: float, *, since_last: bool) -> float:
    """Seconds outside turns and blind time, at the most."""
    ended = [turn.ended for turn in life.turns if turn.ended <= at]
    since = max(ended, default=life.began) if since_last else life.began
    windows = [(turn.began, turn.ended) for turn in life.turns]
    windows += [window_of(f) for f in befell(played, HIDDEN) if f.who in (None, "workload")]
    return at - since - overlap(windows, since, at)


def check_silence(played: Played) -> Iterator[str]:
    """A leg judged silent has been seen to be so, by a poller that could see."""
    for one in played.attempts:
        for written in one.verdicts:
            verdict = written.verdict
            if verdict.outcome is Outcome.ERROR and verdict.reason is Reason.SILENT:
                yield from _silent(played, one, written)


def _silent(played: Played, one: PlayedAttempt, written: WrittenVerdict) -> Iterator[str]:
    leg = one.attempt.plan.leg(written.verdict.leg)
    budget = leg.budgets.silence
    if budget is None:
        yield f"{leg.id} is silent, and has no silence budget"
        return
    if any(befell(played, VIEW_FAULTS, leg.id)) or _repeats(played, leg.id):
        return
    at = min(written.at, (one.first_poll or 0.0) + written.verdict.elapsed)
    workload = next(w.id for w in one.attempt.plan.workloads if leg.id in w.legs)
    # Under another tag it may go on too, kept for somebody to look at: that is not what this attempt judges.
    changes = _changes(played, leg.id, one.attempt.adopted.get(workload, one.attempt.tag), at - ROUNDING)
    since = max(changes, default=one.first_poll or 0.0)
    windows = [(b.since, b.until) for b in played.blind if b.process.startswith("poller")]
    windows += unwatched(played, one.attempt.tag, since, at)
    seen = at - since - overlap(windows, since, at)
    if seen < budget - ROUNDING:
        yield f"{leg.id} is silent after {seen:.0f} s that could be seen, allowed are {budget:.0f} s"


def _repeats(played: Played, leg: str) -> bool:
    """Did it write again what it had written before, so that two looks may have met the same?"""
    written = [(state.tag, state.data) for state in played.states if state.leg == leg]
    return len(set(written)) < len(written)


def _changes(played: Played, leg: str, tag: str, until: float) -> Iterator[float]:
    """When the leg's state files changed: what is written again as it was is no change."""
    last: dict[str, bytes | None] = {}
    for state in played.states:
        if state.leg == leg and state.tag == tag and state.at <= until and not state.planted:
            if last.get(state.path) != state.data:
                yield state.at
            last[state.path] = state.data
