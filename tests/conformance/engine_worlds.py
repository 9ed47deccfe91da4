"""Worlds for the engines' conformance suite: one a kind of engine. Another engine is another world here."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import anyio
from trio.testing import MockClock

from gate.adapters.clock import SystemClock
from gate.bootstrap.containment import Census
from gate.contracts import Clock, Engine, Phase, Scope, Workload, WorkloadRequest
from gate.documents import dump
from gate.engines.local.engine import LocalEngine, Program
from gate.engines.local.limits import Slots
from gate.errors import CreateUnclear
from gate.plan import identity
from gate.plan.model import Resources
from gate.rundir import layout
from gate.simulate.clock import SimClock
from gate.simulate.engine import CAPABILITIES, Course, SimEngine
from tests.bootstrap.supervise_harness import ASSIGNMENT, PROGRAM, wait_until


@dataclass(frozen=True)
class Job:
    """What the workload under test does. `seconds` None: until it is stopped."""

    seconds: float | None = None
    exit_code: int = 0
    output: str = ""
    gpus: int = 0
    timeout: float = 60.0
    tag: str = ""
    workload: str = "w"
    ref: str = "refs/heads/main"
    secrets: tuple[tuple[str, str], ...] = ()


class World(Protocol):
    """One kind of engine with all it needs. There is one GPU, and `occupy` takes it."""

    clock: Clock

    def open(self) -> Engine:
        """An engine as a new process would open it, over the same workloads."""
        ...

    def request(self, job: Job) -> WorkloadRequest: ...

    async def occupy(self, engine: Engine) -> None: ...

    async def unclear(self, engine: Engine, request: WorkloadRequest, *, took_effect: bool) -> None:
        """A create without an answer."""
        ...

    def left(self) -> list[str]:
        """What runs of the workloads of this world, looked up without the engine."""
        ...


Scenario = Callable[[World, Engine], Awaitable[None]]


def plain_request(job: Job, run_dir: str) -> WorkloadRequest:
    tag = job.tag or uuid.uuid4().hex[:10]
    return WorkloadRequest(
        name=identity.workload_name("g", job.workload, tag, 63),
        workload=job.workload,
        tag=tag,
        gate="g",
        repository="local/test",
        ref=job.ref,
        run="run-1",
        legs=("a",),
        run_dir=run_dir,
        assignment=layout.assignment(tag, job.workload),
        resources=Resources(cpus=0, memory=0, gpus=job.gpus, image=None, privileged=False, options={}),
        timeout=job.timeout,
        keep_on_fail=0.0,
        env={identity.ENV_TAG: tag, identity.ENV_WORKLOAD: job.workload, "PLAIN": "value"},
        secrets=dict(job.secrets),
    )


def scope(request: WorkloadRequest) -> Scope:
    return Scope(request.repository, request.gate, tag=request.tag)


# --- local -------------------------------------------------------------------------------------------

_TAIL = ("sh", "-c", 'exec sh "$1.sh"', "sh", "{assignment}")


def local_engine(registry: Path) -> LocalEngine:
    """The local engine with this checkout as its program, and a shell script as bootstrap."""
    program = Program(supervisor=(sys.executable, "-c", PROGRAM, "supervise"), bootstrap=_TAIL, grace=1.0)
    return LocalEngine(registry, Slots(cpus=2, gpus=1), program)


class LocalWorld:
    """Real processes below a registry of their own."""

    def __init__(self, path: Path) -> None:
        self.clock: Clock = SystemClock()
        self.path = path
        self.registry = path / "local"
        self.requests: list[WorkloadRequest] = []

    def open(self) -> LocalEngine:
        return local_engine(self.registry)

    def request(self, job: Job) -> WorkloadRequest:
        request = plain_request(job, str(self.path / "run"))
        self.requests.append(request)
        path = self.path / "run" / request.assignment
        path.parent.mkdir(parents=True, exist_ok=True)
        assignment = replace(
            ASSIGNMENT, tag=request.tag, workload=job.workload, run_dir=request.run_dir, timeout=job.timeout
        )
        path.write_bytes(dump(assignment))
        wait = "sleep 300" if job.seconds is None else f"sleep {job.seconds}"
        # No exec: the shell and its child are two processes, and only one of them is told to end.
        Path(f"{path}.sh").write_text(f"printf %s '{job.output}'\n{wait}\nexit {job.exit_code}\n", encoding="utf-8")
        return request

    async def occupy(self, engine: Engine) -> None:
        await engine.create(self.request(Job(gpus=1, workload="holder")))

    async def unclear(self, engine: Engine, request: WorkloadRequest, *, took_effect: bool) -> None:
        """The dispatcher is killed right before or right after the supervisor is spawned."""
        given = pickle.dumps((self.registry, request, took_effect))
        done = await anyio.to_thread.run_sync(
            lambda: subprocess.run([sys.executable, "-c", _KILLED_DISPATCHER], input=given, check=False)
        )
        assert done.returncode == -signal.SIGKILL

    def left(self) -> list[str]:
        census = Census()
        found = [p for r in self.requests for p in census.workload(r.tag, r.workload)]
        found += [p for r in self.requests for p in census.started_with("--registry", str(self.registry / r.name))]
        return [str(each) for each in found]


_KILLED_DISPATCHER = """
import os, pickle, signal, subprocess, sys
import anyio
from gate.engines.local import launch
from tests.conformance.engine_worlds import local_engine

