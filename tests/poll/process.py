"""A real poller process over real files and an engine that is a folder; the tests kill it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio

from gate.adapters.clock import SystemClock
from gate.adapters.signals import SystemSignals
from gate.contracts import Listing, Scope
from gate.poll.driver import Identity, PollWorld, poll
from gate.poll.superseding import NeverSuperseded
from gate.rundir.cancels import FileCancelNotes
from gate.rundir.files import FileStore
from gate.rundir.legfiles import FileLegFiles
from gate.rundir.run import Run
from tests.dispatch.fake_engine import FolderEngine

INTERVAL = 0.05


class Counted(FolderEngine):
    """Calls `then` once, with the list call after `after` others."""

    after = -1
    then: Callable[[], None] = staticmethod(lambda: None)

    async def list(self, scope: Scope) -> Listing:
        if self.lists == self.after:
            self.then()
        return await super().list(scope)


def main(folder: Path, *, after_ticks: int = -1, then: Callable[[], None] = lambda: None) -> int:
    """Poll the latest attempt of `folder/run` and return the exit code."""

    async def run() -> int:
        engine = Counted(folder / "engine")
        engine.after, engine.then = after_ticks, staticmethod(then)
        store = FileStore(folder / "run")
        async with SystemSignals().installed() as signals:
            world = PollWorld(
                me=Identity(f"{os.getpid()}", "here", os.getpid(), "gate poll"),
                clock=SystemClock(),
                store=store,
                engine=engine,
                legs=FileLegFiles(folder / "run"),
                signals=signals,
                cancels=FileCancelNotes(folder / "cancels"),
                supersede=NeverSuperseded(),
            )
            attempt = await Run(store).latest_attempt()
            end = await poll(world, attempt, takeover=True, interval=INTERVAL, fail_fast=False)
        return end.exit_code

    return anyio.run(run)


def cli(argv: Sequence[str]) -> int:
    """`python -m tests.poll.process FOLDER`."""
    return main(Path(argv[0]))


if __name__ == "__main__":
    sys.exit(cli(sys.argv[1:]))
