"""Writing the leg's journal, pointer and result, in order, although the shared root may not answer for a while.

Whatever cannot be written now is kept and tried again: a cut-off share delays a leg's record and never the leg.
Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

import anyio

from gate.contracts import Clock, LegHome
from gate.documents import Json
from gate.errors import StoreError
from gate.rundir.formats import LegResult, Pointer

RETRY_FIRST = 0.5
RETRY_LAST = 5.0
"""Seconds between attempts to write while the root does not answer, from the first pause to the longest."""
KEPT = 1000
"""Journal entries that are kept meanwhile; the oldest ones go first, and the journal says how many."""


class Ledger:
    """The leg's own records. `serve` writes them; everything else only says what is to be written."""

    def __init__(self, home: LegHome, clock: Clock) -> None:
        self._home = home
        self._clock = clock
        self._entries: deque[Mapping[str, Json]] = deque()
        self._dropped = 0
        self._pointer: Pointer | None = None
        self._result: LegResult | None = None
        self._opened = anyio.Event()
        self._work = anyio.Event()
        self._idle = anyio.Event()
        self._idle.set()
        self.problem = ""
        """Why the last attempt to write failed; "" where it did not."""

    def note(self, entry: Mapping[str, Json]) -> None:
        """Add one entry to the journal."""
        if len(self._entries) >= KEPT:
            self._entries.popleft()
            self._dropped += 1
        self._entries.append(entry)
        self._wake()

    def point(self, pointer: Pointer) -> None:
        """Rewrite the session pointer; a later one replaces one that was not written yet."""
        self._pointer = pointer
        self._wake()

    def conclude(self, result: LegResult) -> None:
        """Write (or rewrite) the leg's result."""
        self._result = result
        self._wake()

    async def settled(self, budget: float) -> bool:
        """Wait until everything is written, at most `budget` seconds. False: something is not."""
        with anyio.move_on_after(budget):
            await self._idle.wait()
        return self._idle.is_set()

    def open(self) -> None:
        """The leg's directory is there: what was said until now can be written."""
        self._opened.set()

    async def serve(self) -> None:
        """Write until cancelled."""
        await self._opened.wait()
        pause = RETRY_FIRST
        while True:
            await self._work.wait()
            self._work = anyio.Event()
            try:
                await self._write()
            except StoreError as error:
                self.problem = str(error)
                self._work.set()
                await self._clock.sleep(pause)
                pause = min(2 * pause, RETRY_LAST)
                continue
            self.problem, pause = "", RETRY_FIRST
            if not self._pending():
                self._idle.set()

    async def _write(self) -> None:
        # The result first: when time is short it is what says why the leg ended.
        if self._result is not None:
            result = self._result
            await self._home.publish(result)
            if self._result is result:
                self._result = None
        if self._pointer is not None:
            pointer = self._pointer
            await self._home.publish(pointer)
            if self._pointer is pointer:
                self._pointer = None
        while self._entries:
            entry = self._entries[0]
            await self._home.record(entry if not self._dropped else {**entry, "dropped_before": self._dropped})
            self._dropped = 0
            if self._entries and self._entries[0] is entry:
                self._entries.popleft()

    def _pending(self) -> bool:
        return bool(self._entries) or self._pointer is not None or self._result is not None

    def _wake(self) -> None:
        if self._idle.is_set():
            self._idle = anyio.Event()
        self._work.set()
