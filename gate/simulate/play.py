"""Play a gate through in virtual time: the real dispatcher, bootstraps, poller and reaper in a simulated world."""

from __future__ import annotations

import math
from dataclasses import replace

import anyio
import trio

from gate.dispatch.world import Order
from gate.plan.model import Plan
from gate.simulate.assemble import assemble
from gate.simulate.determinism import MockClock, deterministic
from gate.simulate.jobs import START, Job
from gate.simulate.neighbours import move_in
from gate.simulate.played import Played
from gate.simulate.scenario import Scenario
from gate.simulate.store import MemoryDisk
from gate.simulate.world import NEWER, RUN, Reporters, RunSpace, World, build


def play(
    plan: Plan,
    scenario: Scenario,
    seed: int = 0,
    *,
    reporters: Reporters | None = None,
    rate: float | None = None,
) -> Played:
    """Play `plan` in the world of `scenario` and return what came of it; the same for the same arguments.

    `rate`: virtual seconds in one of ours, for watching; None: as fast as it goes. `reporters` makes further reporters
    for each poller. Blocks; call it from no event loop.
    """
    clock = MockClock(autojump_threshold=0) if rate is None else MockClock(rate=rate)
    instruments = () if rate is None else (_Pace(clock, rate),)
    with deterministic(f"{seed}/tasks"):
        try:
            return trio.run(_play, plan, scenario, seed, reporters, clock=clock, instruments=instruments)
        except BaseExceptionGroup as group:  # noqa: F821 - simulations run at the runner, on Python 3.11 or newer
            if group.subgroup(KeyboardInterrupt) is not None:
                raise KeyboardInterrupt from None
            raise


class _Pace(trio.abc.Instrument):
    """The clock runs at its rate while everybody waits: what this machine computes takes no time of the gate."""

    def __init__(self, clock: MockClock, rate: float) -> None:
        self._clock = clock
        self._rate = rate

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._clock.rate = 0.0

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self._clock.rate = self._rate


async def _play(plan: Plan, scenario: Scenario, seed: int, reporters: Reporters | None) -> Played:
    async with anyio.create_task_group() as tasks, trio.open_nursery() as nursery:
        world = build(plan, scenario, seed, tasks, nursery, reporters)
        if scenario.neighbours and plan.workloads:
            await move_in(world)
        world.troubles.begin(world)
        jobs, codes = await _jobs(world)
        await _drain(world)
        played = await assemble(world, seed, jobs, codes)
        for life in world.lives:
            life.die()
        tasks.cancel_scope.cancel()
        nursery.cancel_scope.cancel()
    return played


async def _jobs(world: World) -> tuple[list[Job], list[int]]:
    """The run's attempts one after the other, then the newer run, if there is one."""
    space = world.runs[RUN]
    jobs, codes = [], []
    job = Job(world, space, Order(RUN), _ci(RUN, 1))
    for at, fault in world.troubles.cancels():
        world.later(at, lambda job=job, signal=fault.signal: world.nursery.start_soon(job.cancel, signal))  # type: ignore[misc]
    jobs.append(job)
    codes.append(await _run(world, job))
    for number, rerun in enumerate(world.scenario.reruns, start=2):
        await trio.sleep(rerun.after)
        job = Job(world, space, Order(RUN, fresh=rerun.fresh), _ci(RUN, number))
        jobs.append(job)
        codes.append(await _run(world, job))
    if world.troubles.newer_at() is not None:
        await trio.sleep(START)
        plan = replace(world.plan, version=f"{world.plan.version}+newer", commit="n" * 40)
        world.runs[NEWER] = RunSpace(NEWER, plan, MemoryDisk())
        job = Job(world, world.runs[NEWER], Order(NEWER), _ci(NEWER, 1))
        jobs.append(job)
        await _run(world, job)
    return jobs, codes


async def _run(world: World, job: Job) -> int:
    """One job, cancelled by its CI when its time is up."""
    limit = world.plan.poll.job

    async def time_out() -> None:
        await trio.sleep(math.inf if limit is None else limit)
        await job.cancel(15)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(time_out)
        code = await job.run()
        nursery.cancel_scope.cancel()
    return code


async def _drain(world: World) -> None:
    """Until every workload of these runs is over, or nothing more can come."""
    plan = world.plan
    longest = max((workload.timeout for workload in plan.workloads), default=0.0)
    with trio.move_on_after(longest + plan.poll.queue + plan.keep_on_fail + 3600):
        await world.engine.until_over(world.owns)


def _ci(run: str, attempt: int) -> dict[str, str]:
    return {"GITHUB_RUN_ID": run, "GITHUB_RUN_ATTEMPT": str(attempt)}
