"""A restart at any instant changes no written verdict and no PASS or FAIL.

The same scenario is played without the deaths of pollers, and the two plays are held against each other. An ERROR that
time decides may come later, within the allowance, or give way to evidence that arrived meanwhile; so may the
NOT_JUDGED that it causes. That no written verdict changes is checked within each play.
"""

from __future__ import annotations

from collections.abc import Iterator

from gate.campaign.views import CLOCK_FAULTS, befell, disturbed, overlap, unwatched
from gate.machines.verdict import Outcome, Reason, Verdict
from gate.simulate.draw import window_of
from gate.simulate.played import Played, PlayedAttempt

DEATHS = frozenset(("kill_poller",))
FULL = frozenset(("disk_full",))
MEASURED = (Outcome.PASS, Outcome.FAIL)
FROM_OUTSIDE = (Reason.CANCELLED, Reason.SUPERSEDED)
TIMED = frozenset(
    (
        *(Reason.NEVER_STARTED, Reason.IMAGE_UNAVAILABLE, Reason.UNSCHEDULABLE, Reason.SILENT, Reason.POLL_DEADLINE),
        *(Reason.API_REFUSED, Reason.API_REJECTED, Reason.API_TIMED_OUT, Reason.API_GONE, Reason.API_ERROR),
        *(Reason.EVIDENCE_MALFORMED, Reason.EVIDENCE_UNREADABLE, Reason.EVIDENCE_AMBIGUOUS, Reason.EVIDENCE_FOREIGN),
        *(Reason.VANISHED, Reason.ENDED_WITHOUT_RESULT, Reason.CREATE_UNCLEAR, Reason.OUT_OF_MEMORY, Reason.EVICTED),
        *(Reason.NODE_LOST, Reason.WORKLOAD_TIMEOUT, Reason.WORKLOAD_STOPPED),
    )
)
"""Errors that the poller comes to by waiting: for a budget, or for evidence that is read again."""
PASSING = frozenset(
    (Reason.SILENT, Reason.API_REFUSED, Reason.API_REJECTED, Reason.API_TIMED_OUT, Reason.API_GONE, Reason.API_ERROR)
)
"""What brings these about may pass while nobody looks, and come again later."""


def comparable(played: Played) -> bool:
    """Did a poller die, so that the play without its death is worth the time?"""
    return any(kill.role == "poller" for kill in played.kills)


def compare(played: Played, calm: Played) -> Iterator[str]:
    """`calm` is the same scenario without those deaths. A later attempt begins at another time: only first ones."""
    pairs = zip(played.attempts[:1], calm.attempts[:1], strict=True) if played.attempts and calm.attempts else ()
    for one, other in pairs:
        for leg in one.attempt.plan.legs:
            was, now = other.standing.get(leg.id), one.standing.get(leg.id)
            if was is None or now is None or {was.reason, now.reason} & set(FROM_OUTSIDE):
                continue
            yield from _leg(_Pair(played, one, was, now))


class _Pair:
    """One leg's verdict in both plays."""

    def __init__(self, played: Played, one: PlayedAttempt, was: Verdict, now: Verdict) -> None:
        self.played = played
        self.one = one
        self.was = was
        self.now = now

    def allowance(self) -> float:
        """Seconds by which an error may come later: down time, and blind time, which budgets leave out."""
        poll, first = self.one.attempt.plan.poll, self.one.first_poll or 0.0
        last = max((each.ended for each in self.one.polls), default=first)
        windows = unwatched(self.played, self.one.attempt.tag, first, last)
        windows += [(blind.since, blind.until) for blind in self.played.blind if blind.process.startswith("poller")]
        # What a poller saw while nothing could be written down is lost with it.
        windows += [window_of(fault) for fault in befell(self.played, FULL)]
        return overlap(windows, first, last) + poll.skew + 2 * poll.interval * (1 + len(self.one.polls))


def _leg(pair: _Pair) -> Iterator[str]:
    was, now = pair.was, pair.now
    words = (
        f"{was.leg} is {now.outcome.value} ({now.reason.value}), "
        f"and {was.outcome.value} ({was.reason.value}) where no poller dies"
    )
    if was.outcome in MEASURED and now.outcome in MEASURED:
        if was.outcome is not now.outcome:
            yield words
    elif was.outcome in MEASURED:
        # a start that came while nobody watched hides what the start before it had left
        if not disturbed(pair.played, was.leg) and now.reason is not Reason.WORKLOAD_RESTARTED:
            yield words
    elif now.outcome in MEASURED:
        if was.outcome is Outcome.ERROR and was.reason not in TIMED:
            yield words
    elif was.outcome is now.outcome is Outcome.ERROR and was.reason is now.reason in TIMED - PASSING:
        late = now.elapsed - was.elapsed
        if late > pair.allowance() and not any(befell(pair.played, CLOCK_FAULTS)):
            yield f"{words}, {late:.0f} s later; allowed are {pair.allowance():.0f} s"
