"""Virtual time: trio's MockClock read through the Clock contract, with a wall clock that may be skewed or jump."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from gate.machines.clock import Now
from gate.simulate.life import Life

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


class OwnedClock:
    """The clocks of one simulated process. `mono` and `boot` begin somewhere of their own: whoever compares those of
    two processes, or keeps one on disk, is found out. `skews` holds (from when on, seconds) of the wall clock."""

    def __init__(self, life: Life, begin: float, skews: Sequence[tuple[float, float]] = ()) -> None:
        self._life = life
        self._begin = begin
        self._skews = tuple(skews)

    async def now(self) -> Now:
        self._life.check()
        current = trio.current_time()
        wall = EPOCH + current
        for at, seconds in self._skews:
            if current >= at:
                wall += seconds
        return Now(mono=current + self._begin, wall=wall, boot=current + 2 * self._begin)

    async def sleep(self, seconds: float) -> None:
        self._life.check()
        await trio.sleep(max(0.0, seconds))
        self._life.check()
