"""Workloads of the simulated engine that run a function: what a real supervisor does to a process happens to it."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable

import anyio
import pytest
from trio.testing import MockClock

from gate.bootstrap import exits
from gate.contracts import Killed, Phase, StopRequest, WorkloadRequest
from gate.errors import WorkloadNotFound
from gate.simulate.clock import SimClock
from gate.simulate.engine import Course, SimEngine, SimProcess
from tests.conformance.engine_worlds import Job, plain_request

Scenario = Callable[[SimEngine, SimClock], Awaitable[None]]
REQUEST = plain_request(Job(timeout=100.0), "/run")


def play(course: Course, scenario: Scenario) -> None:
    async def main() -> None:
        clock = SimClock()
        async with anyio.create_task_group() as tasks:
            await scenario(SimEngine(clock, tasks, lambda _request: course), clock)
            tasks.cancel_scope.cancel()

    anyio.run(main, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)})


async def obedient(process: SimProcess) -> int:
    process.log.extend(b"up\n")
    await process.signals.wait()
    return exits.STOPPED


async def deaf(_process: SimProcess) -> int:
    await anyio.sleep_forever()
    return 0


def returns(code: int, after: float) -> Callable[[SimProcess], Awaitable[int]]:
    async def process(_process: SimProcess) -> int:
        await anyio.sleep(after)
        return code

    return process


@pytest.mark.parametrize(("code", "phase"), [(0, Phase.SUCCEEDED), (10, Phase.FAILED)])
def test_function_is_the_workload_and_its_result_the_exit_code(code: int, phase: Phase) -> None:
    async def scenario(engine: SimEngine, clock: SimClock) -> None:
        created = await engine.create(REQUEST)
        assert (await engine.get(created)).phase is Phase.PENDING
        await clock.sleep(6)
        assert (await engine.get(created)).phase is Phase.RUNNING
        await clock.sleep(5)
        found = await engine.get(created)
        assert (found.phase, found.exit_code, found.reason) == (phase, code, "exit")

    play(Course(queue=5, process=returns(code, 5)), scenario)


@pytest.mark.parametrize(("process", "after"), [(obedient, 0.0), (deaf, 7.0)])
def test_stop_asks_first_and_uses_force_after_the_grace(
    process: Callable[[SimProcess], Awaitable[int]], after: float
) -> None:
    async def scenario(engine: SimEngine, clock: SimClock) -> None:
        created = await engine.create(REQUEST)
        await clock.sleep(1)
        await engine.stop(created)
        await engine.stop(created)
        await clock.sleep(max(after - 1, 0.1))
        assert (await engine.get(created)).phase is (Phase.RUNNING if after else Phase.STOPPED)
        await clock.sleep(1.1)
        found = await engine.get(created)
        assert (found.phase, found.exit_code) == (Phase.STOPPED, exits.STOPPED)

    play(Course(process=process, grace=7.0), scenario)


def test_time_out_asks_first_and_uses_force_after_the_grace() -> None:
    async def scenario(engine: SimEngine, clock: SimClock) -> None:
        created = await engine.create(REQUEST)
        await clock.sleep(106)
        assert (await engine.get(created)).phase is Phase.RUNNING
        await clock.sleep(2)
        found = await engine.get(created)
        assert (found.phase, found.reason, found.exit_code) == (Phase.FAILED, "timeout", exits.TIMED_OUT)

    play(Course(process=deaf, grace=7.0), scenario)


def test_stop_of_a_queued_one_never_starts_it() -> None:
    started = []

    async def process(_process: SimProcess) -> int:
        started.append(1)
        return 0

    async def scenario(engine: SimEngine, clock: SimClock) -> None:
        created = await engine.create(REQUEST)
        await engine.stop(created)
        await clock.sleep(20)
        assert (await engine.get(created)).phase is Phase.STOPPED
        assert started == []

    play(Course(queue=10, process=process), scenario)


async def dies(_process: SimProcess) -> int:
    raise Killed


async def dies_in_a_task(given: SimProcess) -> int:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(dies, given)
        tasks.start_soon(deaf, given)
    return 0


@pytest.mark.parametrize("process", [dies, dies_in_a_task])
def test_simulated_death_ends_at_the_kernel(process: Callable[[SimProcess], Awaitable[int]]) -> None:
    async def scenario(engine: SimEngine, clock: SimClock) -> None:
        created = await engine.create(REQUEST)
        await clock.sleep(1)
        assert (await engine.get(created)).exit_code == 137

    play(Course(process=process), scenario)


def test_argo8456_preempted_goes_back_to_pending_and_starts_again() -> None:
    starts = []

    async def process(given: SimProcess) -> int:
        starts.append(given.restarts)
        await anyio.sleep(20)
        return 0

    async def scenario(engine: SimEngine, clock: SimClock) -> None:
        created = await engine.create(REQUEST)
        await clock.sleep(10)
        await engine.preempt(created, queue=30)
        assert (await engine.get(created)).phase is Phase.PENDING
        await clock.sleep(31)
        found = await engine.get(created)
        assert (found.phase, found.restarts) == (Phase.RUNNING, 1)
        await clock.sleep(20)
        assert (await engine.get(created)).phase is Phase.SUCCEEDED
        assert starts == [0, 1]

    play(Course(process=process), scenario)


def test_world_ends_and_forgets_workloads() -> None:
    cancelled = []

    async def process(_process: SimProcess) -> int:
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.append(1)
        return 0

    async def scenario(engine: SimEngine, clock: SimClock) -> None:
        first = await engine.create(REQUEST)
        await clock.sleep(1)
        await engine.end(first, "out_of_memory", 137)
        found = await engine.get(first)
        assert (found.phase, found.reason, found.exit_code) == (Phase.FAILED, "out_of_memory", 137)
        second = await engine.create(REQUEST)
        await clock.sleep(1)
        await engine.vanish(second)
        with pytest.raises(WorkloadNotFound):
            await engine.get(second)
        await clock.sleep(1)
        assert cancelled == [1, 1]
        assert (await engine.get(first)) == found
        await clock.sleep(60)
        with pytest.raises(WorkloadNotFound):
            await engine.get(first)

    play(Course(process=process, remembered=60), scenario)


def test_process_sees_one_stop_request_with_its_grace() -> None:
    seen: list[StopRequest] = []

    async def process(given: SimProcess) -> int:
        seen.append(await given.signals.wait())
        return 0

    async def scenario(engine: SimEngine, clock: SimClock) -> None:
        created = await engine.create(REQUEST)
        await clock.sleep(1)
        await engine.stop(created)
        await clock.sleep(0.1)
        assert (await engine.get(created)).phase is Phase.SUCCEEDED
        assert seen == [StopRequest(15, 7.0)]

    play(Course(process=process, grace=7.0), scenario)


def test_workload_without_a_function_costs_no_wake_up() -> None:
    """A thousand that run for hours: the clock jumps once."""

    async def scenario(engine: SimEngine, clock: SimClock) -> None:
        def request(number: int) -> WorkloadRequest:
            return plain_request(Job(timeout=math.inf, workload=f"w{number}"), "/run")

        ids = [await engine.create(request(number)) for number in range(1000)]
        await clock.sleep(36_001)
        assert {(await engine.get(each)).phase for each in ids} == {Phase.SUCCEEDED}

    play(Course(queue=3600, run=32_400), scenario)
