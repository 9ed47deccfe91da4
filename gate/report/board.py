"""The live board of a terminal: a row a leg, redrawn each second, with what happened written above it for good."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from rich.console import Console, RenderableType
from rich.live import Live
from rich.text import Text

from gate.contracts import Event
from gate.machines.verdict import Outcome, Verdict
from gate.report.board_frame import GLYPHS, STYLES, Frame, render
from gate.report.events import Heading, decision_of, rows_of, verdict_of
from gate.report.lines import opening
from gate.report.outlet import Outlet
from gate.report.text import clock, plain

BEAT = 1.0
"""Seconds between two frames when nothing happens."""
SHOWN_IN_ROWS = frozenset({"tick", "phase", "leg_phase", "decision"})
"""Kinds that the board itself shows: no line is written above it for them."""


class Board:
    """A reporter for a terminal. `rate`: seconds of the gate's time in a second of ours (simulations)."""

    def __init__(
        self,
        heading: Heading,
        console: Console | None = None,
        *,
        rate: float = 1.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console = console or Console(highlight=False, markup=False, emoji=False)
        self._frame = Frame(heading)
        self._looked = now()
        self._rate = rate
        self._now = now
        self._live = Live(
            console=self._console, auto_refresh=False, get_renderable=self._render, vertical_overflow="crop"
        )
        self._outlet: Outlet[Event] = Outlet("the board", self._write, finish=self._finish, beat=BEAT)

    async def emit(self, event: Event) -> None:
        """Show it, in the next frame or above."""
        self._outlet.put(event)

    async def aclose(self) -> None:
        """Draw the last frame and give the terminal back."""
        await self._outlet.aclose()

    def _write(self, event: Event | None) -> None:
        if not self._live.is_started:
            self._console.print(Text(opening(self._frame.heading), style="dim"))
            self._live.start()
        if event is not None:
            self._take(event)
        if event is None or not self._outlet.waiting:
            self._live.refresh()

    def _take(self, event: Event) -> None:
        if event.kind == "tick":
            data = event.data
            self._frame = replace(
                self._frame,
                rows=rows_of(event),
                engine=data["engine"],
                engine_detail=data["engine_detail"],
                engine_blind=data["engine_blind"],
                root_blind=data["root_blind"],
            )
        if event.kind in ("tick", "decision"):
            decision = decision_of(event)
            frame = self._frame if decision is None else self._frame.decided(decision)
            self._frame = replace(frame, elapsed=event.elapsed)
            self._looked = self._now()
        verdict = verdict_of(event)
        if verdict is not None:
            self._verdict(event, verdict)
        elif event.kind not in SHOWN_IN_ROWS:
            self._above(event, Text(f"{plain(event.leg)}: " if event.leg else "").append(plain(event.text)))

    def _verdict(self, event: Event, verdict: Verdict) -> None:
        if event.data.get("again") or verdict.outcome is Outcome.NOT_JUDGED or verdict.carried_from is not None:
            return  # the rows show them; a thousand lines of "not judged" would bury the leg that decided
        word = verdict.outcome.value
        line = Text.assemble(
            (f"{GLYPHS[word]} {word}", STYLES[word]), f" {plain(verdict.leg)}: ", plain(verdict.sentence)
        )
        self._above(event, line)

    def _above(self, event: Event, line: Text) -> None:
        self._console.print(Text(f"{clock(event.elapsed)} ", style="dim").append_text(line))

    def _render(self) -> RenderableType:
        passed = 0.0 if self._frame.decision is not None else (self._now() - self._looked) * self._rate
        size = self._console.size
        return render(self._frame.later(max(0.0, passed)), size.width, size.height)

    def _finish(self) -> None:
        if self._live.is_started:
            self._live.refresh()
            self._live.stop()
