"""The local engine's own ways: ids, slots, deaths, secrets. What every engine does is in tests/conformance."""

# ruff: noqa: ASYNC220, ASYNC240 - these loops have nothing else to do while a test reads a file or starts a process

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from gate.bootstrap import containment_process as proc
from gate.bootstrap.containment import Census
from gate.bootstrap.supervise_files import LOG, REQUEST, STATUS, LocalRequest, Supervised, Survivor, write
from gate.bootstrap.supervise_log import cap
from gate.contracts import Phase, Scope, Workload
from gate.documents import dump, load
from gate.engines import ANNOUNCED, capabilities_of, open_engine
from gate.engines.local import engine as engine_module
from gate.engines.local import registry as registry_module
from gate.engines.local.engine import LocalEngine, Program
from gate.engines.local.limits import Slots
from gate.engines.local.logs import read_log
from gate.errors import CapabilityError, ConfigError, EngineRefused, EngineUnreachable
from gate.plan.model import EnginePlan
from tests.bootstrap.supervise_harness import ESCAPE_ARTIST, PROGRAM, REPOSITORY, USERS, bench
from tests.conformance.engine_worlds import (
    Job,
    LocalWorld,
    ended,
    in_phase,
    listed,
    local_engine,
    run_local,
    scope,
    until,
)

Scenario = Callable[[LocalWorld, LocalEngine], Awaitable[None]]


def play(scenario: Scenario, path: Path) -> None:
    run_local(scenario, path)  # type: ignore[arg-type]  # a local world is what it gets


def script(world: LocalWorld, request_assignment: str, text: str) -> None:
    """Replace what the workload runs."""
    (world.path / "run" / f"{request_assignment}.sh").write_text(text, encoding="utf-8")


def status_of(world: LocalWorld, name: str) -> Supervised:
    path = world.registry / name / STATUS
    return load(Supervised, path.read_bytes(), str(path))


# --- ids ---------------------------------------------------------------------------------------------


def test_id_carries_host_boot_pid_and_start_time(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job())
        created = await engine.create(request)
        _, boot, pid, start, name = created.split(":")
        assert boot == Path("/proc/sys/kernel/random/boot_id").read_text()[:8]
        assert name == request.name
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        assert stat[19] == start

    play(scenario, tmp_path)


