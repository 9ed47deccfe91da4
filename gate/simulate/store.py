"""The run directory in memory, shareable between simulated processes, with the contract of the real one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from gate.errors import StoreUnavailable
from gate.rundir import keys

DEPTH = 3
"""Levels of folders that have an index and a version: down to `legs/LEG/TAG`."""


class MemoryDisk:
    """Files by key. `present` False: the root is gone. `version(folder)` grows with every change below a folder."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | bytearray] = {}
        self.present = True
        self._versions: dict[str, int] = {}
        self._below: dict[str, dict[str, None]] = {}
        self._watchers: dict[str, list[Callable[[], None]]] = {}

    @contextmanager
    def watch(self, keys: Collection[str], tell: Callable[[], None]) -> Iterator[None]:
        """Call `tell` inside this context whenever one of `keys` is written or removed."""
        for key in keys:
            self._watchers.setdefault(key, []).append(tell)
        try:
            yield
        finally:
            for key in keys:
                self._watchers[key].remove(tell)

    def write(self, key: str, data: bytes) -> None:
        """Write a whole file at once, as a workload does."""
        self.files[key] = data
        self._touch(key)

    def append(self, key: str, data: bytes) -> None:
        """Add to a file, cutting off what is torn at its end."""
        found = self.files.get(key)
        if not isinstance(found, bytearray):  # a journal is appended to thousands of times: never copied
            found = self.files[key] = bytearray(found or b"")
        del found[found.rfind(b"\n") + 1 :]
        found += data
        self._touch(key)

    def delete(self, key: str) -> bool:
        """Remove a file; False where there was none."""
        if self.files.pop(key, None) is None:
            return False
        for folder in _folders(key):
            del self._below[folder][key]
            self._versions[folder] += 1
        self._tell(key)
        return True

    def below(self, folder: str) -> tuple[str, ...]:
        """Keys of the files below `folder` ("" for all), sorted."""
        if folder.count("/") < DEPTH:
            return tuple(sorted(self._below.get(folder, ())))
        top = "/".join(folder.split("/")[:DEPTH])
        return tuple(sorted(key for key in self._below.get(top, ()) if key.startswith(f"{folder}/")))

    def version(self, folder: str) -> int:
        """A number that differs after any change below `folder`, at most three levels deep (`legs/LEG/TAG`)."""
        return self._versions.get(folder, 0)

    def _touch(self, key: str) -> None:
        for folder in _folders(key):
            self._below.setdefault(folder, {})[key] = None
            self._versions[folder] = self._versions.get(folder, 0) + 1
        self._tell(key)

    def _tell(self, key: str) -> None:
        for tell in tuple(self._watchers.get(key, ())):
            tell()


@functools.lru_cache(maxsize=4096)
def _folders(key: str) -> tuple[str, ...]:
    """The folders of `key`, at most DEPTH levels deep, "" first. The same few keys are written again and again."""
    parts = key.split("/")
    return tuple("/".join(parts[:depth]) for depth in range(min(len(parts), DEPTH + 1)))


@functools.lru_cache(maxsize=4096)
def _checked(key: str) -> None:
    """Raises StoreDenied for what is no key."""
    keys.split(key)


class MemoryStore:
    """`contracts.Store` over a `MemoryDisk`. Answers without leaving the loop."""

    def __init__(self, disk: MemoryDisk | None = None) -> None:
        self.disk = disk or MemoryDisk()

    async def read(self, key: str) -> bytes | None:
        """The file's bytes, or None where it does not exist."""
        found = self._files(key).get(key)
        return None if found is None else bytes(found)

    async def create(self, key: str, data: bytes) -> bool:
        """Write the file unless it exists."""
        if key in self._files(key):
            return False
        self.disk.write(key, data)
        return True

    async def replace(self, key: str, data: bytes) -> None:
        """Write the file, whether it exists or not."""
        self._files(key)
        self.disk.write(key, data)

    async def append(self, key: str, data: bytes) -> None:
        """Add one whole record, which ends with a newline."""
        if not data.endswith(b"\n"):
            raise ValueError("a record ends with a newline")
        self._files(key)
        self.disk.append(key, data)

    async def list(self, prefix: str) -> tuple[str, ...]:
        """Keys of all files below the folder `prefix`, sorted."""
        parts = keys.split_prefix(prefix)
        self._check()
        return self.disk.below("/".join(parts))

    async def remove(self, key: str) -> bool:
        """Remove the file; False where there was none."""
        self._files(key)
        return self.disk.delete(key)

    def _files(self, key: str) -> dict[str, bytes | bytearray]:
        _checked(key)
        self._check()
        return self.disk.files

    def _check(self) -> None:
        if not self.disk.present:
            raise StoreUnavailable("the run directory is gone", hint="Nothing was concluded from its absence.")
