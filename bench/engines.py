"""What engines behind a network cost: a thousand workloads in one look, a hundred launches over a slow line."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import anyio

from bench.measure import Row
from gate.adapters.clock import SystemClock
from gate.contracts import Scope, WorkloadRequest
from gate.dispatch.launch import Launch, launch
from gate.dispatch.world import DispatchWorld, Staged
from gate.engines.safe.engine import SafeEngine
from gate.engines.safe.http import Api
from gate.engines.safe.listing import REQUESTS
from gate.engines.safe.parameters import parameters
from gate.plan.identity import workload_name
from gate.plan.model import Plan, Resources
from gate.reap.remaining import Remaining
from gate.rundir.files import FileStore
from gate.rundir.legfiles import FileLegFiles

WORKLOADS = 1000
LEGS = 100
LATENCY = 0.2
TAG = "benchbench"
SCOPE = Scope("o/r", "bench", tag=TAG)


@contextmanager
def fake(*words: str) -> Iterator[dict[str, str]]:
    """The SaFE server of gate.testing in a process of its own, whose workloads only pretend to run."""
    command = [sys.executable, "-m", "gate.testing.safe", "--pretend", "--gpus", "0", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())
        finally:
            server.terminate()


def safe_engine(at: dict[str, str]) -> tuple[SafeEngine, Api]:
    """The engine, and the line that counts its requests."""
    asked = parameters({"url": at["url"], "workspace": at["workspace"], "image": "img", "list_lag": "1s"})
    api = Api(asked, at["key"])
    return SafeEngine(asked, api), api


def requests(count: int, run_dir: str) -> list[WorkloadRequest]:
    """So many workloads of one leg each."""
    resources = Resources(cpus=1, memory=1 << 30, gpus=0, image=None, privileged=False, options={})
    first = WorkloadRequest(
        name="",
        workload="",
        tag=TAG,
        gate="bench",
        repository="o/r",
        ref="refs/heads/main",
        run="1",
        legs=("a",),
        run_dir=run_dir,
        assignment="staged/a",
        resources=resources,
        timeout=600.0,
        keep_on_fail=0.0,
        env={},
        secrets={},
    )
    names = [f"leg-{number}" for number in range(count)]
    return [replace(first, name=workload_name("bench", name, TAG, 44), workload=name, legs=(name,)) for name in names]


async def _fill(engine: SafeEngine, wanted: list[WorkloadRequest]) -> None:
    limit = anyio.Semaphore(16)

    async def one(request: WorkloadRequest) -> None:
        async with limit:
            await engine.create(request)

    async with anyio.create_task_group() as tasks:
        for request in wanted:
            tasks.start_soon(one, request)


async def _look() -> tuple[float, int]:
    """CPU seconds and requests of one look at a thousand workloads."""
    with fake() as at:
        engine, api = safe_engine(at)
        await _fill(engine, requests(WORKLOADS, "/run"))
        await anyio.sleep(1.0)  # what was created lately is shown without asking
        await engine.list(SCOPE)
        before, cpu = api.requests, time.process_time()
        listing = await engine.list(SCOPE)
        found = time.process_time() - cpu, api.requests - before
        assert listing.complete
        assert len(listing.workloads) == WORKLOADS
        await engine.aclose()
    return found


class _Nothing:
    """Stages nothing: what is measured is the launching."""

    async def stage(self, plan: Plan) -> Staged:
        return Staged({}, {}, {})

    async def verify(self, files: Mapping[str, str]) -> None:
        return None


async def _launch(folder: Path) -> float:
    """Seconds from the first intent to the last id, each entry durable."""
    with fake("--latency", str(LATENCY)) as at:
        engine, _ = safe_engine(at)
        wanted = tuple(Launch(request, shared=False) for request in requests(LEGS, str(folder)))
        world = DispatchWorld(
            clock=SystemClock(),
            store=FileStore(folder),
            engine=engine,
            files=FileLegFiles(folder),
            staging=_Nothing(),
            secrets={},
            run_dir=str(folder),
            ci={},
            say=lambda _: None,
            reap_stale=_nothing_stale,
        )
        started = time.perf_counter()
        entries = await launch(world, wanted)
        took = time.perf_counter() - started
        assert {entry.stage for entry in entries.values()} == {"created"}
        await engine.aclose()
    return took


async def _nothing_stale() -> tuple[Remaining, ...]:
    return ()


def rows() -> Iterator[Row]:
    """All measurements of engines."""
    cpu, sent = anyio.run(_look)
    yield Row("SaFE, 1,000 workloads: CPU of one look", cpu, 0.5, "s", "process time of list, over a real socket")
    yield Row("SaFE, 1,000 workloads: requests of one look", sent, REQUESTS, "requests", "counted by the client")
    with tempfile.TemporaryDirectory(prefix="gate-bench-") as folder:
        took = anyio.run(_launch, Path(folder))
    yield Row("SaFE, 100 legs launched at 200 ms an answer", took, 5.0, "s", "entries on disk, 16 workloads at once")
