"""The local engine's memory: one folder a workload, `NAME` for the current one, `NAME~PID.START` for earlier ones.

local/NAME/request.json   what was asked for      (engine, before the start)
local/NAME/status.json    what became of it       (its supervisor)
local/NAME/lock           held while it is being created or supervised
local/NAME/stop           present: asked to stop
local/NAME/log            its output
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gate.bootstrap.supervise_files import LOCK, REQUEST, STATUS, LocalRequest, Supervised, write
from gate.bootstrap.supervise_slots import lock_is_held
from gate.documents import Document, load
from gate.errors import DocumentError, EngineRefused

KEPT_SECONDS = 30 * 86400.0
KEPT_ENTRIES = 2000
"""Ended workloads beyond either are forgotten, oldest first; live ones never."""
_NEW = ".new-"

Signature = tuple[int, int, int]
D = TypeVar("D", bound=Document)


@dataclass(frozen=True, slots=True)
class Entry:
    """One workload as the registry has it. `status` None: its supervisor has not said a word yet."""

    path: Path
    request: LocalRequest
    status: Supervised | None

    def held(self) -> bool:
        """Is somebody creating or supervising it?"""
        return lock_is_held(self.path / LOCK)

    @property
    def ended(self) -> bool:
        """Its supervisor has done its work."""
        return self.status is not None and self.status.phase == "ended"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A fresh entry; `lock` is the descriptor that holds it."""

    path: Path
    lock: int


class Registry:
    """Reads are cached by file signature: a thousand ended workloads cost a thousand stats."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._requests: dict[str, tuple[Signature, LocalRequest]] = {}
        self._statuses: dict[str, tuple[Signature, Supervised]] = {}

    def entries(self) -> tuple[list[Entry], list[str]]:
        """Every workload, and the names of those that cannot be read (written by a newer gate, or torn)."""
        found: list[Entry] = []
        unreadable: list[str] = []
        for name in self._names():
            try:
                entry = self.entry(name)
            except DocumentError:
                unreadable.append(name)
                continue
            if entry is not None:
                found.append(entry)
        return found, unreadable

    def entry(self, name: str) -> Entry | None:
        """One workload by the name of its folder, as it is now."""
        request_path, status_path = f"{self.root}/{name}/{REQUEST}", f"{self.root}/{name}/{STATUS}"
        request = _cached(LocalRequest, request_path, self._requests)
        if request is None:
            return None
        return Entry(self.root / name, request, _cached(Supervised, status_path, self._statuses))

    def find(self, name: str, pid: int, start: int) -> Entry | None:
        """The workload that this supervisor has or had."""
        for folder in (name, f"{name}~{pid}.{start}"):
            found = self.entry(folder)
            if found is not None and (found.status is None or (found.status.pid, found.status.start) == (pid, start)):
                return found
        return None

    def claim(self, request: LocalRequest, alive: Callable[[Entry], bool]) -> Claimed:
        """Make the entry, whole and locked, or raise EngineRefused where a workload of that name is `alive`.

        It appears at once by a rename: an observer sees all of it or nothing, and its lock is held from the first
        moment.
        """
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        building = self.root / f"{_NEW}{secrets.token_hex(6)}"
        building.mkdir(mode=0o700)
        lock = os.open(building / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            write(building / REQUEST, request)
            with self._alone():
                self._make_room(request.name, alive)
                building.rename(self.root / request.name)
        except BaseException:
            os.close(lock)
            shutil.rmtree(building)
            raise
        return Claimed(self.root / request.name, lock)

    def forget(self, name: str) -> None:
        """Remove an entry of which nothing ever ran, or runs."""
        shutil.rmtree(self.root / name, ignore_errors=True)

    def prune(self, now: float, alive: Callable[[Entry], bool]) -> None:
        """Forget ended workloads that are too old or too many, and remains of creates that were killed."""
        with self._alone():
            over = [(entry.request.created, entry.path.name) for entry in self.entries()[0] if not alive(entry)]
            over.sort()
            surplus = max(0, len(over) - KEPT_ENTRIES)
            for number, (created, name) in enumerate(over):
                if number < surplus or now - created > KEPT_SECONDS:
                    self.forget(name)
        for path in self.root.glob(f"{_NEW}*"):
            if not lock_is_held(path / LOCK):
                shutil.rmtree(path, ignore_errors=True)

    def _make_room(self, name: str, alive: Callable[[Entry], bool]) -> None:
        """Put an ended workload of the same name aside; what never started is forgotten."""
        try:
            found = self.entry(name)
        except DocumentError as error:
            raise EngineRefused(
                f"{name}: there is an entry of this name that cannot be read: {error.message}"
            ) from error
        if found is None:
            return
        if alive(found):
            raise EngineRefused(f"{name}: a workload of this name is alive", hint="`gate stop` ends it.")
        found = self.entry(name)
        if found is None or found.status is None:
            self.forget(name)
            return
        (self.root / name).rename(self.root / f"{name}~{found.status.pid}.{found.status.start}")

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One claim at a time: two that both put a dead entry aside would put the first one's new entry aside."""
        fd = os.open(self.root / ".claims", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)

    def _names(self) -> list[str]:
        try:
            names = os.listdir(self.root)  # noqa: PTH208 - names are what is wanted, a thousand of them each tick
        except FileNotFoundError:
            return []
        return [name for name in names if not name.startswith(".")]


def _cached(cls: type[D], path: str, cache: dict[str, tuple[Signature, D]]) -> D | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - two a workload and tick
        signature = (found.st_ino, found.st_size, found.st_mtime_ns)
        known = cache.get(path)
        if known is not None and known[0] == signature:
            return known[1]
        document = load(cls, Path(path).read_bytes(), path)
    except (FileNotFoundError, NotADirectoryError):
        cache.pop(path, None)
        return None
    # The bytes may be newer than the signature: then the next look reads them again, and never the other way round.
    cache[path] = signature, document
    return document
