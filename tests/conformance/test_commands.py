"""Commands: what real processes and simulated ones both do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
import trio
from trio.testing import MockClock

from gate.bootstrap.commands import LegCommands, LegProcesses
from gate.bootstrap.containment import Census
from gate.bootstrap.redact import Redactor
from gate.bootstrap.transcript import Transcript
from gate.contracts import Commands
from gate.plan import identity
from gate.simulate.commands import SimCommands, SimRun
from gate.simulate.home import SimHome
from gate.simulate.store import MemoryDisk
from tests.bootstrap.legs import TAG, command_leg

SECRET = "correct-horse-battery"


def tag_of(path: Path) -> str:
    """A tag of this test alone: tests beside it end what carries theirs."""
    return identity.tag("o/r", "g", "1", str(path), 1)


@dataclass
class Place:
    """Where the real commands run."""

    path: Path
    leg: str = "leg"
    tag: str = ""

    def __post_init__(self) -> None:
        self.tag = self.tag or tag_of(self.path)
        self.transcript = Transcript(self.path / "transcript.log", Redactor({"KEY": SECRET}))

    @property
    def cwd(self) -> str:
        return str(self.path)

    @property
    def env(self) -> dict[str, str]:
        mine = {identity.ENV_TAG: self.tag, identity.ENV_WORKLOAD: "w", identity.ENV_LEG: self.leg, "KEY": SECRET}
        return {"PATH": "/usr/bin:/bin", **mine}

    @property
    def slots(self) -> dict[str, str]:
        return {name: f"/{name}" for name in ("leg_root", "workspace", "session", "artifact", "gpu", "state_file")}

    @property
    def scratch(self) -> str:
        return str(self.path)


@dataclass
class Real:
    """Real processes below a temporary directory."""

    path: Path

    @asynccontextmanager
    async def open(self) -> AsyncIterator[LegCommands]:
        async with anyio.create_task_group() as tasks:
            processes = LegProcesses(tag_of(self.path), "w", "leg", alone=False)
            commands = LegCommands(tasks, Place(self.path), processes, Redactor({"KEY": SECRET}))
            yield commands
            await commands.end_all()
            tasks.cancel_scope.cancel()
        assert not processes.find()

    def run(self, main: Callable[[], Awaitable[None]]) -> None:
        anyio.run(main)

    def command(self, commands: Any, *, code: int = 0, output: str = "", lasting: float = 0.0) -> str:
        del commands
        return f"echo {output}; sleep {lasting}; exit {code}"

    def detach(self, commands: Any) -> str:
        del commands
        return "setsid sleep 600 >/dev/null 2>&1 &"


@dataclass
class Simulated:
    """Simulated processes in virtual time."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[SimCommands]:
        async with trio.open_nursery() as nursery:
            home = SimHome(MemoryDisk(), command_leg(), TAG)
            await home.open()
            yield SimCommands(nursery, home)
            nursery.cancel_scope.cancel()

    def run(self, main: Callable[[], Awaitable[None]]) -> None:
        anyio.run(main, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)})

    def command(self, commands: Any, *, code: int = 0, output: str = "", lasting: float = 0.0) -> str:
        commands.check = lambda: (code, f"{output}\n")
        commands.check_seconds = lasting
        commands.command = SimRun(delay=lasting, writes=0, exit_code=code)
        return "simulated"

    def detach(self, commands: Any) -> str:
        commands.detach(SimRun(delay=10**6, name="sleep 600"))
        return "simulated"


Kind = Real | Simulated


@pytest.fixture(params=["real", "simulated"])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    return Real(tmp_path) if request.param == "real" else Simulated()


async def ended(commands: Commands) -> int | None:
    """The long command's exit code."""
    with anyio.fail_after(30):
        while (result := await commands.poll()) is None:  # noqa: ASYNC110 - the contract is polled
            await anyio.sleep(0.02)
    return result.exit_code


def test_exit_code_and_output(kind: Kind) -> None:
    async def main() -> None:
        async with kind.open() as commands:
            result = await commands.run(kind.command(commands, code=3, output="words"), 30)
            assert (result.exit_code, result.output) == (3, "words\n")

    kind.run(main)


def test_a_command_that_outlives_its_budget_is_ended(kind: Kind) -> None:
    async def main() -> None:
        async with kind.open() as commands:
            result = await commands.run(kind.command(commands, lasting=60), 0.3)
            assert result.exit_code is None
            assert await commands.survivors() == ()

    kind.run(main)


