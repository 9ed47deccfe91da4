"""Pipes of a turn: read while it runs, and read on after it, for what it left running.

Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import selectors
import threading
from collections.abc import Awaitable, Callable

import anyio

CHUNK = 1 << 16
SWEEP = 1 << 20
"""Bytes that are still read once the command line has ended: the most that a pipe holds."""

Sink = Callable[[bytes], Awaitable[None]]


class Pipe:
    """The reading end of one output of a command line. `fd` is owned."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd: int | None = fd
        self._waiting: anyio.CancelScope | None = None
        self._over = False

    async def pump(self, sink: Sink) -> None:
        """Hand every chunk to `sink` until the pipe's end, or until `over` was called and it is empty."""
        swept = 0
        while self._fd is not None and swept < SWEEP:
            try:
                chunk = os.read(self._fd, CHUNK)
            except BlockingIOError:
                if self._over:
                    return
                # Only the waiting may be cut short: what has been read must reach the sink.
                with anyio.CancelScope() as self._waiting:
                    await anyio.wait_readable(self._fd)
                self._waiting = None
                continue
            if not chunk:
                os.close(self._fd)
                self._fd = None
                return
            swept += len(chunk) if self._over else 0
            await sink(chunk)

    def over(self) -> None:
        """The command line has ended: nothing more is waited for."""
        self._over = True
        if self._waiting is not None:
            self._waiting.cancel()

    def release(self) -> None:
        """Let go. Where something that outlived the turn still holds the other end, it is read on and dropped.

        A closed pipe would kill a detached server at its next line of output, and an unread one would block it.
        """
        if self._fd is not None:
            _LEFTOVERS.take(self._fd)
            self._fd = None


class _Leftovers:
    """One daemon thread that empties the pipes of turns that are over."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._selector: selectors.BaseSelector | None = None

    def take(self, fd: int) -> None:
        """Read and drop what comes through `fd`, and close it at its end."""
        if _at_end(fd):
            os.close(fd)
            return
        with self._lock:
            if self._selector is None:
                self._selector = selectors.EpollSelector()
                threading.Thread(target=self._serve, args=(self._selector,), name="gate-pipes", daemon=True).start()
            # epoll takes a new descriptor also while the thread waits.
            self._selector.register(fd, selectors.EVENT_READ)

    def _serve(self, selector: selectors.BaseSelector) -> None:
        while True:
            for key, _ in selector.select(timeout=60.0):
                if _at_end(key.fd):
                    with self._lock:
                        selector.unregister(key.fd)
                        os.close(key.fd)


def _at_end(fd: int) -> bool:
    """Empty the pipe; is its other end closed?"""
    try:
        for _ in range(SWEEP // CHUNK):
            if not os.read(fd, CHUNK):
                return True
    except BlockingIOError:
        pass  # empty for now
    return False


_LEFTOVERS = _Leftovers()
