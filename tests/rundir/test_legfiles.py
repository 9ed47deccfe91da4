"""FileLegFiles on a real file system: what is read again and what is not, hangs, links, and a thousand legs."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from gate import documents
from gate.contracts import LegQuery, LegView
from gate.errors import StoreUnavailable
from gate.machines.verdict import StateView
from gate.rundir import legfiles, statefile
from gate.rundir.formats import Pointer
from gate.rundir.legfiles import FileLegFiles

TAG = "abcdefghij"
GLOBS = ("session/**/state.json",)
POINTER = Pointer("a", TAG, "1-x", 1, "wait", "session/run/state.json", 2, 0, 0, 0, 0.0, None, None, 0.0)


def home_of(run_dir: Path, leg: str) -> Path:
    return run_dir / "legs" / leg / TAG / "1-x"


def make_leg(run_dir: Path, leg: str, body: dict[str, Any] | None = None) -> Path:
    home = home_of(run_dir, leg)
    (home / "session/run").mkdir(parents=True)
    (home / "pointer.json").write_bytes(documents.dump(replace(POINTER, leg=leg)))
    (home / "transcript.log").write_bytes(b"")
    (home / "session/run/state.json").write_text(json.dumps(body or {"done": False, "gain": 1}))
    return home


def query(leg: str) -> LegQuery:
    return LegQuery(leg, TAG, GLOBS, ("done", "gain"))


def look(files: FileLegFiles, *legs: str) -> dict[str, LegView]:
    async def main() -> dict[str, LegView]:
        return dict(await files.look([query(leg) for leg in legs]))

    return anyio.run(main)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    made = tmp_path / "run"
    made.mkdir()
    return made


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the state files that are really read."""
    reads: list[str] = []
    real = statefile.read_state

    def read(base: Any, rel: str, keys: Any, **more: Any) -> StateView:
        reads.append(more["shown"])
        return real(base, rel, keys, **more)

    monkeypatch.setattr(legfiles, "read_state", read)
    return reads


