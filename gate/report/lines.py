"""Plain lines for logs: one a change, with wall time and running time; a summary when nothing was said for long."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import TextIO

from gate.contracts import Event
from gate.machines.duration import spell
from gate.machines.rows import LegRow
from gate.report.events import QUIET, Heading, rows_of
from gate.report.outlet import Outlet
from gate.report.text import clock, plain, stamp

SUMMARY = 600.0
"""Seconds without a line after which a summary is written: a CI log that stands still looks hung."""


class PlainLines:
    """A reporter that writes lines to a stream (stdout)."""

    def __init__(self, heading: Heading, stream: TextIO | None = None, *, summary: float = SUMMARY) -> None:
        self._stream = stream if stream is not None else sys.stdout
        self._heading: Heading | None = heading
        self._summary = summary
        self._last = 0.0
        self._width = max((len(leg) for leg, _, _ in heading.legs), default=0)
        self._outlet: Outlet[Event] = Outlet("the log", self._write)

    async def emit(self, event: Event) -> None:
        """Write a line, where the event is one."""
        self._outlet.put(event)

    async def aclose(self) -> None:
        """Write what is left."""
        await self._outlet.aclose()

    def _write(self, event: Event | None) -> None:
        if event is None:
            return
        if self._heading is not None:
            said, self._heading = opening(self._heading), None
            self._line(event, None, said)
        if event.kind not in QUIET and not event.data.get("again"):
            self._line(event, event.leg, event.text)
        elif event.kind == "tick" and event.elapsed - self._last >= self._summary:
            self._line(event, None, summary(rows_of(event)))

    def _line(self, event: Event, leg: str | None, text: str) -> None:
        self._last = event.elapsed
        who = f"{plain(leg)}:".ljust(min(self._width, 40) + 2) if leg is not None else ""
        self._stream.write(f"{stamp(event.at)} +{clock(event.elapsed)} {who}{plain(text)}\n")
        self._stream.flush()


def opening(heading: Heading) -> str:
    """The first line of a report."""
    count = len(heading.legs)
    blocking = sum(blocks for _, blocks, _ in heading.legs)
    scope = "" if heading.scope == "full" else f", scope {heading.scope}"
    return (
        f"gate {heading.gate} {heading.version}: run {heading.run}, attempt {heading.attempt}{scope}; "
        f"{count} leg{'s' * (count != 1)}, {blocking} blocking"
    )


def summary(rows: Sequence[LegRow]) -> str:
    """Where all legs are, in one line: `2 running, 1 queued, 3 PASS; quiet the longest: a (12 min)`."""
    counts = Counter(row.outcome.value if row.outcome is not None else row.phase for row in rows)
    said = ", ".join(f"{count} {word}" for word, count in counts.most_common()) or "no legs"
    quiet = max((row for row in rows if row.changed is not None), key=lambda row: row.changed or 0.0, default=None)
    return said if quiet is None else f"{said}; quiet the longest: {quiet.leg} ({spell(quiet.changed or 0.0)})"
