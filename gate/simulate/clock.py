"""Virtual time: trio's MockClock read through the Clock contract, with a wall clock that may be skewed or jump."""

from __future__ import annotations

import trio

from gate.machines.clock import Now

EPOCH = 1_800_000_000.0
"""Wall time at which every simulation starts, Unix seconds."""


class SimClock:
    """A process's clocks under `trio.testing.MockClock`. `skew` shifts the wall clock alone, and may be changed."""

    def __init__(self, skew: float = 0.0) -> None:
        self.skew = skew

    async def now(self) -> Now:
        current = trio.current_time()
        return Now(mono=current, wall=EPOCH + current + self.skew, boot=current)

    async def sleep(self, seconds: float) -> None:
        await trio.sleep(max(0.0, seconds))
