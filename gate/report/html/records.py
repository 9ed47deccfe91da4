"""What a leg left below `legs/` beside its evidence: journals and transcripts. Untrusted, and read with bounds."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gate.adapters.threads import Lane
from gate.contracts import Store
from gate.errors import StoreUnavailable
from gate.rundir import layout
from gate.rundir.legview import oldest_first

DEADLINE = 30.0
JOURNAL = 4 << 20
"""Bytes of a journal that are read, from its start: it tells of turns and phases long before it is that long."""
TAIL = 4 << 10
"""Bytes of a transcript that are read, from its end."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One leg under one tag; `log`: the end of its transcript is wanted too."""

    leg: str
    tag: str
    log: bool


@dataclass(frozen=True, slots=True)
class Record:
    """One incarnation of a leg. `journal` None: it has none. `problem`: what could not be read, in words."""

    incarnation: str
    journal: bytes | None
    log: bytes = b""
    problem: str = ""
    cut: bool = False
    """The journal is longer than was read."""


class Records(Protocol):
    """Where the records of legs are read from."""

    async def read(self, wanted: Sequence[Wanted]) -> Sequence[tuple[Record, ...]]:
        """The incarnations of each leg wanted, oldest first. Raises StoreUnavailable."""
        ...


class StoredRecords:
    """`Records` of a Store that holds `legs/` too, as a simulated run directory does."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def read(self, wanted: Sequence[Wanted]) -> Sequence[tuple[Record, ...]]:
        """The incarnations of each leg wanted, oldest first."""
        return [await self._read(one) for one in wanted]

    async def _read(self, one: Wanted) -> tuple[Record, ...]:
        folder = layout.leg_tag(one.leg, one.tag)
        names = {key[len(folder) + 1 :].partition("/")[0] for key in await self._store.list(folder)}
        found: list[Record] = []
        for name in oldest_first(names):
            journal = await self._store.read(f"{folder}/{name}/{layout.JOURNAL}")
            log = await self._store.read(f"{folder}/{name}/{layout.TRANSCRIPT}") if one.log else None
            found.append(Record(name, journal, (log or b"")[-TAIL:]))
        return tuple(found)


class FileRecords:
    """`Records` below a run directory, in a thread, no link followed."""

    def __init__(self, run_dir: Path, *, deadline: float = DEADLINE) -> None:
        self._run_dir = run_dir
        self._lane = Lane("records", limit=1)
        self._deadline = deadline

    async def read(self, wanted: Sequence[Wanted]) -> Sequence[tuple[Record, ...]]:
        """The incarnations of each leg wanted, oldest first. Raises StoreUnavailable."""
        try:
            return await self._lane.call(self._deadline, lambda: [self._read(one) for one in wanted])
        except TimeoutError as error:
            raise StoreUnavailable(
                f"cannot read the records below {self._run_dir}/legs: no answer within {self._deadline:g} s",
                hint="The shared root hangs or is cut off.",
            ) from error

    def _read(self, one: Wanted) -> tuple[Record, ...]:
        folder = os.path.realpath(self._run_dir) + "/" + layout.leg_tag(one.leg, one.tag)
        if os.path.realpath(folder) != folder:
            return (Record("", None, problem="the leg's directory is a link to another place"),)
        try:
            with os.scandir(folder) as entries:
                names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        except FileNotFoundError:
            return ()
        except OSError as error:
            return (Record("", None, problem=f"its directory cannot be listed: {os.strerror(error.errno or 0)}"),)
        return tuple(_incarnation(f"{folder}/{name}", name, log=one.log) for name in oldest_first(names))


def _incarnation(base: str, name: str, *, log: bool) -> Record:
    problems: list[str] = []
    journal = _bytes(f"{base}/{layout.JOURNAL}", JOURNAL, problems, tail=False)
    said = _bytes(f"{base}/{layout.TRANSCRIPT}", TAIL, problems, tail=True) if log else None
    cut = journal is not None and len(journal) >= JOURNAL
    return Record(name, journal, said or b"", "; ".join(problems), cut)


def _bytes(path: str, limit: int, problems: list[str], *, tail: bool) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else os.strerror(error.errno or 0)
        problems.append(f"{path.rpartition('/')[2]}: {why}")
        return None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            problems.append(f"{path.rpartition('/')[2]}: not a regular file")
            return None
        if tail:
            file.seek(max(0, found.st_size - limit))
        return file.read(limit)