registry, request, took_effect = pickle.loads(sys.stdin.buffer.read())
spawn = subprocess.run
def killed(*words, **options):
    if took_effect:
        spawn(*words, **options)
    os.kill(os.getpid(), signal.SIGKILL)
launch.subprocess.run = killed
anyio.run(local_engine(registry).create, request)
"""


# --- simulated ---------------------------------------------------------------------------------------


class SimWorld:
    """Virtual time; lists lag."""

    def __init__(self, tasks: anyio.abc.TaskGroup) -> None:
        self.clock: Clock = SimClock()
        self.courses: dict[str, Course] = {}
        capabilities = replace(CAPABILITIES, list_lag=3.0)
        self.engine = SimEngine(self.clock, tasks, lambda request: self.courses[request.name], capabilities)

    def open(self) -> Engine:
        return self.engine

    def request(self, job: Job) -> WorkloadRequest:
        request = plain_request(job, "/run")
        self.courses[request.name] = Course(
            queue=1e9 if job.gpus else 0.5,
            run=job.seconds,
            exit_code=job.exit_code,
            output=job.output.encode(),
            stop_time=0.7,
        )
        return request

    async def occupy(self, engine: Engine) -> None:
        """What asks for a GPU waits anyway."""

    async def unclear(self, engine: Engine, request: WorkloadRequest, *, took_effect: bool) -> None:
        course = replace(self.courses[request.name], create="unclear" if took_effect else "unclear_lost")
        self.courses[request.name] = course
        try:
            await engine.create(request)
        except CreateUnclear:
            return
        raise AssertionError("the create was answered")

    def left(self) -> list[str]:
        return []


# --- running a scenario ------------------------------------------------------------------------------


def run_local(scenario: Scenario, path: Path) -> None:
    """Run it, stop what it left, and look in /proc that nothing is left."""
    world = LocalWorld(path)

    async def main() -> None:
        engine = world.open()
        try:
            await scenario(world, engine)
        finally:
            await _stop_all(world, engine)

    anyio.run(main)
    # A supervisor that has written its last word takes a moment to exit.
    wait_until(lambda: not world.left(), 5.0)


async def _stop_all(world: LocalWorld, engine: Engine) -> None:
    for request in world.requests:
        for workload in (await engine.list(scope(request))).workloads:
            await engine.stop(workload.id)
            await ended(world, engine, workload.id)


def run_simulated(scenario: Scenario, path: Path) -> None:
    """Run it under virtual time."""

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            world = SimWorld(tasks)
            await scenario(world, world.open())
            tasks.cancel_scope.cancel()

    anyio.run(main, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)})


RUN: dict[str, Callable[[Scenario, Path], None]] = {"local": run_local, "simulated": run_simulated}


async def until(world: World, holds: Callable[[], Awaitable[bool]], seconds: float = 30.0) -> None:
    """Fail unless `holds` becomes true."""
    deadline = (await world.clock.now()).mono + seconds
    while not await holds():
        assert (await world.clock.now()).mono < deadline, f"not within {seconds:g} s"
        await world.clock.sleep(0.02)


async def in_phase(world: World, engine: Engine, workload_id: str, *phases: Phase) -> Workload:
    """The workload once it is in one of `phases`."""

    async def holds() -> bool:
        return (await engine.get(workload_id)).phase in phases

    await until(world, holds)
    return await engine.get(workload_id)


async def ended(world: World, engine: Engine, workload_id: str) -> Workload:
    """The workload once nothing of it runs."""
    return await in_phase(world, engine, workload_id, *(phase for phase in Phase if phase.terminal))


async def listed(world: World, engine: Engine, where: Scope) -> tuple[Workload, ...]:
    """A complete list, after the declared lag."""
    await world.clock.sleep(engine.capabilities.list_lag)
    listing = await engine.list(where)
    assert listing.complete
    return listing.workloads
