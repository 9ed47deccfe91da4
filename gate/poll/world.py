"""The real world of a poller: run directory, engine, this machine's clocks and signals, reporters."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gate import places
from gate.adapters.clock import SystemClock
from gate.adapters.signals import SystemSignals
from gate.contracts import Engine, Reporter
from gate.poll.given import Identity, PollWorld
from gate.poll.superseding import NeverSuperseded
from gate.report.events import heading_of
from gate.report.jsonlines import JsonLines
from gate.report.lines import PlainLines
from gate.rundir.cancels import FileCancelNotes
from gate.rundir.files import FileStore
from gate.rundir.formats import Attempt
from gate.rundir.legfiles import FileLegFiles

Show = Literal["auto", "plain", "stderr"]
"""auto: a live board on a terminal, else plain lines. plain: lines on stdout. stderr: lines that disturb no pipe."""


@dataclass(frozen=True, slots=True)
class Showing:
    """What of a poll is shown where. `events`: a file that gets every event as a line of JSON."""

    show: Show = "auto"
    events: Path | None = None


@asynccontextmanager
async def open_world(
    run_dir: Path, attempt: Attempt, engine: Engine, me: Identity, showing: Showing
) -> AsyncIterator[PollWorld]:
    """The world of one poller of `attempt`, whose run directory is `run_dir`. The engine stays the caller's to close.

    Signal handlers are in place inside. Raises UsageError where `events` cannot be written.
    """
    async with AsyncExitStack() as stack:
        reporters = _reporters(attempt, showing)
        for reporter in reporters:
            stack.push_async_callback(reporter.aclose)
        signals = await stack.enter_async_context(SystemSignals().installed())
        yield PollWorld(
            me=me,
            clock=SystemClock(),
            store=FileStore(run_dir),
            engine=engine,
            legs=FileLegFiles(run_dir, attempt.plan.reader),
            signals=signals,
            cancels=FileCancelNotes(places.cancel_notes()),
            supersede=NeverSuperseded(),
            reporters=reporters,
        )


def _reporters(attempt: Attempt, showing: Showing) -> Sequence[Reporter]:
    heading = heading_of(attempt)
    reporters: list[Reporter] = []
    if showing.events is not None:
        reporters.append(JsonLines(showing.events, heading))
    if showing.show == "auto" and sys.stdout.isatty():
        from gate.report.board import Board  # noqa: PLC0415 - rich, and only where there is a terminal

        reporters.append(Board(heading))
    else:
        reporters.append(PlainLines(heading, sys.stderr if showing.show == "stderr" else sys.stdout))
    return reporters
