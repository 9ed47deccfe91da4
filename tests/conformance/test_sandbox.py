"""What every backend of sandboxes does, whichever it is. `sandbox_worlds.RUN` lists those that are held to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from gate.contracts.sandbox import NO_NETWORK, OUTPUT_LIMIT, TIMED_OUT, Caps, Command, NetworkPolicy, Sandbox
from gate.errors import SandboxFileError, SandboxGone, SandboxRefused
from tests.conformance.sandbox_worlds import RUN, Run, World, request

SECONDS = 60.0


@pytest.fixture(params=sorted(RUN))
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    return lambda scenario: RUN[request.param](scenario, tmp_path)


def sh(script: str, timeout: float = SECONDS) -> Command:
    return Command(script, timeout)


async def gone(world: World, marker: str) -> None:
    """Killed processes are seen gone within a moment."""
    for _ in range(100):
        if not world.words(marker):
            return
        await world.clock.sleep(0.02)
    raise AssertionError(world.words(marker))


def test_commands_have_one_output_an_exit_code_and_a_duration(run: Run) -> None:
    async def scenario(world: World) -> None:
        sandbox = await world.backend.create(request(world))
        result = await sandbox.exec(sh("echo out; echo err >&2; sleep 0.1; exit 3"))
        assert (result.exit_code, result.text, result.timed_out) == (3, "out\nerr\n", False)
        assert 0.1 <= result.duration < 30
        assert (await sandbox.exec(sh("kill -9 $$"))).exit_code == 137
        assert (await sandbox.exec(sh("cat"))).exit_code == 0, "standard input is closed"
        await sandbox.stop()

    run(scenario)


def test_output_is_bounded_and_the_end_is_kept(run: Run) -> None:
    async def scenario(world: World) -> None:
        sandbox = await world.backend.create(request(world))
        result = await sandbox.exec(sh("head -c 900000 /dev/zero | tr '\\0' x; echo; echo end"))
        assert len(result.output) == OUTPUT_LIMIT
        assert result.dropped == 900_005 - OUTPUT_LIMIT
        assert result.output.endswith(b"x\nend\n")
        await sandbox.stop()

    run(scenario)


def test_environment_working_directory_and_files(run: Run) -> None:
    async def scenario(world: World) -> None:
        sandbox = await world.backend.create(request(world, env={"A": "1", "B": "b c"}))
        await sandbox.upload("deep/er/file", b"\0\xff data", mode=0o755)
        assert await sandbox.download("deep/er/file", 100) == b"\0\xff data"
        told = await sandbox.exec(Command('echo "$A|$B|$C"; pwd; ls', SECONDS, {"A": "2", "C": "'"}, "deep"))
        assert told.text.splitlines()[0] == "2|b c|'"
        assert told.text.splitlines()[1].endswith("/deep")
        assert told.text.splitlines()[2] == "er"
        assert (await sandbox.exec(sh("test -x deep/er/file"))).exit_code == 0
        with pytest.raises(SandboxFileError):
            await sandbox.download("deep/none", 100)
        with pytest.raises(SandboxFileError):
            await sandbox.download("deep/er/file", 3)
        await sandbox.stop()

    run(scenario)


@pytest.mark.parametrize("wrap", ["sleep {}", "setsid sleep {}", "(setsid sleep {} &) ; sleep 77", "sleep {} & wait"])
def test_a_time_out_kills_the_whole_tree(run: Run, wrap: str) -> None:
    async def scenario(world: World) -> None:
        sandbox = await world.backend.create(request(world))
        marker = f"3{abs(hash(wrap)) % 100000}.1"
        result = await sandbox.exec(sh(f"echo begun; {wrap.format(marker)}", 0.4))
        assert (result.exit_code, result.timed_out, result.text) == (TIMED_OUT, True, "begun\n")
        await gone(world, marker)
        assert (await sandbox.exec(sh("echo next"))).text == "next\n", "the sandbox itself lives on"
        await sandbox.stop()

    run(scenario)


def test_a_cancel_kills_the_whole_tree(run: Run) -> None:
    async def scenario(world: World) -> None:
        sandbox = await world.backend.create(request(world))
        with anyio.move_on_after(0.4) as scope:
            await sandbox.exec(sh("(setsid sleep 4321.5 &); sleep 4321.5"))
        assert scope.cancelled_caught
        await gone(world, "4321.5")
        assert (await sandbox.exec(sh("echo next"))).text == "next\n"
        await sandbox.stop()

    run(scenario)


def test_the_background_lives_on_until_the_sandbox_is_stopped(run: Run) -> None:
    async def scenario(world: World) -> None:
        sandbox = await world.backend.create(request(world))
        await sandbox.exec(sh("setsid sleep 4322.5 >/dev/null 2>&1 & sleep 4323.5 >/dev/null 2>&1 &"))
        await sandbox.exec(sh("sleep 0.1"))
        assert world.words("4322.5")
        assert world.words("4323.5")
        await sandbox.stop()
        assert world.words("4322.5") == world.words("4323.5") == []

    run(scenario)


def test_many_commands_at_once_do_not_mix(run: Run) -> None:
    async def scenario(world: World) -> None:
        sandbox = await world.backend.create(request(world))
        found: dict[int, str] = {}

        async def one(number: int) -> None:
            found[number] = (await sandbox.exec(sh(f"echo {number}; sleep 0.0{number % 7}; echo {number}"))).text

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(one, number)
        assert found == {number: f"{number}\n{number}\n" for number in range(20)}
        await sandbox.stop()

    run(scenario)


def test_stopped_deleted_and_unknown_ones(run: Run) -> None:
    async def scenario(world: World) -> None:
        first, second = request(world), request(world)
        sandbox: Sandbox = await world.backend.create(first)
        await world.backend.create(second)
        assert await world.backend.exists(first.name)
        await sandbox.stop()
        await sandbox.stop()
        with pytest.raises(SandboxGone):
            await sandbox.exec(sh("true"))
        assert not await world.backend.exists(first.name)
        assert not await world.backend.delete(first.name)
        assert await world.backend.delete(second.name)
        assert not await world.backend.exists(second.name)

    run(scenario)


def test_a_name_is_given_once(run: Run) -> None:
    async def scenario(world: World) -> None:
        wanted = request(world)
        sandbox = await world.backend.create(wanted)
        with pytest.raises(SandboxRefused):
            await world.backend.create(wanted)
        assert (await sandbox.exec(sh("echo lives"))).text == "lives\n"
        await sandbox.stop()

    run(scenario)


def test_what_cannot_be_honoured_is_refused_before_anything_is_there(run: Run) -> None:
    async def scenario(world: World) -> None:
        able = world.backend.capabilities
        good = request(world)
        wrong = [
            replace(good, env={"A B": "x"}),
            replace(good, env={"A;touch /tmp/x;B": "x"}),
            replace(good, env={"A": "x\0y"}),
            replace(good, name="Not A Name"),
            replace(good, name="x" * 300),
            replace(good, network=NetworkPolicy("public", ("example.org",))),
            replace(good, image="somewhere/image:latest"),
        ]
        if "allowlist" not in able.policies:
            wrong.append(replace(good, network=NetworkPolicy("allowlist", ("example.org",))))
        if "none" not in able.policies:
            wrong.append(replace(good, network=NO_NETWORK))
        for kind, caps in {"cpus": Caps(cpus=1), "memory": Caps(memory=1 << 30), "disk": Caps(disk=1 << 30)}.items():
            if kind not in able.caps:
                wrong.append(replace(good, caps=caps))
        for one in wrong:
            with pytest.raises(SandboxRefused):
                await world.backend.create(one)
            assert not await world.backend.exists(good.name)
        sandbox = await world.backend.create(good)
        for command in (Command("true", 0), Command("true", 5, {"1A": ""}), Command("a\0b", 5)):
            with pytest.raises(SandboxRefused):
                await sandbox.exec(command)
        if not able.switch:
            with pytest.raises(SandboxRefused):
                await sandbox.switch(NO_NETWORK)
        await sandbox.stop()

    run(scenario)


def test_no_network_is_none(run: Run) -> None:
    async def scenario(world: World) -> None:
        if "none" not in world.backend.capabilities.policies:
            return
        sandbox = await world.backend.create(request(world, network=NO_NETWORK))
        seen = await sandbox.exec(sh("tail -n +3 /proc/net/dev | grep -v '^ *lo:' | wc -l; wc -l < /proc/net/route"))
        assert seen.text.split()[0] == "0"
        await sandbox.stop()

    run(scenario)


def test_suspended_ones_wake_with_the_next_command(run: Run) -> None:
    async def scenario(world: World) -> None:
        sandbox = await world.backend.create(request(world))
        await sandbox.exec(sh("echo kept > file"))
        if not world.backend.capabilities.suspend:
            with pytest.raises(SandboxRefused):
                await sandbox.suspend()
        else:
            await sandbox.suspend()
            await sandbox.suspend()
            assert await world.backend.exists(sandbox.name)
        assert (await sandbox.exec(sh("cat file"))).text == "kept\n"
        await sandbox.stop()

    run(scenario)
