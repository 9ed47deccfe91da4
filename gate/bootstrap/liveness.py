"""Is anything changing below a directory? Compared only with what was last seen, never with a clock.

A hot set of entries is asked for at each check (at most `HOT` stat calls); everything is compared in full passes, in
slices, never two at once. What is remembered is sixteen bytes an entry. Links are never followed.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from array import array
from collections import OrderedDict, deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

HOT = 190
"""Entries that a check asks for."""
HOT_CHANGED = 130
"""How many of them may be entries that were seen to change; the rest are directories, nearest to the top first."""
SLICE = 2000
"""Entries that one slice of a full pass compares."""

MASK = 0xFFFFFFFFFFFFFFFF

Listing: TypeAlias = "os._ScandirIterator[str]"  # noqa: SLF001 - the only name that typeshed has for it

_GONE = (errno.ENOENT, errno.ENOTDIR)
_DENIED = (errno.EACCES, errno.EPERM, errno.ELOOP)


@dataclass(frozen=True, slots=True)
class Look:
    """`changed`: some entry differs from what was last seen, came or went. `blind`: a root could not be seen."""

    changed: bool
    blind: bool
    entries: int


@dataclass(slots=True)
class _Folder:
    """A directory's entries as last seen: hashes of their names, ascending, and of the status of each."""

    names: array[int]
    marks: array[int]


class Liveness:
    """Change below `roots`. Thread-safe: a check may come while a full pass is under way.

    A first full pass (`for _ in liveness.full_pass(): pass`) makes the baseline; without it a check sees only roots.
    """

    def __init__(self, *roots: str | os.PathLike[str]) -> None:
        self._roots = tuple(os.fspath(root) for root in roots)
        self._lock = threading.Lock()
        self._folders: dict[str, _Folder] = {}
        self._hot: OrderedDict[str, int] = OrderedDict()
        self._shallow: OrderedDict[str, int] = OrderedDict()
        self._told: OrderedDict[str, int] = OrderedDict()
        self._root_marks: dict[str, int] = {}
        self._changed = False
        self._entries = 0
        self._based = False

    # --- the cheap look ------------------------------------------------------------------------------

    def check(self) -> Look:
        """Ask for the hot set: at most `HOT` stat calls."""
        with self._lock:
            blind = False
            for root in self._roots:
                mark = _mark(root)
                blind = blind or mark is None
                self._compare_root(root, mark)
            for group in (self._hot, self._shallow):
                self._check(group)
            return self._take(blind=blind)

    def _check(self, group: OrderedDict[str, int]) -> None:
        for path, before in tuple(group.items()):
            mark = _mark(path) or 0
            if mark == before:
                continue
            self._changed = True
            if mark == 0:
                del group[path]
                continue
            group[path] = mark
            if group is self._hot:
                group.move_to_end(path)

    def _compare_root(self, root: str, mark: int | None) -> None:
        if mark is None:
            return
        before = self._root_marks.get(root)
        self._changed = self._changed or (before is not None and before != mark)
        self._root_marks[root] = mark

    def _take(self, *, blind: bool) -> Look:
        look = Look(self._changed, blind, self._entries)
        self._changed = False
        return look

    # --- the thorough look ---------------------------------------------------------------------------

    def full_pass(self) -> Generator[None, None, None]:
        """Compare everything, a slice at each step; `take` then says what came of it.

        Abandoning the iterator loses nothing: what it found until then is in the next look.
        """
        seen: set[str] = set()
        entries = 0
        pending = deque(self._roots)
        with self._lock:
            self._told = self._shallow
            self._shallow = OrderedDict()
            for root in self._roots:
                self._compare_root(root, _mark(root))
        while pending:
            folder = pending.popleft()
            listing = _open(folder)
            if listing == "gone":
                continue
            seen.add(folder)
            if listing == "denied":
                continue
            found: list[tuple[str, int]] = []
            with listing:
                for name, mark, is_folder in _list(listing):
                    found.append((name, mark))
                    if is_folder:
                        pending.append(f"{folder}/{name}")
                    entries += 1
                    if entries % SLICE == 0:
                        yield
            with self._lock:
                self._compare_folder(folder, found)
        with self._lock:
            if all(_mark(root) is not None for root in self._roots):
                self._forget(seen)
                self._entries = entries
                self._based = True

    def take(self, *, blind: bool = False) -> Look:
        """What changed since the last look, as far as it was seen by now."""
        with self._lock:
            return self._take(blind=blind or any(_mark(root) is None for root in self._roots))

    def _compare_folder(self, folder: str, found: list[tuple[str, int]]) -> None:
        keyed = sorted((hash(name) & MASK, mark) for name, mark in found)
        now = _Folder(array("Q", [key for key, _ in keyed]), array("Q", [mark for _, mark in keyed]))
        before = self._folders.get(folder)
        self._folders[folder] = now
        room = HOT - HOT_CHANGED - len(self._shallow) - len(self._roots)
        if room > 0 and folder not in self._roots and (mark := _mark(folder)) is not None:
            self._shallow[folder] = mark
        if not self._based or before == now:
            return
        known = {} if before is None else dict(zip(before.names, before.marks, strict=True))
        if before is None or not set(known) <= set(now.names):
            self._changed = True
        for name, mark in found:
            if known.get(hash(name) & MASK) != mark:
                self._differs(f"{folder}/{name}", mark)

    def _differs(self, path: str, mark: int) -> None:
        """An entry is not what the last full pass saw; what a check has told since then is not told again."""
        if mark in (self._hot.get(path), self._told.get(path)):
            return
        self._changed = True
        self._warm(path, mark)

    def _warm(self, path: str, mark: int) -> None:
        """Remember an entry that changes: what changed last is asked for longest."""
        self._hot[path] = mark
        self._hot.move_to_end(path)
        while len(self._hot) > HOT_CHANGED:
            self._hot.popitem(last=False)

    def _forget(self, seen: set[str]) -> None:
        for gone in [folder for folder in self._folders if folder not in seen]:
            del self._folders[gone]
            self._changed = self._changed or self._based


def _mark(path: str) -> int | None:
    """What of an entry's status is compared, as 64 bits; None where it cannot be seen."""
    try:
        return _hash(os.lstat(path))
    except OSError:
        return None


def _hash(found: os.stat_result) -> int:
    return hash((found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)) & MASK or 1


def _open(folder: str) -> Listing | Literal["gone", "denied"]:
    try:
        return os.scandir(folder)
    except OSError as error:
        if error.errno in _GONE:
            return "gone"
        if error.errno in _DENIED:
            return "denied"
        raise


def _list(entries: Iterator[os.DirEntry[str]]) -> Iterator[tuple[str, int, bool]]:
    """Entries as (name, mark, is a directory). What vanishes or may not be looked at meanwhile is no error."""
    for entry in entries:
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError as error:
            if error.errno in (*_GONE, *_DENIED):
                continue
            raise
        yield entry.name, _hash(found), stat.S_ISDIR(found.st_mode)
