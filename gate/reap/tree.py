"""A run's directory as a tree on a real file system: measured and removed without ever following a link."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from gate.adapters.threads import Lane
from gate.errors import StoreUnavailable
from gate.rundir.layout import component
from gate.rundir.runs import RunPlace

T = TypeVar("T")

DEADLINE = 600.0
"""Seconds for removing one run: a workspace may hold some hundred thousand files."""
RECORDS = "gate"
ORDER = ("legs", "staged", RECORDS)
"""What goes first. The records go last: a prune that is killed in between leaves a run that says what it is."""


class Tree:
    """The directory of one run below `root`."""

    def __init__(self, root: Path, place: RunPlace) -> None:
        self._root = root
        self._path = place.path
        self._lane = Lane("prune", limit=1)

    async def touched(self) -> float:
        """When the directory itself last changed, by the file server's clock; 0 where it is not there."""
        return await self._call(lambda: self._path.lstat().st_mtime if self._path.exists() else 0.0)

    async def exists(self) -> bool:
        """True while anything is left."""
        return await self._call(lambda: os.path.lexists(self._path))

    async def legs(self) -> tuple[str, ...]:
        """Legs that have a directory."""
        return await self._call(
            lambda: tuple(sorted(name for name in _folders(self._path / "legs") if not name.startswith(".")))
        )

    async def size(self, legs: Sequence[str]) -> int:
        """Bytes on disk of these legs' directories, or of the whole run where none is named."""
        return await self._call(lambda: sum(map(_size, self._parts(legs))))

    async def remove(self, legs: Sequence[str]) -> tuple[int, list[str]]:
        """Remove these legs' directories, or the whole run: (bytes that went, what is left and why)."""
        return await self._call(lambda: self._remove(legs))

    async def hollow(self) -> tuple[int, list[str]]:
        """Remove everything of the run but its records: (bytes that went, what is left and why)."""
        return await self._call(lambda: self._remove_parts([part for part in self._parts(()) if part.name != RECORDS]))

    async def _call(self, work: Callable[[], T]) -> T:
        try:
            return await self._lane.call(DEADLINE, work)
        except TimeoutError as error:
            raise StoreUnavailable(f"{self._path} does not answer within {DEADLINE:g} s") from error

    # --- blocking, in a thread -----------------------------------------------------------------------

    def _parts(self, legs: Sequence[str]) -> list[Path]:
        if legs:
            return [self._path / "legs" / component(leg) for leg in legs]
        return [self._path / name for name in (*ORDER, *sorted(set(_names(self._path)) - set(ORDER)))]

    def _remove(self, legs: Sequence[str]) -> tuple[int, list[str]]:
        freed, left = self._remove_parts(self._parts(legs))
        if not legs and not left:
            _remove_empty(self._path, left)
            _prune_parents(self._path.parent, self._root)
        return freed, left

    def _remove_parts(self, parts: Sequence[Path]) -> tuple[int, list[str]]:
        left: list[str] = []
        if not self._within_root():
            return 0, [f"{self._path}: reached through a link that leads out of {self._root}"]
        freed = 0
        for part in parts:
            before = _size(part)
            _remove_tree(part, left)
            freed += before - _size(part)
            if left:
                break
        return freed, left

    def _within_root(self) -> bool:
        return Path(os.path.realpath(self._path)).is_relative_to(os.path.realpath(self._root))


def _remove_tree(path: Path, left: list[str]) -> None:
    def note(_function: object, name: str, error: tuple[object, BaseException, object]) -> None:
        left.append(f"{name}: {getattr(error[1], 'strerror', None) or error[1]}")

    if path.is_symlink() or path.is_file():
        try:
            path.unlink()  # the link alone goes, never what it points at
        except OSError as error:
            left.append(f"{path}: {error.strerror}")
    elif path.exists():
        shutil.rmtree(path, onerror=note)


def _remove_empty(path: Path, left: list[str]) -> None:
    try:
        path.rmdir()
    except OSError as error:
        left.append(f"{path}: {error.strerror}")


def _prune_parents(path: Path, root: Path) -> None:
    """Remove emptied parents below the root, never the root itself."""
    while path != root and path.is_relative_to(root):
        try:
            path.rmdir()
        except OSError:
            return  # not empty: somebody else's run lies there
        path = path.parent


def _size(path: Path) -> int:
    try:
        total = path.lstat().st_blocks * 512
        if path.is_symlink() or not path.is_dir():
            return total
        with os.scandir(path) as found:
            return total + sum(_size(Path(entry.path)) for entry in found)
    except FileNotFoundError:
        return 0
    except PermissionError:
        return 0  # of another user and closed to this one: not counted, and named when it cannot be removed


def _names(path: Path) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(path)]
    except FileNotFoundError:
        return []


def _folders(path: Path) -> list[str]:
    try:
        return [entry.name for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
