"""One dispatcher as a process: `python -m tests.dispatch.dispatcher RUN_DIR ENGINE_DIR SECONDS`.

Each create takes so long; a line is printed when the first begins. The last line says how it ended.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import anyio

from gate.adapters.clock import SystemClock
from gate.contracts import WorkloadRequest
from gate.dispatch.driver import dispatch
from gate.dispatch.world import Order
from gate.errors import RunHeld
from gate.rundir import lease
from gate.rundir.files import FileStore
from gate.rundir.holding import PERIOD, held
from tests.dispatch.fake_engine import FolderEngine
from tests.dispatch.plans import plan
from tests.dispatch.worlds import world


class Slow(FolderEngine):
    """An engine that takes its time."""

    seconds = 0.0

    async def create(self, request: WorkloadRequest) -> str:
        tell("creating")
        await anyio.sleep(self.seconds)
        return await super().create(request)


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main(run_dir: Path, workloads: Path, seconds: float) -> None:
    store, engine, clock = FileStore(run_dir), Slow(workloads), SystemClock()
    engine.seconds = seconds
    mine = lease.fresh(f"dispatcher-{os.getpid()}", "here", os.getpid(), "gate dispatch", PERIOD, time.time())
    try:
        async with held(store, clock, "r1", mine, tell):
            await dispatch(world(store, engine, clock=clock), plan(["a"]), Order("r1"))
    except RunHeld:
        tell("held")
    else:
        tell("done")


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]))
