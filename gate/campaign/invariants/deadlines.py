"""Poll ends before its deadline; bootstrap returns before its workload's time-out."""

from __future__ import annotations

from collections.abc import Iterator

from gate.campaign.views import CLOCK_FAULTS, befell, overlap, unwatched
from gate.poll.ending import SETTLE
from gate.simulate.played import Played, PlayedAttempt

GRACE = 60.0
"""Seconds for a poller that is started when the deadline is past to find that out."""


def check_poll(played: Played) -> Iterator[str]:
    """Measured from the attempt's first poll, whoever polled."""
    for one in played.attempts:
        if one.first_poll is None:
            continue
        poll = one.attempt.plan.poll
        deadline = one.first_poll + poll.deadline + _lost(played, one)
        for each in one.polls:
            late = each.began + 3 * poll.interval + GRACE + SETTLE
            if each.exit_code is not None and each.ended > max(deadline, late):
                yield f"{each.process} ended {each.ended - deadline:.0f} s after the poll deadline"


def _lost(played: Played, one: PlayedAttempt) -> float:
    """What a wall clock that was set back may hide of the time in which nobody polled."""
    if one.first_poll is None or not any(befell(played, CLOCK_FAULTS)):
        return 0.0
    last = max((poll.ended for poll in one.polls), default=one.first_poll)
    gaps = unwatched(played, one.attempt.tag, one.first_poll, last)
    back = sum(abs(fault.seconds or 900.0) for fault in befell(played, CLOCK_FAULTS))
    return min(overlap(gaps, one.first_poll, last), back * max(1, len(gaps)))


def check_bootstrap(played: Played) -> Iterator[str]:
    """Nothing but a death keeps bootstrap from returning before its workload's time-out."""
    for workload in played.workloads:
        for life in workload.bootstraps:
            if life.exit_code is not None and (life.ended >= life.deadline or life.forced):
                how = "by force" if life.forced else "when it was asked"
                yield f"{workload.name}: bootstrap ended {how}, {life.ended - life.deadline:.0f} s after the time-out"
