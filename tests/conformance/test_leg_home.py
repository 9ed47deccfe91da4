"""LegHome: what the real directory and the simulated one both do."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import pytest
from trio.testing import MockClock

from gate.bootstrap import home as real
from gate.bootstrap import storing
from gate.bootstrap.home import FileHome
from gate.bootstrap.liveness import Liveness
from gate.bootstrap.redact import Redactor
from gate.contracts import LegHome
from gate.documents import load
from gate.errors import StoreError
from gate.machines.verdict import Field
from gate.plan.model import ArtifactPlan
from gate.rundir import layout
from gate.rundir.formats import LegResult, Pointer
from gate.simulate.home import SimHome
from gate.simulate.store import MemoryDisk
from tests.bootstrap.legs import TAG, agent_leg

STATE = "session/run/state.json"
DONE = json.dumps({"done": True, "stop_reason": "converged"})
POINTER = Pointer("leg", TAG, "1-x", 1, "setup", None, 1, 0, 0, 0, 0.0, None, None, 1.0)
RESULT = LegResult("leg", TAG, "1-x", "finished", None, "done", None, 1, 0, 0, 0, None, None, (), (), 2.0)
SECRET = "correct-horse-battery"


@dataclass
class Real:
    """The real home in a temporary run directory."""

    run_dir: Path

    def make(self) -> FileHome:
        none = ArtifactPlan("none", "", "", "", 0)
        redactor = Redactor({"KEY": SECRET})
        return FileHome(self.run_dir, agent_leg(), TAG, artifact=none, redactor=redactor, deadline=5)

    def run(self, main: Callable[[], Awaitable[None]]) -> None:
        anyio.run(main)

    def write(self, home: Any, rel: str, text: str) -> None:
        path = home.folders.base / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def remove(self, home: Any, rel: str) -> None:
        (home.folders.base / rel).unlink()

    def read(self, home: Any, name: str) -> bytes:
        found: bytes = (home.folders.base / name).read_bytes()
        return found

    def lose(self, home: Any) -> None:
        del home
        self.run_dir.rename(self.run_dir.with_name("away"))

    def find(self, home: Any) -> None:
        del home
        self.run_dir.with_name("away").rename(self.run_dir)


@dataclass
class Simulated:
    """The simulated home on a disk in memory."""

    disk: MemoryDisk

    def make(self) -> SimHome:
        return SimHome(self.disk, agent_leg(), TAG)

    def run(self, main: Callable[[], Awaitable[None]]) -> None:
        anyio.run(main, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)})

    def write(self, home: Any, rel: str, text: str) -> None:
        home.write(rel, text.encode())

    def remove(self, home: Any, rel: str) -> None:
        home.remove(rel)

    def read(self, home: Any, name: str) -> bytes:
        return bytes(self.disk.files[f"{home._base}/{name}"])

    def lose(self, home: Any) -> None:
        self.disk.present = False

    def find(self, home: Any) -> None:
        self.disk.present = True
        home.wake()


Kind = Real | Simulated


@pytest.fixture(params=["real", "simulated"])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    if request.param == "real":
        (tmp_path / "run").mkdir()
        return Real(tmp_path / "run")
    return Simulated(MemoryDisk())


def test_each_start_gets_a_directory_of_its_own(kind: Kind) -> None:
    names: list[str] = []

    async def main() -> None:
        for _ in range(3):
            names.append(await kind.make().open())  # noqa: PERF401 - one after the other

    kind.run(main)
    assert [name.partition("-")[0] for name in names] == ["1", "2", "3"]
    assert all(len(name.partition("-")[2]) == 8 for name in names)


def test_starts_at_once_get_different_numbers(kind: Kind) -> None:
    if isinstance(kind, Simulated):
        return  # a simulated start is one step
    names: list[str] = []

    async def start() -> None:
        names.append(await kind.make().open())

    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(start)

    kind.run(main)
    assert len({name.partition("-")[0] for name in names}) == 4


def test_changes_are_told_once_each(kind: Kind) -> None:
    async def main() -> None:
        home: LegHome = kind.make()
        await home.open()
        assert not (await home.scan(full=False)).changed
        kind.write(home, "workspace/file", "x")
        assert (await home.scan(full=True)).changed
        scan = await home.scan(full=True)
        assert (scan.changed, scan.full, scan.blind) == (False, True, False)
        kind.write(home, "workspace/file", "longer")
        assert (await home.scan(full=False)).changed
        assert not (await home.scan(full=True)).changed
        kind.remove(home, "workspace/file")
        assert (await home.scan(full=True)).changed

    kind.run(main)


def test_gates_own_files_are_no_change(kind: Kind) -> None:
    async def main() -> None:
        home: LegHome = kind.make()
        await home.open()
        await home.publish(POINTER)
        await home.publish(RESULT)
        await home.record({"kind": "note"})
        if isinstance(home, FileHome):
            (home.folders.home / ".claude.json").write_text("{}")
            home.folders.transcript.write_text("words")
        assert not (await home.scan(full=True)).changed

    kind.run(main)


def test_a_state_file_that_counts(kind: Kind) -> None:
    async def main() -> None:
        home: LegHome = kind.make()
        name = await home.open()
        assert await home.states(fresh=True) == ()
        kind.write(home, STATE, DONE)
        (view,) = await home.states(fresh=True)
        assert view.status == "ok"
        assert view.path == f"{layout.incarnation('leg', TAG, name)}/{STATE}"
        assert view.fields == {"done": Field("value", True), "stop_reason": Field("value", "converged")}
        assert await home.states(fresh=True) == (view,)
        kind.write(home, "session/other/state.json", "{")
        assert [one.status for one in await home.states(fresh=True)] == ["torn", "ok"]

    kind.run(main)


def test_a_stray_one_at_the_top_is_named_and_does_not_count(kind: Kind) -> None:
    async def main() -> None:
        home: LegHome = kind.make()
        await home.open()
        kind.write(home, "session/state.json", DONE)
        (view,) = await home.states(fresh=True)
        assert (view.status, view.path) == ("absent", "")
        assert "session/state.json" in view.detail

    kind.run(main)


def test_what_an_earlier_start_left_does_not_count(kind: Kind) -> None:
    """SkerrySSH#364: an older run's result satisfied the check."""

    async def main() -> None:
        first = kind.make()
        await first.open()
        kind.write(first, STATE, DONE)
        second: LegHome = kind.make()
        await second.open()
        assert await second.states(fresh=True) == ()

    kind.run(main)


