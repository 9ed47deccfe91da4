"""Blocking calls in daemon threads, with a deadline.

A read on a hung share never returns and cannot be interrupted. So the thread is abandoned, the caller goes on, and
because it is a daemon thread the process can still exit: a cancel is never delayed.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel

T = TypeVar("T")

IDLE = 10.0
"""Seconds after which a thread without work ends."""


class _Call(Generic[T]):
    """One call on its way through a thread."""

    def __init__(self, run: Callable[[], T]) -> None:
        self.run = run
        self.done = anyio.Event()
        self.token = anyio.lowlevel.current_token()
        self.value: T | None = None
        self.error: BaseException | None = None

    def work(self) -> None:
        try:
            self.value = self.run()
        except BaseException as error:  # noqa: BLE001 - handed to the caller, whatever it is
            self.error = error
        try:
            anyio.from_thread.run_sync(self.done.set, token=self.token)
        except RuntimeError:
            # The event loop ended while this call hung: its caller had given up long before.
            return


class Lane:
    """A named group of threads for one part of the outside world (the shared root, the engine's commands).

    At most `limit` calls run at once; when that many hang, further calls time out without starting another thread.
    """

    def __init__(self, name: str, limit: int = 4) -> None:
        self.name = name
        self.limit = limit
        self._calls: queue.SimpleQueue[_Call[Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._busy = 0

    async def call(self, deadline: float, run: Callable[[], T]) -> T:
        """Run `run()` in a thread. Raises TimeoutError after `deadline` seconds, leaving the thread behind."""
        call = _Call(run)
        with self._lock:
            self._busy += 1
            if self._busy > self._threads and self._threads < self.limit:
                self._threads += 1
                threading.Thread(target=self._serve, name=f"gate-{self.name}", daemon=True).start()
        self._calls.put(call)
        with anyio.move_on_after(deadline):
            await call.done.wait()
        if not call.done.is_set():
            call.run = _given_up
            raise TimeoutError(f"{self.name}: no answer within {deadline:g} s")
        if call.error is not None:
            raise call.error
        return call.value  # type: ignore[return-value]

    def _serve(self) -> None:
        while True:
            try:
                call = self._calls.get(timeout=IDLE)
            except queue.Empty:
                with self._lock:
                    if self._busy == 0:  # else a call is on its way, and may be counting on this thread
                        self._threads -= 1
                        return
                continue
            call.work()
            with self._lock:
                self._busy -= 1


def _given_up() -> Any:
    """Stands in for a call whose caller left before a thread was free: it must not take effect late."""
    return None
