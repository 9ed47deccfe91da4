"""A dispatcher that is killed with SIGKILL before and after each of its effects, and then run again.

Run as `python -m tests.dispatch.killed FOLDER`: a process without threads, so that it may fork. Prints one JSON line
for each instant: how the first dispatcher ended, what lived after the second, and after a reap.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from gate.adapters.clock import SystemClock
from gate.contracts import WorkloadRequest
from gate.dispatch.driver import dispatch
from gate.dispatch.world import Order
from gate.reap.settle import settle
from gate.rundir.files import FileStore
from gate.rundir.run import Run
from tests.dispatch.fake_engine import FolderEngine
from tests.dispatch.plans import plan
from tests.dispatch.worlds import world


class Killer:
    """Counts instants before and after effects, and dies at one of them."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def instant(self) -> None:
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1


class KilledStore(FileStore):
    killer = Killer(-1)

    async def create(self, key: str, data: bytes) -> bool:
        self.killer.instant()
        done = await super().create(key, data)
        self.killer.instant()
        return done

    async def replace(self, key: str, data: bytes) -> None:
        self.killer.instant()
        await super().replace(key, data)
        self.killer.instant()


class KilledEngine(FolderEngine):
    killer = Killer(-1)

    async def create(self, request: WorkloadRequest) -> str:
        self.killer.instant()
        id_ = await super().create(request)
        self.killer.instant()
        return id_


def in_child(main: Callable[[], Awaitable[Any]]) -> int:
    """Run `main` in a forked process and return its wait status."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            anyio.run(main)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]


def one(folder: Path, at: int) -> dict[str, Any]:
    run_dir, workloads = folder / f"run-{at}", folder / f"engine-{at}"
    run_dir.mkdir()
    workloads.mkdir()
    wanted = plan(["a", "b"])

    async def killed() -> None:
        store, engine = KilledStore(run_dir), KilledEngine(workloads)
        store.killer = engine.killer = Killer(at)
        await dispatch(world(store, engine, clock=SystemClock()), wanted, Order("r1"))

    async def again() -> None:
        store, engine = FileStore(run_dir), FolderEngine(workloads)
        await dispatch(world(store, engine, clock=SystemClock()), wanted, Order("r1"))

    async def reap() -> None:
        store, engine = FileStore(run_dir), FolderEngine(workloads)
        tags = [attempt.tag for attempt in await Run(store).attempts()]
        assert await settle(store, engine, SystemClock(), tags, kept=(), budget=20) == ()
        for tag in tags:
            for entry in (await Run(store).entries(tag)).values():
                assert entry.stage == "seen_gone", entry

    first = in_child(killed)
    second = in_child(again)
    live = FolderEngine(workloads).live()
    third = in_child(reap)
    return {
        "at": at,
        "killed": os.WIFSIGNALED(first),
        "again": second,
        "attempts": len(list((run_dir / "gate" / "attempts").iterdir())),
        "live": live,
        "reap": third,
        "left": FolderEngine(workloads).live(),
    }


def main(folder: Path) -> None:
    at = 0
    while True:
        found = one(folder, at)
        print(json.dumps(found), flush=True)  # noqa: T201 - read by the test
        if not found["killed"]:
            return
        at += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