def test_workload_of_another_machine_cannot_be_seen_and_never_vanished(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        host, boot, *rest = (await engine.create(world.request(Job()))).split(":")
        there = ":".join((host, "0" * len(boot), *rest))
        elsewhere = local_engine(tmp_path / "elsewhere")
        for call in (elsewhere.get(there), elsewhere.stop(there), elsewhere.logs(there, 0, 1)):
            with pytest.raises(EngineUnreachable, match="cannot be seen from here"):
                await call

    play(scenario, tmp_path)


def test_registry_on_a_shared_home_shows_other_hosts_as_unknown(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job(seconds=0.0))
        await ended(world, engine, await engine.create(request))
        rewrite(world, request.name, host="other-abc123")
        (found,) = await listed(world, world.open(), scope(request))
        assert found.phase is Phase.UNKNOWN
        assert "other-abc123" in found.message
        rewrite(world, request.name, host=next((world.registry / ".hosts").iterdir()).read_text())

    play(scenario, tmp_path)


def test_workload_of_an_earlier_boot_is_lost(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job(seconds=0.0))
        created = await engine.create(request)
        await ended(world, engine, created)
        running = replace(status_of(world, request.name), phase="running", exit_code=None, reason="")
        write(world.registry / request.name / STATUS, running)
        rewrite(world, request.name, boot="0" * 8)
        host, _, *rest = created.split(":")
        (found,) = await listed(world, engine, scope(request))
        assert found.id == ":".join((host, "0" * 8, *rest))
        assert (found.phase, found.reason) == (Phase.FAILED, "lost")
        assert "restarted" in found.message
        await engine.stop(found.id)

    play(scenario, tmp_path)


def rewrite(world: LocalWorld, name: str, **changes: str) -> None:
    path = world.registry / name / REQUEST
    write(path, replace(load(LocalRequest, path.read_bytes(), ""), **changes))  # type: ignore[arg-type]


# --- deaths ------------------------------------------------------------------------------------------


def test_supervisor_killed_is_running_while_processes_live_and_lost_after_a_stop(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job())
        script(world, request.assignment, f"exec {sys.executable} -c '{ESCAPE_ARTIST}\ntime.sleep(300)'")
        created = await engine.create(request)

        async def spread() -> bool:
            return len(Census().workload(request.tag, "w")) >= 6

        await until(world, spread)
        os.kill(int(created.split(":")[2]), signal.SIGKILL)

        async def orphaned() -> bool:
            return "supervisor was killed" in (await engine.get(created)).message

        await until(world, orphaned)
        found = await engine.get(created)
        assert found.phase is Phase.RUNNING
        with pytest.raises(EngineRefused):
            await engine.create(request)
        await engine.stop(created)
        found = await engine.get(created)
        assert (found.phase, found.reason) == (Phase.FAILED, "lost")
        assert Census().workload(request.tag, "w") == ()
        (again,) = await listed(world, world.open(), scope(request))
        assert again == found

    play(scenario, tmp_path)


def test_workload_ended_with_survivors_runs_until_they_are_gone(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job(seconds=0.0))
        created = await engine.create(request)
        await ended(world, engine, created)
        with subprocess.Popen(["sleep", "300"]) as stuck:
            start = int(Path(f"/proc/{stuck.pid}/stat").read_text().rpartition(") ")[2].split()[19])
            status = replace(status_of(world, request.name), survivors=(Survivor(stuck.pid, start, "sleep 300"),))
            write(world.registry / request.name / STATUS, status)
            found = await engine.get(created)
            assert found.phase is Phase.RUNNING
            assert f"{stuck.pid} sleep 300" in found.message
            stuck.kill()
            stuck.wait()
        assert (await engine.get(created)).phase is Phase.SUCCEEDED

    play(scenario, tmp_path)


@pytest.mark.parametrize("took_effect", [True, False])
def test_inspect81_dispatcher_killed_at_the_spawn(tmp_path: Path, took_effect: bool) -> None:
    """A crash between the create request and its id is found by tag; a create without effect leaves nothing."""

    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job())
        await world.unclear(engine, request, took_effect=took_effect)
        found = await listed(world, engine, scope(request))
        assert [each.name for each in found] == ([request.name] if took_effect else [])
        for each in found:
            await engine.stop(each.id)
            await ended(world, engine, each.id)

    play(scenario, tmp_path)


def test_workload_survives_the_clean_up_of_a_ci_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GitHub's runner ends what carries its RUNNER_TRACKING_ID when a job is over."""
    monkeypatch.setenv("RUNNER_TRACKING_ID", "github_test")
    monkeypatch.setenv("GITHUB_TOKEN", "not-for-the-leg")

    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job())
        created = await engine.create(request)
        await in_phase(world, engine, created, Phase.RUNNING)
        supervisor = int(created.split(":")[2])
        for pid in (supervisor, *(each.pid for each in Census().workload(request.tag, "w"))):
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            assert b"RUNNER_TRACKING_ID" not in environment
            assert b"not-for-the-leg" not in environment
            assert b"PLAIN=value" in environment
        assert os.getsid(supervisor) == supervisor
        said = (await engine.logs(created, 0, 10_000)).data.decode()
        assert "RUNNER_TRACKING_ID is dropped" in said
        assert "GITHUB_TOKEN is not passed on" in said

    play(scenario, tmp_path)


def test_supervisor_that_dies_at_once_is_a_refusal_that_says_why(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job())
        broken = Program(supervisor=(sys.executable, "{pyz}", "supervise"))
        with pytest.raises(EngineRefused, match=r"gate\.pyz"):
            await LocalEngine(world.registry, Slots(2, 1), broken).create(request)
        assert await listed(world, engine, scope(request)) == ()
        assert not (world.registry / request.name).exists()

    play(scenario, tmp_path)


