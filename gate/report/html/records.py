"""What a leg left below `legs/` beside its evidence: journals and transcripts. Untrusted, and read with bounds."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from gate.adapters.threads import Lane
from gate.contracts import Store
from gate.errors import StoreUnavailable
from gate.rundir import layout
from gate.rundir.legview import oldest_first

DEADLINE = 10.0
"""Seconds for the records of one leg."""
JOURNAL = 4 << 20
"""Bytes of a journal that are read, from its start: it tells of turns and phases long before it is that long."""
JOURNALS = 256 << 20
"""The same for all legs together: a thousand agents that write nonsense must not fill this machine's memory."""
STARTS = 8
"""Incarnations of a leg that are read, the last ones."""
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
        limit = min(JOURNAL, JOURNALS // max(1, len(wanted)))
        try:
            return [await self._lane.call(self._deadline, partial(self._read, one, limit)) for one in wanted]
        except TimeoutError as error:
            raise StoreUnavailable(
                f"cannot read the records below {self._run_dir}/legs: no answer within {self._deadline:g} s",
                hint="The shared root hangs or is cut off.",
            ) from error

    def _read(self, one: Wanted, limit: int) -> tuple[Record, ...]:
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
        # The last starts are the ones that count; an image that crashes for hours has hundreds.
        last = oldest_first(names)[-STARTS:]
        return tuple(_incarnation(f"{folder}/{name}", name, limit // len(last), log=one.log) for name in last)


def _incarnation(base: str, name: str, limit: int, *, log: bool) -> Record:
    problems: list[str] = []
    journal = _bytes(f"{base}/{layout.JOURNAL}", limit, problems, tail=False)
    said = _bytes(f"{base}/{layout.TRANSCRIPT}", TAIL, problems, tail=True) if log else None
    cut = journal is not None and len(journal) >= limit
    return Record(name, journal, said or b"", "; ".join(problems), cut)


def _bytes(path: str, limit: int, problems: list[str], *, tail: bool) -> bytes | None:
    """At most `limit` bytes of a regular file, from its start or its end; None with the reason in `problems`."""
    try:
        return _read(path, limit, tail=tail)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror or type(error).__name__
        problems.append(f"{path.rpartition('/')[2]}: {why}")
        return None


def _read(path: str, limit: int, *, tail: bool) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if tail:
            os.lseek(handle, max(0, found.st_size - limit), os.SEEK_SET)
        pieces: list[bytes] = []
        while limit > 0 and (piece := os.read(handle, limit)):
            pieces.append(piece)
            limit -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(handle)