def test_what_does_not_change_is_read_twice_and_then_never_again(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_leg(run_dir, "a")
    reads = counted(monkeypatch)
    files = FileLegFiles(run_dir)
    views = [look(files, "a")["a"] for _ in range(6)]
    assert len(reads) == 2  # once more at the second look: a change within one beat of the file system's clock
    assert views.count(views[0]) == 6
    (home / "session/run/state.json").write_text('{"done": true, "gain": 2}')
    for _ in range(5):
        view = look(files, "a")["a"]
    assert len(reads) == 4
    assert view.state.fields["done"].value is True


def test_a_change_that_leaves_the_status_as_it_was_is_seen_at_the_next_look(run_dir: Path) -> None:
    home = make_leg(run_dir, "a")
    state = home / "session/run/state.json"
    files = FileLegFiles(run_dir)
    before = state.stat()
    assert look(files, "a")["a"].state.fields["gain"].value == 1
    with state.open("r+b") as file:  # same inode, same size
        file.write(b'{"done": false, "gain": 2}')
    os.utime(state, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert look(files, "a")["a"].state.fields["gain"].value == 2


def test_a_torn_file_is_read_again_within_the_look(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One snapshot a judgement, retried: a writer that is in the middle is given a moment."""
    state = make_leg(run_dir, "a") / "session/run/state.json"
    state.write_text('{"done": tr')
    monkeypatch.setattr(time, "sleep", lambda _: state.write_text('{"done": true}'))
    assert look(FileLegFiles(run_dir), "a")["a"].state.status == "ok"


def test_a_file_that_stays_torn_is_reported_and_costs_no_more_waiting(run_dir: Path) -> None:
    state = make_leg(run_dir, "a") / "session/run/state.json"
    state.write_text('{"done": tr')
    files = FileLegFiles(run_dir)
    began = time.monotonic()
    for _ in range(3):
        assert look(files, "a")["a"].state.status == "torn"
    began = time.monotonic()
    for _ in range(20):
        look(files, "a")
    assert time.monotonic() - began < 20 * legfiles.PAUSE


def test_a_hung_root_is_unavailable_within_its_deadline_and_later_looks_go_on(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_leg(run_dir, "a")
    let_go = threading.Event()
    real = os.stat

    def hangs(*args: Any, **more: Any) -> os.stat_result:
        let_go.wait(10)
        return real(*args, **more)

    async def main() -> None:
        files = FileLegFiles(run_dir, deadline=0.3)
        monkeypatch.setattr(os, "stat", hangs)
        for _ in range(2):
            began = time.monotonic()
            with pytest.raises(StoreUnavailable, match="no answer"):
                await files.look([query("a")])
            assert time.monotonic() - began < 1
        let_go.set()
        await anyio.sleep(0.2)
        assert (await files.look([query("a")]))["a"].state.status == "ok"

    anyio.run(main)


def test_a_root_that_is_cut_off_is_not_absence(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_leg(run_dir, "a")
    files = FileLegFiles(run_dir)

    def cut_off(path: str) -> os.stat_result:
        raise OSError(107, "Transport endpoint is not connected")

    with monkeypatch.context() as patched:
        patched.setattr(os, "lstat", cut_off)
        with pytest.raises(StoreUnavailable, match="not connected"):
            look(files, "a")
    assert look(files, "a")["a"].state.status == "ok"
    shutil.rmtree(run_dir)
    with pytest.raises(StoreUnavailable, match="mounted"):
        look(files, "a")


def test_links_out_of_the_legs_own_directory_are_foreign(run_dir: Path, tmp_path: Path) -> None:
    """SkerrySSH#364: an older run's result must not satisfy the check."""
    other = make_leg(tmp_path / "other-run", "a", {"done": True})
    home = home_of(run_dir, "a")
    home.parent.mkdir(parents=True)
    home.symlink_to(other)
    assert look(FileLegFiles(run_dir), "a")["a"] == LegView()  # a link is no incarnation
    shutil.rmtree(run_dir / "legs")
    (run_dir / "legs").symlink_to(tmp_path / "other-run/legs")
    view = look(FileLegFiles(run_dir), "a")["a"]
    assert (view.state.status, view.pointer) == ("foreign", None)
    (run_dir / "legs").unlink()
    mine = make_leg(run_dir, "a")
    (mine / "pointer.json").unlink()
    (mine / "pointer.json").symlink_to(other / "pointer.json")
    view = look(FileLegFiles(run_dir), "a")["a"]
    assert "pointer.json: cannot be read" in view.problem


def test_the_run_directory_itself_may_lie_behind_a_link(run_dir: Path, tmp_path: Path) -> None:
    make_leg(run_dir, "a")
    (tmp_path / "mounted").symlink_to(run_dir)
    assert look(FileLegFiles(tmp_path / "mounted"), "a")["a"].state.status == "ok"


def test_what_the_runner_may_not_list_is_said(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_leg(run_dir, "a")

    def refuse(path: str) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    view = look(FileLegFiles(run_dir), "a")["a"]
    assert view.problem == "the leg's directory cannot be listed: Permission denied"


def test_a_reader_command_reads_what_the_runner_may_not(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_leg(run_dir, "a", {"done": True})
    real = os.open

    def refuse(path: Any, *args: Any, **more: Any) -> int:
        if str(path).endswith("state.json"):
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **more)

    monkeypatch.setattr(os, "open", refuse)
    assert look(FileLegFiles(run_dir), "a")["a"].state.status == "unreadable"
    assert look(FileLegFiles(run_dir, ("cat",)), "a")["a"].state.status == "ok"


def test_nextflow_5650_absent_is_asked_again_by_opening_the_folder(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attribute cache says that the file is not there until its folder is opened."""
    home = make_leg(run_dir, "a", {"done": True})
    real_lstat, real_scandir = os.lstat, os.scandir
    opened: list[str] = []

    def cached(path: Any) -> os.stat_result:
        if str(path).endswith("state.json") and not opened:
            raise FileNotFoundError(2, "No such file or directory")
        return real_lstat(path)

    def scandir(path: Any) -> Any:
        if str(path) == str(home / "session/run"):
            opened.append(str(path))
        return real_scandir(path)

    monkeypatch.setattr(os, "lstat", cached)
    monkeypatch.setattr(os, "scandir", scandir)
    assert look(FileLegFiles(run_dir), "a")["a"].state.status == "ok"


def test_a_thousand_legs_cost_little(run_dir: Path) -> None:
    legs = [f"leg-{n}" for n in range(1000)]
    for leg in legs:
        make_leg(run_dir, leg)
    queries = [query(leg) for leg in legs]

    async def main() -> float:
        files = FileLegFiles(run_dir)
        for _ in range(2):
            await files.look(queries)
        began = time.process_time()
        for _ in range(5):
            await files.look(queries)
        return (time.process_time() - began) / 5

    assert anyio.run(main) < 0.2


def test_a_leg_without_state_is_walked_only_when_its_folders_change(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_leg(run_dir, "a")
    (home / "session/run/state.json").unlink()
    (home / "pointer.json").write_bytes(documents.dump(replace(POINTER, state=None, phase="launch", earlier=())))
    walks: list[str] = []
    real = statefile.find_states

    def find(base: Any, globs: Any, **more: Any) -> Any:
        walks.append(str(base))
        return real(base, globs, **more)

    monkeypatch.setattr(legfiles, "find_states", find)
    files = FileLegFiles(run_dir)
    for _ in range(6):
        assert look(files, "a")["a"].state.status == "absent"
    assert len(walks) == 2
    (home / "session/run/state.json").write_text('{"done": true}')
    assert look(files, "a")["a"].state.status == "ok"


@pytest.mark.parametrize(
    ("phase", "earlier", "status", "said"),
    [
        ("setup", None, "absent", "its task has not begun"),
        ("ended", None, "absent", "its task has not begun"),  # set-up failed, and had made a trial run
        ("launch", ("session/run/state.json",), "absent", "lay there before the task began"),
        ("ended", ("session/run/state.json",), "absent", "lay there before the task began"),
        ("launch", (), "ok", ""),
        ("launch", ("session/other/state.json",), "ok", ""),
    ],
)
def test_a_state_file_that_is_older_than_the_task_is_no_evidence(
    run_dir: Path, phase: Any, earlier: tuple[str, ...] | None, status: str, said: str
) -> None:
    home = make_leg(run_dir, "a", {"done": True, "gain": 1})
    pointer = replace(POINTER, state=None, phase=phase, earlier=earlier)
    (home / "pointer.json").write_bytes(documents.dump(pointer))
    state = look(FileLegFiles(run_dir), "a")["a"].state
    assert state.status == status
    assert said in state.detail
