"""What every engine does, whichever it is. `engine_worlds.RUN` lists those that are held to it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.bootstrap import exits
from gate.contracts import Capabilities, Engine, Phase, Scope
from gate.engines import KINDS, capabilities_of
from gate.errors import EngineAuthError, EngineRefused, EngineUnreachable, WorkloadNotFound
from gate.machines.observations import BlindKind
from gate.plan import identity
from gate.simulate.clock import SimClock
from gate.simulate.engine import CAPABILITIES
from gate.simulate.faults import PATIENCE, Blind, FaultyEngine
from tests.conformance.engine_worlds import RUN, Job, Scenario, World, ended, in_phase, listed, scope, until
from tests.conformance.engine_worlds_safe import run_safe
from tests.conformance.engine_worlds_slurm import run_slurm

WORLDS: dict[str, Callable[[Scenario, Path], None]] = {**RUN, "safe": run_safe}
"""Engines that anybody can start."""
REAL: dict[str, Callable[[Scenario, Path], None]] = {"slurm": run_slurm}
"""Engines that need a cluster: `make test-engines`."""
Run = Callable[[Scenario], None]


@pytest.fixture(params=[*sorted(WORLDS), *(pytest.param(kind, marks=pytest.mark.engines) for kind in sorted(REAL))])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    """Runs a scenario in a world of each kind; a real engine is brought up by the fixture of its own name."""
    if request.param in WORLDS:
        return lambda scenario: WORLDS[request.param](scenario, tmp_path)
    request.getfixturevalue(request.param)
    return lambda scenario: REAL[request.param](scenario, tmp_path)


# --- create and list ---------------------------------------------------------------------------------


def test_created_is_listed_under_its_tag_and_known_by_its_id(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        request = world.request(Job())
        created = await engine.create(request)
        (found,) = await listed(world, engine, scope(request))
        assert (found.id, found.name, found.tag, found.run, found.ref) == (
            created,
            request.name,
            request.tag,
            request.run,
            request.ref,
        )
        assert found.restarts == 0
        assert (await engine.get(created)).id == created

    run(scenario)


def test_lists_are_scoped(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        ours = world.request(Job(seconds=0.0, ref="refs/heads/a"))
        others = world.request(Job(seconds=0.0, ref="refs/heads/b"))
        for request in (ours, others):
            await engine.create(request)

        async def names(where: Scope) -> set[str]:
            return {workload.name for workload in await listed(world, engine, where)}

        repository = ours.repository
        assert await names(Scope(repository, "g")) == {ours.name, others.name}
        assert await names(Scope(repository, "g", ref="refs/heads/a")) == {ours.name}
        assert await names(Scope(repository, "g", tag=others.tag)) == {others.name}
        assert await names(Scope(repository, "g", ref="refs/heads/a", tag=others.tag)) == set()
        assert await names(Scope("local/other", "g")) == set()
        assert await names(Scope(repository, "other")) == set()

    run(scenario)


def test_duplicate_of_a_live_name_is_refused_and_the_first_lives_on(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        request = world.request(Job())
        created = await engine.create(request)
        with pytest.raises(EngineRefused):
            await engine.create(request)
        assert [each.id for each in await listed(world, engine, scope(request))] == [created]
        await in_phase(world, engine, created, Phase.RUNNING)

    run(scenario)


def test_name_of_an_ended_workload_can_be_used_again_and_both_are_known(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        request = world.request(Job(seconds=0.0))
        first = await engine.create(request)
        await ended(world, engine, first)
        second = await engine.create(world.request(Job(tag=request.tag)))
        assert second != first
        assert (await engine.get(first)).phase is Phase.SUCCEEDED
        await in_phase(world, engine, second, Phase.RUNNING)
        assert {each.id for each in await listed(world, engine, scope(request))} == {first, second}
        await engine.stop(first)
        assert (await engine.get(second)).phase is Phase.RUNNING

    run(scenario)


def test_create_without_an_answer_that_took_effect_is_found_by_its_tag(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        request = world.request(Job())
        await world.unclear(engine, request, took_effect=True)
        (found,) = await listed(world, engine, scope(request))
        assert found.name == request.name
        await in_phase(world, engine, found.id, Phase.RUNNING)
        with pytest.raises(EngineRefused):
            await engine.create(request)
        await engine.stop(found.id)
        assert (await ended(world, engine, found.id)).phase is Phase.STOPPED

    run(scenario)


def test_create_without_an_answer_that_took_no_effect_leaves_nothing_and_can_be_made_again(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        request = world.request(Job())
        await world.unclear(engine, request, took_effect=False)
        assert await listed(world, engine, scope(request)) == ()
        again = world.request(Job(tag=request.tag))
        created = await engine.create(again)
        await in_phase(world, engine, created, Phase.RUNNING)

    run(scenario)


def test_unknown_ids_are_not_found(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        created = await engine.create(world.request(Job(seconds=0.0)))
        for unknown in ("", "nonsense", created + "0"):
            with pytest.raises(WorkloadNotFound):
                await engine.get(unknown)
            with pytest.raises(WorkloadNotFound):
                await engine.logs(unknown, 0, 10)

    run(scenario)


# --- phases ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 10, 137])
def test_phases_lead_to_the_exit_code(run: Run, code: int) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        request = world.request(Job(seconds=0.3, exit_code=code))
        created = await engine.create(request)
        assert (await engine.get(created)).exit_code is None
        await in_phase(world, engine, created, Phase.RUNNING)
        found = await ended(world, engine, created)
        assert (found.phase, found.reason, found.exit_code) == (
            Phase.SUCCEEDED if code == 0 else Phase.FAILED,
            "exit",
            code,
        )
        assert await engine.get(created) == found
        assert (await listed(world, engine, scope(request))) == (found,)

    run(scenario)


def test_time_out_ends_it_and_says_so(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        created = await engine.create(world.request(Job(timeout=0.5)))
        found = await ended(world, engine, created)
        assert (found.phase, found.reason, found.exit_code) == (Phase.FAILED, "timeout", exits.TIMED_OUT)

    run(scenario)


def test_what_does_not_fit_is_pending_with_its_place(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        await world.occupy(engine)
        first, second = world.request(Job(gpus=1)), world.request(Job(gpus=1))
        ids = [await engine.create(first), await engine.create(second)]

        async def placed() -> bool:
            found = [await engine.get(each) for each in ids]
            assert [each.phase for each in found] == [Phase.PENDING, Phase.PENDING]
            return [each.queue_position for each in found] == [1, 2]

        await until(world, placed, engine.capabilities.list_lag + 5)

    run(scenario)


# --- stop --------------------------------------------------------------------------------------------


def test_stop_of_a_running_one_is_seen(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        created = await engine.create(world.request(Job()))
        await in_phase(world, engine, created, Phase.RUNNING)
        for _ in range(3):
            await engine.stop(created)
        found = await ended(world, engine, created)
        assert (found.phase, found.reason) == (Phase.STOPPED, "stopped")

    run(scenario)


def test_stop_of_a_pending_one(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        await world.occupy(engine)
        created = await engine.create(world.request(Job(gpus=1)))
        await in_phase(world, engine, created, Phase.PENDING)
        await engine.stop(created)
        assert (await ended(world, engine, created)).phase is Phase.STOPPED

    run(scenario)


def test_stop_of_a_finished_one_changes_nothing(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        created = await engine.create(world.request(Job(seconds=0.0, exit_code=10)))
        found = await ended(world, engine, created)
        await engine.stop(created)
        assert await engine.get(created) == found

    run(scenario)


def test_stop_of_an_unknown_one_is_no_error(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        for unknown in ("", "nonsense", "sim-999"):
            await engine.stop(unknown)

    run(scenario)


def test_stop_before_the_create_is_seen(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        request = world.request(Job())
        created = await engine.create(request)
        await engine.stop(created)
        assert (await ended(world, engine, created)).phase is Phase.STOPPED
        (found,) = await listed(world, engine, scope(request))
        assert found.phase is Phase.STOPPED

    run(scenario)


def test_stop_touches_nothing_of_another_tag(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        ours, other = world.request(Job()), world.request(Job())
        ids = [await engine.create(ours), await engine.create(other)]
        for each in ids:
            await in_phase(world, engine, each, Phase.RUNNING)
        await engine.stop(ids[0])
        await ended(world, engine, ids[0])
        assert (await engine.get(ids[1])).phase is Phase.RUNNING

    run(scenario)


# --- logs --------------------------------------------------------------------------------------------


def test_logs_while_it_runs_and_after_its_end(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        said = "first line, second line, the end"
        created = await engine.create(world.request(Job(output=said)))

        async def has_said() -> bool:
            return said.encode() in (await engine.logs(created, 0, 10_000)).data

        await until(world, has_said)
        running = await engine.logs(created, 0, 10_000)
        assert not running.ended
        assert running.next_offset == len(running.data)
        assert (await engine.logs(created, running.next_offset, 100)).data == b""
        await engine.stop(created)
        await ended(world, engine, created)
        offset, pieces = 0, b""
        while True:
            chunk = await engine.logs(created, offset, 7)
            assert len(chunk.data) <= 7
            pieces, offset = pieces + chunk.data, chunk.next_offset
            if chunk.ended:
                break
            assert chunk.data
        assert pieces.startswith(running.data)
        assert (await engine.logs(created, 0, 10_000)).data == pieces
        assert (await engine.logs(created, -5, 10_000)).data == pieces[-5:]
        assert (await engine.logs(created, -10_000, 5)).data == pieces[:5]

    run(scenario)


# --- other processes ---------------------------------------------------------------------------------


def test_another_process_sees_and_stops_the_same(run: Run) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        request = world.request(Job())
        created = await engine.create(request)
        await in_phase(world, engine, created, Phase.RUNNING)
        await engine.aclose()
        other = world.open()
        (found,) = await listed(world, other, scope(request))
        assert (found.id, found.phase) == (created, Phase.RUNNING)
        await other.stop(created)
        assert await ended(world, other, created) == await ended(world, world.open(), created)

    run(scenario)


@pytest.mark.parametrize(
    ("kind", "of_list", "of_get"),
    [
        ("refused", EngineUnreachable, EngineUnreachable),
        ("timed_out", EngineUnreachable, EngineUnreachable),
        ("rejected", EngineAuthError, EngineAuthError),
        ("gone", EngineUnreachable, WorkloadNotFound),
        ("error", EngineUnreachable, EngineUnreachable),
    ],
)
def test_outage_has_its_own_errors_and_changes_nothing(
    tmp_path: Path, kind: BlindKind, of_list: type[Exception], of_get: type[Exception]
) -> None:
    async def scenario(world: World, engine: Engine) -> None:
        assert isinstance(world.clock, SimClock)
        request = world.request(Job(timeout=600.0))
        created = await engine.create(request)
        await in_phase(world, engine, created, Phase.RUNNING)
        now = (await world.clock.now()).mono
        faulty = FaultyEngine(engine, world.clock, (Blind(now, now + 100, kind),), slow=1.5)
        with pytest.raises(of_list):
            await faulty.list(scope(request))
        with pytest.raises(of_get):
            await faulty.get(created)
        with pytest.raises(of_list):
            await faulty.stop(created)
        assert (await world.clock.now()).mono == pytest.approx(now + (3 * PATIENCE if kind == "timed_out" else 0))
        await world.clock.sleep(100)
        assert (await faulty.get(created)).phase is Phase.RUNNING

    RUN["simulated"](scenario, tmp_path)


# --- names -------------------------------------------------------------------------------------------

NAMES = st.text(st.sampled_from("abcXYZ019-_./ äß🙂"), min_size=1, max_size=80)
TAGS = st.text(st.sampled_from("abcdefghijklmnopqrstuvwxyz234567"), min_size=10, max_size=10)


@pytest.mark.parametrize("capabilities", [*map(capabilities_of, KINDS), CAPABILITIES], ids=[*KINDS, "simulated"])
@given(first=st.tuples(NAMES, NAMES, TAGS), second=st.tuples(NAMES, NAMES, TAGS))
def test_names_are_valid_and_unique(
    capabilities: Capabilities, first: tuple[str, str, str], second: tuple[str, str, str]
) -> None:
    names = [identity.workload_name(*each, capabilities.max_name) for each in (first, second)]
    for name in names:
        assert len(name) <= capabilities.max_name
        assert re.fullmatch(capabilities.name_pattern, name)
    assert (names[0] == names[1]) == (first == second)
