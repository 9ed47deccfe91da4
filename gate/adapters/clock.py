"""The machine's clocks."""

from __future__ import annotations

import time

import anyio

from gate.machines.clock import Now


class SystemClock:
    """CLOCK_MONOTONIC, CLOCK_BOOTTIME and Unix time of this machine."""

    async def now(self) -> Now:
        return Now(mono=time.monotonic(), wall=time.time(), boot=time.clock_gettime(time.CLOCK_BOOTTIME))

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(max(0.0, seconds))
