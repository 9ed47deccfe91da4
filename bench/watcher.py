"""A poller as `gate poll` makes it, in real time over the bench engine, whose shared root can be made to hang.

`python -m bench.watcher RUN_DIR URL LEGS INTERVAL`: says `watching` after two ticks; at a line on standard input every
call to the root blocks its thread for ever, as on a share that was cut off, and it says `hung`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import anyio

from bench.engine import HttpEngine
from bench.fixture import RUN, TAG, build
from gate import places
from gate.adapters.clock import SystemClock
from gate.adapters.signals import SystemSignals
from gate.adapters.threads import Lane
from gate.poll.driver import Identity, PollWorld, poll
from gate.poll.superseding import NeverSuperseded
from gate.rundir.cancels import FileCancelNotes
from gate.rundir.files import FileStore
from gate.rundir.legfiles import FileLegFiles

T = TypeVar("T")


class ShareLane(Lane):
    """A lane to a share that can be cut off: its threads then block for ever."""

    cut = threading.Event()

    async def call(self, deadline: float, run: Callable[[], T]) -> T:
        """Run it, or hang."""

        def hanging() -> T:
            if self.cut.is_set():
                threading.Event().wait()
            return run()

        return await super().call(deadline, hanging)


class TellingClock(SystemClock):
    """Says when the poller is in its stride."""

    def __init__(self) -> None:
        self._sleeps = 0

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        self._sleeps += 1
        if self._sleeps == 2:
            print("watching", flush=True)
        await super().sleep(seconds)


def cut_when_told() -> None:
    """Cut the share off at a line on standard input."""
    if sys.stdin.readline():
        ShareLane.cut.set()
        print("hung", flush=True)


async def watch(run_dir: Path, url: str, legs: int, interval: float) -> int:
    """Poll until decided or cancelled; the exit code."""
    attempt = build(run_dir, tuple(f"leg-{number}" for number in range(legs)), interval)
    threading.Thread(target=cut_when_told, daemon=True).start()
    engine = HttpEngine(url, RUN, TAG)
    async with SystemSignals().installed() as signals:
        world = PollWorld(
            Identity("bench", "here", 1, "bench"),
            TellingClock(),
            FileStore(run_dir, lane=ShareLane("root")),
            engine,
            FileLegFiles(run_dir, lane=ShareLane("legs", limit=1)),
            signals,
            FileCancelNotes(places.cancel_notes()),
            NeverSuperseded(),
        )
        end = await poll(world, attempt)
    await engine.aclose()
    return end.exit_code


if __name__ == "__main__":
    raise SystemExit(anyio.run(watch, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