def test_published_documents_are_whole_and_replaced(kind: Kind) -> None:
    async def main() -> None:
        home = kind.make()
        await home.open()
        for sequence in (1, 2):
            await home.publish(replace(POINTER, sequence=sequence))
            assert load(Pointer, kind.read(home, layout.POINTER), "p").sequence == sequence
        await home.publish(RESULT)
        assert load(LegResult, kind.read(home, layout.LEG_RESULT), "r") == RESULT
        await home.record({"kind": "a"})
        await home.record({"kind": "b"})
        assert [json.loads(x)["kind"] for x in kind.read(home, layout.JOURNAL).splitlines()] == ["a", "b"]

    kind.run(main)


def test_a_root_that_is_away_is_blind_and_never_absent(kind: Kind) -> None:
    async def main() -> None:
        home: LegHome = kind.make()
        await home.open()
        kind.write(home, STATE, DONE)
        await home.scan(full=True)
        kind.lose(home)
        assert (await home.scan(full=False)).blind
        assert (await home.scan(full=True)).blind
        with pytest.raises(StoreError):
            await home.states(fresh=True)
        with pytest.raises(StoreError):
            await home.publish(POINTER)
        with pytest.raises(StoreError):
            await home.record({})
        kind.find(home)
        scan = await home.scan(full=True)
        assert (scan.blind, scan.changed) == (False, False)
        assert len(await home.states(fresh=True)) == 1

    kind.run(main)


def test_opening_below_a_root_that_is_away_is_an_error(kind: Kind) -> None:
    async def main() -> None:
        home: LegHome = kind.make()
        kind.lose(home)
        with pytest.raises(StoreError):
            await home.open()

    kind.run(main)


def test_idling_ends_in_time(kind: Kind) -> None:
    async def main() -> None:
        home: LegHome = kind.make()
        await home.open()
        with anyio.fail_after(5):
            await home.idle(0.01, 0.05)
            await home.idle(100, 0.05)
            await home.idle(0, 0)

    kind.run(main)


# --- the real one alone ------------------------------------------------------------------------------


def test_secrets_are_found_where_the_agent_wrote_them_and_never_written(tmp_path: Path) -> None:
    async def main() -> None:
        home = Real(tmp_path).make()
        await home.open()
        (home.folders.workspace / ".env").write_text(f"KEY={SECRET}\n")
        (home.folders.workspace / "blob").write_bytes(os.urandom(4096))
        os.mkfifo(home.folders.workspace / "pipe")
        (home.folders.workspace / "out").symlink_to("/etc")
        await home.record({"text": SECRET})
        await home.publish(replace(RESULT, sentence=f"it said {SECRET}"))
        assert await home.secret_hits() == ("workspace/.env: KEY",)

    anyio.run(main)


def test_a_full_disk_gives_up_the_reserve_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = [True]
    write = storing.replace_whole

    def failing(path: Path, data: bytes, mode: int) -> None:
        if full.pop() if full else False:
            raise OSError(28, "No space left on device", str(path))
        write(path, data, mode)

    async def main() -> None:
        home = Real(tmp_path).make()
        await home.open()
        monkeypatch.setattr(real, "replace_whole", failing)
        await home.publish(RESULT)
        assert not (home.folders.base / real.RESERVE).exists()
        assert load(LegResult, (home.folders.base / layout.LEG_RESULT).read_bytes(), "r") == RESULT

    anyio.run(main)


def test_a_background_pass_makes_hot_what_changes_deep_down(tmp_path: Path) -> None:
    async def main() -> None:
        home = Real(tmp_path).make()
        await home.open()
        deep = home.folders.workspace / "a/b/c"
        deep.mkdir(parents=True)
        log = deep / "log"
        log.write_text("x")
        home._liveness = Liveness(home.folders.workspace, home.folders.session)
        assert not (await home.scan(full=True)).changed
        log.write_text("xy")
        assert not (await home.scan(full=False)).changed
        home._due = 0.0
        await home.scan(full=False)
        assert (await home.scan(full=False)).changed
        log.write_text("xyz")
        assert (await home.scan(full=False)).changed

    anyio.run(main)


def test_a_leg_that_removes_its_workspace_is_blind(tmp_path: Path) -> None:
    async def main() -> None:
        home = Real(tmp_path).make()
        await home.open()
        shutil.rmtree(home.folders.workspace)
        assert (await home.scan(full=True)).blind

    anyio.run(main)
