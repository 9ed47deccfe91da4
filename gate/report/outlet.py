"""A thread of its own for each place that reports are written to.

A terminal that is stopped with Ctrl-S, a full disk or a pipe nobody reads must never delay a poll or a cancel: events
are handed over without waiting, and what the place cannot take is dropped and counted.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from gate.adapters.threads import Lane

T = TypeVar("T")

ROOM = 20_000
"""Items that wait at most."""


class Outlet(Generic[T]):
    """Hands items to `write` in a daemon thread, and calls `finish` there at the end.

    `beat`: seconds after which `write(None)` is called where no item came.
    An OSError or ValueError of `write` (the place is gone) ends it: it is complained of once, on stderr.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[T | None], None],
        *,
        finish: Callable[[], None] | None = None,
        beat: float | None = None,
    ) -> None:
        self.name = name
        self.dropped = 0
        self.failure: Exception | None = None
        self._write = write
        self._finish = finish
        self._beat = beat
        self._items: queue.Queue[T | None] = queue.Queue(ROOM)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"gate-report-{name}", daemon=True)
        self._thread.start()

    def put(self, item: T) -> None:
        """Hand over; never waits."""
        if self.failure is not None:
            return
        try:
            self._items.put_nowait(item)
        except queue.Full:
            self.dropped += 1

    async def aclose(self, patience: float = 1.0) -> None:
        """Let it write what is left, for `patience` seconds at most."""
        self._closing.set()
        try:
            self._items.put_nowait(None)  # wakes the thread
        except queue.Full:
            self.dropped += 1
        try:
            await Lane(f"close-{self.name}", limit=1).call(patience, lambda: self._thread.join(patience))
        except TimeoutError:
            self.dropped += self._items.qsize()

    @property
    def waiting(self) -> bool:
        """More items are there already."""
        return not self._items.empty()

    def _serve(self) -> None:
        self._guarded(self._write_all)
        if self._finish is not None:
            self._guarded(self._finish)
        if self.dropped:
            self._complain(f"{self.dropped} events were dropped: it could not keep up")

    def _write_all(self) -> None:
        while not (self._closing.is_set() and self._items.empty()):
            self._write(self._next())

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (OSError, ValueError) as error:
            if self.failure is None:
                self._complain(f"{error}; nothing more is written there")
            self.failure = error

    def _next(self) -> T | None:
        try:
            return self._items.get(timeout=self._beat)
        except queue.Empty:
            return None

    def _complain(self, what: str) -> None:
        try:
            sys.stderr.write(f"gate: {self.name}: {what}\n")
        except (OSError, ValueError):
            self.dropped += 1  # stderr is gone too: there is nobody left to tell