def test_the_long_command_is_polled(kind: Kind) -> None:
    async def main() -> None:
        async with kind.open() as commands:
            await commands.start(kind.command(commands, code=5, lasting=0.3))
            assert await commands.poll() is None
            assert await commands.survivors() == ()
            assert await ended(commands) == 5

    kind.run(main)


def test_ending_everything_ends_the_long_command_and_what_was_detached(kind: Kind) -> None:
    async def main() -> None:
        async with kind.open() as commands:
            await commands.run(kind.detach(commands), 30) if isinstance(kind, Simulated) else None
            await commands.start(kind.command(commands, lasting=600))
            with anyio.fail_after(20):
                assert await commands.end_all() == ()
                assert await commands.end_all() == ()
            assert await commands.survivors() == ()

    kind.run(main)


def test_ending_where_nothing_runs(kind: Kind) -> None:
    async def main() -> None:
        async with kind.open() as commands:
            assert await commands.end_all() == ()
            assert await commands.poll() is None

    kind.run(main)


# --- the real ones alone -----------------------------------------------------------------------------


def real(tmp_path: Path, story: Callable[[LegCommands], Awaitable[None]]) -> None:
    async def main() -> None:
        async with Real(tmp_path).open() as commands:
            await story(commands)

    anyio.run(main)


def test_slots_are_filled_and_only_the_closed_set(tmp_path: Path) -> None:
    async def story(commands: LegCommands) -> None:
        result = await commands.run("echo '<<gate:session>> <<gate:other>>'", 30)
        assert result.output == "/session <<gate:other>>\n"

    real(tmp_path, story)


def test_output_is_redacted_and_its_tail_kept(tmp_path: Path) -> None:
    async def story(commands: LegCommands) -> None:
        result = await commands.run('echo "$KEY" >&2; yes | head -c 200000; echo; echo "$KEY" end', 30)
        assert result.output.endswith("***KEY*** end\n")
        assert len(result.output) <= 64 << 10
        assert SECRET not in (tmp_path / "transcript.log").read_text()

    real(tmp_path, story)


def test_what_a_check_left_behind_ends_with_it(tmp_path: Path) -> None:
    async def story(commands: LegCommands) -> None:
        result = await commands.run("setsid nohup sleep 611 >/dev/null 2>&1 & echo started", 30)
        assert result.output == "started\n"
        assert not Census().started_with("sleep", "611")

    real(tmp_path, story)


def test_output_held_open_by_a_child_delays_nothing(tmp_path: Path) -> None:
    async def story(commands: LegCommands) -> None:
        with anyio.fail_after(10):
            assert (await commands.run("setsid sleep 612 & echo early", 60)).output == "early\n"

    real(tmp_path, story)


def test_cancelling_a_check_ends_its_tree(tmp_path: Path) -> None:
    async def story(commands: LegCommands) -> None:
        with anyio.move_on_after(0.5):
            await commands.run("sh -c 'sleep 613; true'; true", 60)
        assert not Census().started_with("sleep", "613")

    real(tmp_path, story)


def test_cc76814_survivors_of_the_long_command_are_listed_and_ended(tmp_path: Path) -> None:
    async def story(commands: LegCommands) -> None:
        await commands.start("env -u GATE_COMMAND_ID setsid sleep 614 >/dev/null 2>&1 & exit 0")
        assert await ended(commands) == 0
        assert any("sleep 614" in one for one in await commands.survivors())
        assert await commands.end_all() == ()
        assert not Census().started_with("sleep", "614")

    real(tmp_path, story)


def test_a_leg_ends_nothing_of_another(tmp_path: Path) -> None:
    """TensorRT-LLM#16404: a tree kill reached its own host."""

    async def main() -> None:
        other = LegProcesses(tag_of(tmp_path), "w", "other", alone=False)
        (tmp_path / "other").mkdir()
        async with anyio.create_task_group() as tasks:
            redactor = Redactor({})
            beside = LegCommands(tasks, Place(tmp_path / "other", "other", tag_of(tmp_path)), other, redactor)
            await beside.start("sleep 615")
            async with Real(tmp_path).open() as commands:
                while not other.find():  # noqa: ASYNC110 - a process that starts tells nobody
                    await anyio.sleep(0.02)
                assert await commands.survivors() == ()
                await commands.end_all()
                assert other.find()
            await beside.end_all()
            assert not other.find()

    anyio.run(main)
