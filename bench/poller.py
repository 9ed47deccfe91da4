"""The product's poll driver over the bench engine, for a number of ticks; prints what they cost as JSON.

`python -m bench.poller RUN_DIR URL LEGS TICKS [--move]`: `--move` gives every leg a new state before each tick. Waiting
is left out: the clock jumps ahead by each interval.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.lowlevel

from bench.engine import HttpEngine
from bench.fixture import RUN, TAG, build, publish, state_file
from bench.measure import resident
from gate.contracts import StopRequest
from gate.machines.clock import Now
from gate.poll.driver import Identity, PollWorld, poll
from gate.poll.superseding import NeverSuperseded
from gate.rundir.cancels import FileCancelNotes
from gate.rundir.files import FileStore
from gate.rundir.legfiles import FileLegFiles

INTERVAL = 30.0
WARM = 20
"""Ticks before the measurement begins."""


class FastClock:
    """Time that jumps ahead wherever the poller waits for its next tick."""

    def __init__(self, tick: Callable[[int], None]) -> None:
        self._tick = tick
        self._ahead = 0.0
        self.ticks = 0

    async def now(self) -> Now:
        """Real time and what was jumped over."""
        mono = time.monotonic() + self._ahead
        return Now(mono=mono, wall=time.time() + self._ahead, boot=mono)

    async def sleep(self, seconds: float) -> None:
        """Jump, and let everything run that could run meanwhile."""
        self._ahead += seconds
        self.ticks += 1
        self._tick(self.ticks)
        await anyio.lowlevel.checkpoint()


class NoSignals:
    """Nobody asks this process to end."""

    async def wait(self) -> StopRequest:
        """Never returns."""
        await anyio.sleep_forever()
        raise AssertionError("unreachable")


class Meter:
    """CPU and memory at eleven moments. What `before` takes is the programs' under test, and does not count."""

    def __init__(self, ticks: int, before: Callable[[int], None], done: Callable[[], None]) -> None:
        self._last = WARM + ticks
        self._before = before
        self._done = done
        self._not_ours = 0.0
        self.cpu: list[float] = []
        self.memory: list[float] = []

    def tick(self, number: int) -> None:
        """Called between ticks."""
        began = time.thread_time()
        self._before(number)
        self._not_ours += time.thread_time() - began
        if number >= WARM and (number - WARM) % max(1, (self._last - WARM) // 10) == 0:
            used = resource.getrusage(resource.RUSAGE_SELF)
            self.cpu.append(used.ru_utime + used.ru_stime - self._not_ours)
            self.memory.append(resident())
        if number == self._last:
            self._done()


async def measure(run_dir: Path, url: str, legs: tuple[str, ...], ticks: int, *, move: bool) -> dict[str, object]:
    """CPU seconds a tick, and resident MiB at eleven moments."""
    attempt = build(run_dir, legs, INTERVAL)
    paths = tuple(state_file(run_dir, name) for name in legs)
    scope = anyio.CancelScope()

    def before(number: int) -> None:
        for path in paths if move else ():
            publish(path, number)

    meter = Meter(ticks, before, scope.cancel)
    engine = HttpEngine(url, RUN, TAG)
    world = PollWorld(
        Identity("bench", "here", 1, "bench"),
        FastClock(meter.tick),
        FileStore(run_dir),
        engine,
        FileLegFiles(run_dir),
        NoSignals(),
        FileCancelNotes(run_dir / "own-disk"),
        NeverSuperseded(),
    )
    with scope:
        await poll(world, attempt)
    await engine.aclose()
    return {"cpu": (meter.cpu[-1] - meter.cpu[0]) / ticks, "memory": meter.memory}


def main() -> None:
    """Measure once in a process of its own, so that nothing else's memory counts."""
    parser = argparse.ArgumentParser(prog="bench.poller")
    parser.add_argument("run_dir", type=Path)
    parser.add_argument("url")
    parser.add_argument("legs", type=int)
    parser.add_argument("ticks", type=int)
    parser.add_argument("--move", action="store_true")
    asked = parser.parse_args()
    legs = tuple(f"leg-{number}" for number in range(asked.legs))
    print(json.dumps(anyio.run(lambda: measure(asked.run_dir, asked.url, legs, asked.ticks, move=asked.move))))


if __name__ == "__main__":
    main()
