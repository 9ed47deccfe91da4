"""The run's lease, held and renewed while something is made, changed or removed: one process at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio

from gate.contracts import Clock, Store
from gate.rundir.formats import Lease
from gate.rundir.lease import Holding

PERIOD = 1.0
"""Seconds between renewals; a holder that was killed is waited for three of them."""


@asynccontextmanager
async def held(store: Store, clock: Clock, run: str, mine: Lease, say: Callable[[str], None]) -> AsyncIterator[Holding]:
    """Hold the run inside this context. Raises RunHeld: another process holds it and is alive, or has taken it over."""

    def waiting(lease: Lease, patience: float) -> None:
        say(f"run {run} was last held by {lease.command!r} (pid {lease.pid} on {lease.host}); waiting {patience:g} s")

    holding = Holding(store, run, mine)
    await holding.acquire(clock, take_over=False, waiting=waiting)
    try:
        async with renewed(holding, clock):
            yield holding
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(5):
            await holding.release()


@asynccontextmanager
async def renewed(holding: Holding, clock: Clock) -> AsyncIterator[None]:
    """Renew a lease that is held every `PERIOD` seconds inside this context; it stays held afterwards."""

    async def renew() -> None:
        while True:
            await clock.sleep(PERIOD)
            await holding.renew()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(renew)
        try:
            yield
        finally:
            tasks.cancel_scope.cancel()
