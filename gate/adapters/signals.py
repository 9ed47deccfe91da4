"""SIGINT and SIGTERM as a contract.

Handlers are installed explicitly: a process started with SIGINT ignored (a background job of a shell) would otherwise
never see it.
"""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from gate.contracts import StopRequest

GRACE = {signal.SIGINT: 7.5, signal.SIGTERM: 2.5}
"""Seconds until the next, harder signal, as GitHub's runner documents its cancel sequence."""


class SystemSignals:
    """The first request to end; later ones only shorten the grace."""

    def __init__(self) -> None:
        self._seen = anyio.Event()
        self._first = 0

    async def wait(self) -> StopRequest:
        await self._seen.wait()
        return StopRequest(signal=self._first, grace=GRACE.get(signal.Signals(self._first), 2.5))

    @asynccontextmanager
    async def installed(self) -> AsyncIterator[SystemSignals]:
        """Handlers are in place inside this context."""
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._collect, received)
                yield self
                tasks.cancel_scope.cancel()

    async def _collect(self, received: AsyncIterator[signal.Signals]) -> None:
        async for number in received:
            self._first = self._first or int(number)
            self._seen.set()
