"""Change below a directory: cheap between full passes, complete in them, on trees of any shape."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.bootstrap import liveness as liveness_module
from gate.bootstrap.liveness import HOT, Liveness, Look


def everything(liveness: Liveness) -> Look:
    for _ in liveness.full_pass():
        continue
    return liveness.take()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for folder in range(8):
        (root / f"d{folder}" / "deep").mkdir(parents=True)
        for name in range(4):
            (root / f"d{folder}" / "deep" / f"f{name}").write_text("x")
    return root


@pytest.fixture
def seen(tree: Path) -> Liveness:
    liveness = Liveness(tree)
    assert not everything(liveness).changed
    return liveness


def test_nothing_changed(seen: Liveness) -> None:
    assert not everything(seen).changed
    assert not seen.check().changed
    assert everything(seen).entries == 8 + 8 + 32


def _append(tree: Path) -> None:
    with (tree / "d3/deep/f3").open("a") as file:
        file.write("y")


def _same_size_and_time(tree: Path) -> None:
    path = tree / "d3/deep/f3"
    before = path.stat()
    path.write_text("y")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _old_time(tree: Path) -> None:
    os.utime(tree / "d3/deep/f3", (0, 0))


def _same_bytes_in_another_file(tree: Path) -> None:
    path = tree / "d3/deep/f3"
    shutil.copy2(path, tree / "other")
    (tree / "other").replace(path)


CHANGES: dict[str, Callable[[Path], object]] = {
    "append": _append,
    "same size and mtime": _same_size_and_time,
    "a time of long ago": _old_time,
    "replaced by a copy": _same_bytes_in_another_file,
    "created": lambda tree: (tree / "d3/deep/new").write_text(""),
    "removed": lambda tree: (tree / "d3/deep/f3").unlink(),
    "renamed": lambda tree: (tree / "d3/deep/f3").rename(tree / "d3/deep/g3"),
    "folder removed": lambda tree: shutil.rmtree(tree / "d7"),
    "folder made": lambda tree: (tree / "d7/other").mkdir(),
    "link retargeted": lambda tree: (tree / "d3/link").symlink_to("/nonexistent"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_kind_of_change_is_seen_once_by_a_full_pass(tree: Path, seen: Liveness, change: str) -> None:
    CHANGES[change](tree)
    assert everything(seen).changed
    assert not everything(seen).changed


def test_an_archive_unpacked_with_old_times_is_a_change(tree: Path, seen: Liveness) -> None:
    made = tree / "unpacked"
    made.mkdir()
    (made / "old").write_text("x")
    for path in (made / "old", made):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    assert seen.check().changed or everything(seen).changed


def test_what_changed_is_hot_from_then_on(tree: Path, seen: Liveness) -> None:
    _append(tree)
    assert everything(seen).changed
    for _ in range(3):
        assert not seen.check().changed
        _append(tree)
        assert seen.check().changed


def test_what_a_check_has_told_is_not_told_again_by_a_full_pass(tree: Path, seen: Liveness) -> None:
    _append(tree)
    everything(seen)
    _append(tree)
    assert seen.check().changed
    assert not everything(seen).changed


def test_a_check_sees_files_come_and_go_in_folders_near_the_top(tree: Path, seen: Liveness) -> None:
    (tree / "d1" / "new").write_text("")
    assert seen.check().changed
    assert not seen.check().changed


def test_an_abandoned_pass_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness_module, "SLICE", 50)
    for number in range(120):
        (tmp_path / f"f{number}").touch()
    liveness = Liveness(tmp_path)
    everything(liveness)
    (tmp_path / "f77").write_text("x")
    walk = liveness.full_pass()
    next(walk)
    walk.close()
    assert everything(liveness).changed
    assert not everything(liveness).changed


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    root.mkdir()
    (root / "out").symlink_to(outside)
    (root / "loop").symlink_to(root)
    liveness = Liveness(root)
    everything(liveness)
    (outside / "new").write_text("")
    assert everything(liveness) == Look(changed=False, blind=False, entries=2)


def test_a_folder_that_vanishes_during_the_pass_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(liveness_module, "SLICE", 50)
    for folder in "ab":
        (tmp_path / folder).mkdir()
        for number in range(60):
            (tmp_path / folder / f"f{number}").touch()
    liveness = Liveness(tmp_path)
    everything(liveness)
    walk = liveness.full_pass()
    next(walk)
    shutil.rmtree(tmp_path / "a")
    shutil.rmtree(tmp_path / "b")
    for _ in walk:
        continue
    assert liveness.take().changed


def test_a_root_that_is_gone_is_blind(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    liveness = Liveness(root)
    everything(liveness)
    root.rename(tmp_path / "away")
    assert liveness.check() == Look(changed=False, blind=True, entries=0)
    assert everything(liveness).blind


def test_a_check_asks_for_at_most_200_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After everything of a large tree has changed; the bench counts the same with strace."""
    for number in range(400):
        folder = tmp_path / f"d{number % 100}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{number}").touch()
    liveness = Liveness(tmp_path)
    everything(liveness)
    for path in tmp_path.rglob("f*"):
        path.write_text("x")
    assert everything(liveness).changed
    asked: list[str] = []
    real = os.lstat

    def counting(path: str) -> os.stat_result:
        asked.append(path)
        return real(path)

    monkeypatch.setattr(os, "lstat", counting)
    monkeypatch.setattr(os, "stat", lambda path: pytest.fail(f"stat of {path}"))
    monkeypatch.setattr(os, "scandir", lambda path: pytest.fail(f"scandir of {path}"))
    assert not liveness.check().changed
    assert HOT / 2 < len(asked) <= 200


def test_sixteen_bytes_an_entry_are_kept(seen: Liveness) -> None:
    kept = [table for folder in seen._folders.values() for table in (folder.names, folder.marks)]
    assert sum(table.itemsize * len(table) for table in kept) == 16 * 48
