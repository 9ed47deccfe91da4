"""Waiting for many processes and pipes at once: one epoll object, watched by whoever waits first.

A watcher per process costs two system calls and a task switch for each of thousands; and there is no task of its own
here, because a backend is opened outside any task group. So one of those who wait pumps for all, and hands the pump on
when it is done. Runs under asyncio and trio.
"""

from __future__ import annotations

import select
from collections.abc import Callable

import anyio

Ready = Callable[[], object]


class Wait:
    """Something to be waited for; whoever sees it happen calls `finish`."""

    def __init__(self) -> None:
        self.done = False
        self.wake = anyio.Event()

    def finish(self) -> None:
        """It has happened."""
        self.done = True
        self.wake.set()


class Reaper:
    """Calls back when a descriptor can be read, or its other end is closed."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._ready: dict[int, Ready] = {}
        self._followers: dict[Wait, None] = {}
        self._pumping = False

    def watch(self, fd: int, ready: Ready) -> None:
        """Call `ready` whenever `fd` can be read, until `forget`."""
        self._ready[fd] = ready
        self._epoll.register(fd, select.EPOLLIN)

    def forget(self, fd: int) -> None:
        """No more of this; nothing where it was forgotten before."""
        if self._ready.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    async def wait(self, wanted: Wait) -> None:
        """Until it has happened."""
        while not wanted.done:
            if self._pumping:
                await self._follow(wanted)
            else:
                await self._pump(wanted)

    def close(self) -> None:
        """Nobody may be waiting any more."""
        self._epoll.close()

    async def _follow(self, wanted: Wait) -> None:
        """Until it has happened, or the pump is handed to this one."""
        wanted.wake = anyio.Event()
        self._followers[wanted] = None
        try:
            await wanted.wake.wait()
        finally:
            self._followers.pop(wanted, None)
            # Cancelled right after the pump was handed over: the next one takes it, or all would wait for ever.
            self._hand_on()

    async def _pump(self, wanted: Wait) -> None:
        self._pumping = True
        try:
            while not wanted.done:
                await anyio.wait_readable(self._epoll.fileno())
                for fd, _ in self._epoll.poll(0):
                    if (ready := self._ready.get(fd)) is not None:
                        ready()
        finally:
            self._pumping = False
            self._hand_on()

    def _hand_on(self) -> None:
        if self._pumping:
            return
        for follower in self._followers:
            if not follower.done:
                follower.wake.set()
                return
