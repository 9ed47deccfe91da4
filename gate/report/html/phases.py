"""A leg's phases on the page's axis, from what the engine said and from what the leg did."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gate.report.html.page import Gap, Span, SpanKind

OF_POINTER: dict[str, SpanKind] = {
    "prepare": "prepare",
    "setup": "setup",
    "launch": "launch",
    "wait": "run",
    "ended": "read",
}
OWN = ("prepare", "setup", "launch", "run")
"""Phases that the leg itself tells of."""
GAPS = 8
SHARE = 0.03
"""A gap is shown from this share of the time in which the state file was written,"""
USUAL = 2.0
"""and from so many times the leg's usual one."""


@dataclass(frozen=True, slots=True)
class Change:
    """From `at` on the leg is in `phase`."""

    at: float
    phase: SpanKind


def spans_of(engine: Sequence[tuple[str, float]], own: Sequence[Change], end: float | None) -> tuple[Span, ...]:
    """Phases up to `end` (None: now, and they go on). `engine`: its word on the workload (pending, running, over)."""
    found: list[tuple[SpanKind, float]] = []
    ran = False
    for change, from_engine in _merged(engine, own):
        now: SpanKind | None = found[-1][0] if found else None
        if from_engine and change.phase == "start":
            # The engine's phases lag: a leg that has begun is not starting any more.
            if now in OWN or now == "read":
                ran = True
                continue
            ran = True
        if from_engine and change.phase == "queue" and now is not None and not ran:
            continue
        if change.phase != now and not (from_engine and change.phase == "read" and now is None):
            found.append((change.phase, change.at))
    return tuple(_closed(found, end))


def _merged(engine: Sequence[tuple[str, float]], own: Sequence[Change]) -> list[tuple[Change, bool]]:
    words: dict[str, SpanKind] = {"pending": "queue", "running": "start", "over": "read"}
    said = [(Change(at, words[phase]), True) for phase, at in engine]
    if said:
        said[0] = (Change(min(0.0, said[0][0].at), "queue"), True)
        if engine[0][0] != "pending":
            said.insert(1, (Change(engine[0][1], words[engine[0][0]]), True))
    told = [(change, False) for change in own]
    return sorted([*said, *told], key=lambda each: (each[0].at, not each[1]))


def _closed(found: Sequence[tuple[SpanKind, float]], end: float | None) -> Iterable[Span]:
    for index, (kind, begin) in enumerate(found):
        until = found[index + 1][1] if index + 1 < len(found) else end
        if end is not None:
            if begin >= end and found[0][1] != begin:
                return
            until = end if until is None else min(until, end)
        if until is None or until > begin:
            yield Span(kind, begin, until)


def gaps_of(writes: Sequence[float], end: float, *, going: bool) -> tuple[Gap, ...]:
    """The times between two writes, and since the last one until `end`, that are long for this leg; in order."""
    if not writes:
        return ()
    stops = [*writes[1:], end]
    usual = statistics.median(stop - begin for begin, stop in zip(writes, stops, strict=True))
    least = max(1.0, SHARE * (end - writes[0]), USUAL * usual if len(writes) > 1 else 0.0)
    pairs = [(begin, stop) for begin, stop in zip(writes, stops, strict=True) if stop - begin >= least]
    longest = sorted(sorted(pairs, key=lambda pair: pair[0] - pair[1])[:GAPS])
    return tuple(Gap(begin, None if going and stop == end else stop) for begin, stop in longest)
