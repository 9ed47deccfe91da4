"""What the poller could see of a leg when: the truth through the faults that were in its way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from gate.simulate.menu import MENU
from gate.simulate.played import Played
from gate.simulate.scenario import Fault

LOOK = 5.0
"""Seconds from a look at a leg's files to the verdict that rests on it, at the most."""

BLURRED = frozenset(("state_unreadable", "state_stale", "state_foreign", "state_delayed"))
"""The poller sees something else than what is there."""
VIEW_FAULTS = BLURRED | {"state_torn", "state_empty", "state_backwards", "state_two", "state_stray", "state_types"}
ROOT_FAULTS = frozenset(("disk_full", "root_hangs", "root_gone"))
CLOCK_FAULTS = frozenset(("clock_skew", "clock_jump"))
API_FAULTS = frozenset(
    (
        *("api_refused", "api_timeout", "api_401", "api_403", "api_404", "api_5xx", "api_html"),
        *("api_slow", "api_incomplete"),
    )
)


def settled_by(at: float) -> float:
    """What was there by then could be seen by the look on which a verdict of `at` rests."""
    return at - LOOK


def befell(played: Played, kinds: frozenset[str], leg: str | None = None) -> Iterator[Fault]:
    """Faults of these kinds that concern this leg (any, where None)."""
    for fault in played.scenario.faults:
        if fault.kind in kinds and (leg is None or concerns(fault, leg)):
            yield fault


def concerns(fault: Fault, leg: str) -> bool:
    """Does it hit this leg (or its workload)?"""
    return not fault.legs or any(fnmatchcase(leg, pattern) for pattern in fault.legs)


def lag(played: Played, leg: str) -> float:
    """Seconds by which the poller may see the leg's files late."""
    late = [
        fault.seconds if fault.seconds is not None else MENU[fault.kind].seconds or 0.0
        for fault in befell(played, frozenset(("state_delayed",)), leg)
    ]
    stale = [
        fault.lasts if fault.lasts is not None else MENU[fault.kind].lasts or 0.0
        for fault in befell(played, frozenset(("state_stale", "state_foreign")), leg)
    ]
    return max(late, default=0.0) + sum(stale)


def disturbed(played: Played, leg: str) -> bool:
    """May the poller have seen something else of this leg than what was there?"""
    return any(befell(played, VIEW_FAULTS, leg)) or any(befell(played, ROOT_FAULTS))


def overlap(windows: Sequence[tuple[float, float]], since: float, until: float) -> float:
    """Seconds of [since, until] that lie in any of `windows`."""
    total, end = 0.0, since
    for begin_, stop_ in sorted(windows):
        begin, stop = max(begin_, end), min(stop_, until)
        if stop > begin:
            total += stop - begin
            end = stop
    return total


def unwatched(played: Played, tag: str, since: float, until: float) -> list[tuple[float, float]]:
    """Windows in [since, until] in which no poller of this attempt lived."""
    lives = sorted(
        (poll.began, poll.ended) for attempt in played.attempts if attempt.attempt.tag == tag for poll in attempt.polls
    )
    gaps, end = [], since
    for began, ended in lives:
        if began > end:
            gaps.append((end, min(began, until)))
        end = max(end, ended)
    if end < until:
        gaps.append((end, until))
    return [(a, b) for a, b in gaps if b > a]