def test_supervisor_that_starts_slowly_is_pending_and_can_be_stopped_before_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "SETTLE_SECONDS", 0.2)

    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job())
        slowly = f"import time; time.sleep(1.5); {PROGRAM}"
        slow = LocalEngine(
            world.registry,
            Slots(2, 1),
            replace(engine._program, supervisor=(sys.executable, "-c", slowly, "supervise")),
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(slow.create, request)

            async def seen() -> bool:
                return (await engine.list(scope(request))).workloads != ()

            await until(world, seen)
            (found,) = (await engine.list(scope(request))).workloads
            assert found.phase is Phase.PENDING
            assert (await engine.get(found.id)).id == found.id
            await engine.stop(found.id)
        last = await ended(world, engine, found.id)
        assert (last.phase, last.message) == (Phase.STOPPED, "stopped before it was started")
        assert "started under" not in (await engine.logs(found.id, 0, 10_000)).data.decode()

    play(scenario, tmp_path)


RACER = """
import pickle, sys, anyio
from gate.errors import EngineRefused
from tests.conformance.engine_worlds import local_engine
registry, request = pickle.loads(sys.stdin.buffer.read())
try:
    print(anyio.run(local_engine(registry).create, request))
except EngineRefused as error:
    print("refused")
"""


def test_of_two_dispatchers_one_creates(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job())
        racers = [
            subprocess.Popen([sys.executable, "-c", RACER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            for _ in range(3)
        ]
        given = pickle.dumps((world.registry, request))
        said = []
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write(given)
            racer.stdin.close()
        for racer in racers:
            assert racer.stdout is not None
            said.append(racer.stdout.read().decode().strip())
            racer.stdout.close()
            racer.wait()
        assert sorted(each == "refused" for each in said) == [False, True, True]
        (found,) = await listed(world, engine, scope(request))
        assert found.id in said

    play(scenario, tmp_path)


def test_engine_works_for_an_ordinary_user(tmp_path: Path) -> None:
    """Create, see, kill its supervisor, stop: nothing is left. As root it runs as nobody, in a process of its own."""
    user = USERS[-1]
    with bench(user) as made:
        packages = Path(anyio.__file__).parents[1]
        done = subprocess.run(
            [made.python, "-c", ORDINARY, str(made.path)],
            env={**os.environ, "PYTHONPATH": f"{REPOSITORY}:{packages}", "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/"},
            user=user if user != USERS[0] else None,
            cwd=made.path,
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.stdout.split() == ["Running", "killed:Running", "Failed", "lost"], done.stderr
        assert [pid for pid in proc.pids() if str(made.path).encode() in proc.read(f"/proc/{pid}/cmdline")] == []


ORDINARY = """
import os, signal, sys
from pathlib import Path
import anyio
from gate.contracts import Phase
from tests.conformance.engine_worlds import Job, LocalWorld, in_phase, until

async def main():
    world = LocalWorld(Path(sys.argv[1]))
    engine = world.open()
    created = await engine.create(world.request(Job()))
    print((await in_phase(world, engine, created, Phase.RUNNING)).phase.value)
    os.kill(int(created.split(":")[2]), signal.SIGKILL)
    async def seen():
        return "was killed" in (await engine.get(created)).message
    await until(world, seen)
    print("killed:" + (await engine.get(created)).phase.value)
    await engine.stop(created)
    found = await engine.get(created)
    print(found.phase.value, found.reason)
    assert world.left() == []

anyio.run(main)
"""


# --- slots -------------------------------------------------------------------------------------------


async def running(world: LocalWorld, engine: LocalEngine, workload_id: str) -> Workload:
    return await in_phase(world, engine, workload_id, Phase.RUNNING)


def test_gpus_are_given_out_first_come_and_named_to_the_workload(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        two = LocalEngine(world.registry, Slots(cpus=4, gpus=2), engine._program)
        requests = [world.request(Job(gpus=gpus)) for gpus in (1, 2, 1)]
        for request in requests:
            script(world, request.assignment, 'echo "cards $CUDA_VISIBLE_DEVICES"; sleep 300')
        ids = [await two.create(request) for request in requests]
        await running(world, two, ids[0])
        assert status_of(world, requests[0].name).gpus == (0,)
        # The third would fit, but the second was first.
        assert [(await two.get(each)).phase for each in ids[1:]] == [Phase.PENDING, Phase.PENDING]
        assert [(await two.get(each)).queue_position for each in ids[1:]] == [1, 2]
        await two.stop(ids[0])
        await running(world, two, ids[1])
        assert (await two.get(ids[2])).queue_position == 1
        await two.stop(ids[1])
        await running(world, two, ids[2])

        async def said() -> bool:
            chunks = [(await two.logs(each, 0, 10_000)).data for each in ids]
            wanted = (b"cards 0\n", b"cards 0,1\n", b"cards 0\n")
            return all(word in chunk for word, chunk in zip(wanted, chunks, strict=True))

        await until(world, said)

    play(scenario, tmp_path)


def test_slot_of_a_killed_supervisor_is_free_only_when_its_processes_are_gone(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        first, second = world.request(Job(gpus=1)), world.request(Job(gpus=1))
        holder = await engine.create(first)
        await running(world, engine, holder)
        os.kill(int(holder.split(":")[2]), signal.SIGKILL)
        waiting = await engine.create(second)
        await anyio.sleep(1.0)
        assert (await engine.get(waiting)).phase is Phase.PENDING
        assert (await engine.get(holder)).phase is Phase.RUNNING
        await engine.stop(holder)
        await running(world, engine, waiting)

    play(scenario, tmp_path)


def test_killed_one_in_the_queue_holds_nobody_up(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        ids = [await engine.create(world.request(Job(gpus=1))) for _ in range(3)]
        await running(world, engine, ids[0])
        os.kill(int(ids[1].split(":")[2]), signal.SIGKILL)
        await engine.stop(ids[0])
        await running(world, engine, ids[2])
        assert (await engine.get(ids[1])).reason == "lost"

    play(scenario, tmp_path)


def test_what_can_never_fit_is_refused_with_all_reasons(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job(gpus=2))
        greedy = replace(request, resources=replace(request.resources, cpus=64, image="x@sha256:0", privileged=True))
        with pytest.raises(EngineRefused) as error:
            await engine.create(greedy)
        for words in ("2 GPUs, and there are 1", "64 CPUs, and there are 2", "image", "privileges"):
            assert words in error.value.message
        assert await listed(world, engine, scope(request)) == ()

    play(scenario, tmp_path)


# --- secrets, logs, memory ---------------------------------------------------------------------------


def test_secrets_stand_in_no_file_and_no_argv(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job(secrets=(("API_KEY", "very-secret-value"),)))
        script(world, request.assignment, 'test "$API_KEY" = very-secret-value && echo has it; sleep 300')
        created = await engine.create(request)

        async def said() -> bool:
            return b"has it" in (await engine.logs(created, 0, 10_000)).data

        await until(world, said)
        for path in world.registry.rglob("*"):
            assert not path.is_file() or b"very-secret" not in path.read_bytes()
        assert [pid for pid in proc.pids() if b"very-secret" in proc.read(f"/proc/{pid}/cmdline")] == []
        assert load(LocalRequest, (world.registry / request.name / REQUEST).read_bytes(), "").secrets == ("API_KEY",)

    play(scenario, tmp_path)


def test_log_with_its_middle_given_up_is_read_across_the_hole(tmp_path: Path) -> None:
    path = tmp_path / LOG
    lines = b"".join(b"%07d\n" % number for number in range(1 << 17))
    path.write_bytes(lines)
    fd = os.open(path, os.O_RDWR)
    try:
        assert cap(fd, limit=256 * 1024, head=64 * 1024)
        assert os.fstat(fd).st_blocks * 512 <= 256 * 1024
        assert not cap(fd, limit=256 * 1024, head=64 * 1024)
    finally:
        os.close(fd)
    offset, pieces = 0, []
    while True:
        chunk = read_log(path, offset, 50_000, ended=True)
        pieces.append(chunk.data)
        assert chunk.next_offset > offset
        offset = chunk.next_offset
        if chunk.ended:
            break
    kept = b"".join(pieces)
    assert b"\0" not in kept
    assert kept.startswith(lines[: 64 * 1024])
    assert lines.endswith(kept[64 * 1024 :])
    assert len(kept) > 128 * 1024
    assert read_log(path, -8, 100, ended=True).data == lines[-8:]


def test_kept_workload_shows_until_when(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job(seconds=0.0, exit_code=10))
        path = world.path / "run" / request.assignment
        path.write_text(re.sub(r'"keep_on_fail": 0.0', '"keep_on_fail": 30.0', path.read_text()))
        created = await engine.create(request)

        async def kept() -> bool:
            return (await engine.get(created)).kept_until is not None

        await until(world, kept)
        found = await engine.get(created)
        assert found.phase is Phase.RUNNING
        assert found.kept_until == pytest.approx(time.time() + 30, abs=10)
        await engine.stop(created)
        found = await ended(world, engine, created)
        assert (found.phase, found.exit_code, found.kept_until) == (Phase.FAILED, 10, None)

    play(scenario, tmp_path)


def test_registry_forgets_old_ended_workloads_and_no_live_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        alive = await engine.create(world.request(Job()))
        await running(world, engine, alive)
        old = world.request(Job(seconds=0.0))
        await ended(world, engine, await engine.create(old))
        monkeypatch.setattr(registry_module, "KEPT_ENTRIES", 0)
        last = world.request(Job())
        created = await engine.create(last)
        assert not (world.registry / old.name).exists()
        assert (await engine.get(alive)).phase is Phase.RUNNING
        await running(world, engine, created)

    play(scenario, tmp_path)


def test_entry_of_a_newer_gate_makes_the_list_incomplete_and_hides_nothing_else(tmp_path: Path) -> None:
    async def scenario(world: LocalWorld, engine: LocalEngine) -> None:
        request = world.request(Job())
        await engine.create(request)
        newer = world.registry / f"g-newer-{request.tag}"
        newer.mkdir()
        (newer / REQUEST).write_text('{"format": "gate.local.request", "version": 99}')
        listing = await engine.list(scope(request))
        assert len(listing.workloads) == 1
        assert not listing.complete
        (newer / REQUEST).unlink()

    play(scenario, tmp_path)


def test_a_thousand_workloads_are_listed_for_little(tmp_path: Path) -> None:
    root = tmp_path / "local"
    request = LocalRequest(
        "", "w", "abcdefghij", "g", "local/test", "main", "run", ("a",), "", "0" * 8, 0.0, "", 0, 0, 2, 0, ()
    )
    engine = LocalEngine(root, Slots(2, 0))
    for number in range(1000):
        folder = root / f"g-w{number}-abcdefghij"
        folder.mkdir(parents=True)
        status = Supervised("abcdefghij", "w", "h", number + 1, 1, "ended", exit_code=0, reason="exit")
        (folder / REQUEST).write_bytes(dump(replace(request, name=folder.name)))
        (folder / STATUS).write_bytes(dump(status))

    async def main() -> None:
        where = Scope(request.repository, request.gate, tag=request.tag)
        assert len((await engine.list(where)).workloads) == 1000
        spent = []
        for _ in range(3):
            before = time.process_time()
            assert len((await engine.list(where)).workloads) == 1000
            spent.append(time.process_time() - before)
        assert min(spent) < 0.2

    anyio.run(main)


# --- the closed registry of engines ------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*ANNOUNCED, "nonsense"])
def test_other_engines_are_a_clear_error(kind: str) -> None:
    with pytest.raises(CapabilityError, match=kind):
        capabilities_of(kind)
    with pytest.raises(CapabilityError, match=kind):
        open_engine(EnginePlan(kind, {}))  # type: ignore[arg-type]


@pytest.mark.parametrize("parameters", [{"gpu": 1}, {"gpus": -1}, {"gpus": True}, {"cpus": "8"}])
def test_parameters_of_the_local_engine_are_checked(parameters: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=next(iter(parameters))):
        open_engine(EnginePlan("local", parameters))


def test_local_engine_opens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GATE_STATE_DIR", str(tmp_path))
    engine = open_engine(EnginePlan("local", {"gpus": 2}))
    assert engine.kind == "local"
    assert engine.capabilities == capabilities_of("local")
