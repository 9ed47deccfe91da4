"""Cancel intents on the runner's own disk: written first, because the shared root may hang just then."""

from __future__ import annotations

import errno
import os
import secrets
import time
from pathlib import Path

from gate import documents
from gate.adapters.threads import Lane
from gate.errors import DocumentError, StoreError
from gate.rundir.formats import CancelIntent
from gate.rundir.layout import component

DEADLINE = 2.0
"""Seconds; the runner's own disk answers at once, or the cancel goes on without it."""


class FileCancelNotes:
    """`contracts.CancelNotes` in `folder` (`places.cancel_notes()`), one small file an attempt."""

    def __init__(self, folder: Path, *, lane: Lane | None = None) -> None:
        self._folder = folder
        # A lane of its own: threads that hang on the shared root must not stand in the way.
        self._lane = lane or Lane("own-disk", limit=2)

    async def record(self, run: str, tag: str, signal: int) -> None:
        """Note a cancel; durable when this returns. The first note of an attempt stays. Raises StoreError."""
        note = documents.dump(CancelIntent(run, tag, signal, time.time()))
        try:
            await self._lane.call(DEADLINE, lambda: _write(self._folder, self._path(run, tag), note))
        except OSError as error:
            raise StoreError(f"cannot note the cancel in {self._folder}: {error}") from error

    async def find(self, run: str, tag: str) -> int | None:
        """The signal of a cancel noted for this attempt, or None. Raises StoreError, DocumentError."""
        path = self._path(run, tag)
        try:
            raw = await self._lane.call(DEADLINE, lambda: _read(path))
        except OSError as error:
            raise StoreError(f"cannot read {path}: {error}") from error
        if raw is None:
            return None
        note = documents.load(CancelIntent, raw, str(path))
        if (note.run, note.tag) != (run, tag):
            raise DocumentError(f"{path}: a cancel of run {note.run}, tag {note.tag}, under the name of another")
        return note.signal

    def _path(self, run: str, tag: str) -> Path:
        return self._folder / f"{component(run)}.{component(tag)}.json"


def _write(folder: Path, path: Path, data: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{secrets.token_hex(8)}.tmp"
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, data)
        os.fsync(handle)
        os.link(temporary, path)
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise
    finally:
        os.close(handle)
        temporary.unlink()
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
