"""Workloads whose registry entry was removed, torn or made anew while they run: never vanished, and still stopped."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.bootstrap.containment import Census
from gate.bootstrap.supervise_files import REQUEST, STATUS
from gate.contracts import Phase
from gate.engines.local.engine import LocalEngine
from gate.errors import EngineRefused, EngineUnreachable, WorkloadNotFound
from tests.conformance.engine_worlds import Job, LocalWorld, in_phase, run_local, scope, until


def removed(entry: Path) -> None:
    shutil.rmtree(entry)


def registry_removed(entry: Path) -> None:
    shutil.rmtree(entry.parent)


def request_torn(entry: Path) -> None:
    (entry / REQUEST).write_text("{")


def status_torn(entry: Path) -> None:
    (entry / STATUS).write_bytes(b"\0" * 100)


async def gone(engine: LocalEngine, workload_id: str) -> bool:
    try:
        return (await engine.get(workload_id)).phase.terminal
    except (WorkloadNotFound, EngineUnreachable):
        return True


@pytest.mark.parametrize("damage", [removed, registry_removed, request_torn, status_torn])
def test_a_workload_runs_on_whatever_becomes_of_its_entry(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job())
        created = await engine.create(request)
        await in_phase(world, engine, created, Phase.RUNNING)
        damage(world.registry / request.name)
        anew = world.open()
        found = await anew.get(created)
        assert (found.id, found.phase) == (created, Phase.RUNNING)
        assert f"its supervisor {created.split(':')[2]} runs on" in found.message
        await anew.stop(created)

        async def ended() -> bool:
            return not world.left() and await gone(anew, created)

        await until(world, ended)

    run_local(scenario, tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("damage", [removed, request_torn])
def test_what_a_killed_supervisor_left_is_found_so_too(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job())
        other = world.request(Job(tag=request.tag, workload="other"))
        created = await engine.create(request)
        await in_phase(world, engine, created, Phase.RUNNING)
        await in_phase(world, engine, await engine.create(other), Phase.RUNNING)
        damage(world.registry / request.name)
        os.kill(int(created.split(":")[2]), signal.SIGKILL)

        async def orphaned() -> bool:
            return "of its processes runs on" in (await engine.get(created)).message

        await until(world, orphaned)
        await engine.stop(created)
        assert Census().workload(request.tag, request.workload) == ()
        assert await gone(engine, created)
        assert Census().workload(other.tag, other.workload), "another workload of the tag was ended too"

    run_local(scenario, tmp_path)  # type: ignore[arg-type]


def test_a_torn_entry_of_another_tag_hides_nothing_of_this_one(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job())
        await engine.create(request)
        torn = world.registry / "g-other-bbbbbbbbbb~1.2"
        torn.mkdir()
        (torn / REQUEST).write_bytes(b"")
        assert (await engine.list(scope(request))).complete

    run_local(scenario, tmp_path)  # type: ignore[arg-type]


def test_a_name_whose_entry_is_torn_is_refused_and_says_so(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job())
        entry = world.registry / request.name
        entry.mkdir(parents=True)
        (entry / REQUEST).write_bytes(b"")
        with pytest.raises(EngineRefused, match="cannot be read"):
            await engine.create(request)
        shutil.rmtree(entry)

    run_local(scenario, tmp_path)  # type: ignore[arg-type]


def test_a_status_that_cannot_be_written_ends_no_workload_and_is_written_later(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job(seconds=0.5, exit_code=3))
        created = await engine.create(request)
        await in_phase(world, engine, created, Phase.RUNNING)
        entry = world.registry / request.name
        aside = entry.with_name(".aside")
        entry.rename(aside)

        async def bootstrap_ended() -> bool:
            return not Census().workload(request.tag, request.workload)

        await until(world, bootstrap_ended)
        aside.rename(entry)

        async def told() -> bool:
            return (await engine.get(created)).exit_code == 3

        await until(world, told)

    run_local(scenario, tmp_path)  # type: ignore[arg-type]
