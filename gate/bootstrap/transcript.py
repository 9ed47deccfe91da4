"""The one place that mirrors an agent's output, redacted, as it happens: a pod's own log dies with the pod.

The transcript never holds a leg up: a share that hangs, or a disk that is full, loses transcript and says how much.
Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Literal

import anyio

from gate.adapters.threads import Lane
from gate.bootstrap.redact import Redactor
from gate.contracts import TurnRequest

LIMIT = 64 << 20
"""Bytes of transcript that a leg keeps, the part rotated away (`transcript.log.1`) included."""

Channel = Literal["out", "err"]


class Transcript:
    """`path` in pieces, each appended by a thread that is waited for at most `patience` seconds.

    Beyond half of `limit` bytes the file is renamed to `PATH.1`, over an earlier one, and begun again. `lost`: bytes
    that could not be written so far.
    """

    def __init__(
        self,
        path: Path,
        redactor: Redactor,
        *,
        limit: int = LIMIT,
        patience: float = 2.0,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        self.lost = 0
        self._redactor = redactor
        self._channels = {"out": redactor.stream(), "err": redactor.stream()}
        self._file = _RotatedFile(path, limit // 2)
        self._lane = Lane("transcript", limit=1)
        self._turn = anyio.Lock()
        self._patience = patience
        self._wall = wall
        self._told = 0
        self._why = ""

    async def begin(self, request: TurnRequest) -> None:
        """The turn's header line, and its prompt."""
        how = "resumes" if request.resume else "starts"
        heading = f"turn {request.ordinal} {how} session {request.session} at {self._time()}"
        prompt = "".join(f"> {line}\n" for line in request.prompt.splitlines())
        await self._put(self._redactor.redact(f"\n=== {heading}\n{prompt}".encode("utf-8", "replace")))

    async def write(self, data: bytes, channel: Channel = "out") -> None:
        """Mirror `data`. Only what could be the start of a secret waits for the next call, or for `end`."""
        await self._put(self._channels[channel].feed(data))

    async def end(self, words: str) -> None:
        """The turn has ended: what was held back, and a closing line."""
        held = self._channels["out"].finish() + self._channels["err"].finish()
        closing = self._redactor.redact(f"\n=== {words} at {self._time()}\n".encode("utf-8", "replace"))
        await self._put(held + closing)

    async def note(self, text: str) -> None:
        """A line of gate's own between turns."""
        await self._put(self._redactor.redact(f"--- {text}\n".encode("utf-8", "replace")))

    def _time(self) -> str:
        return datetime.fromtimestamp(self._wall(), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")

    async def _put(self, data: bytes) -> None:
        if data:
            async with self._turn:
                await self._append(data)

    async def _append(self, data: bytes) -> None:
        if self._file.busy:  # with a call that was given up
            self.lost += len(data)
            return
        missing = self.lost - self._told
        note = f"\n[{missing} bytes of transcript lost: {self._why}]\n".encode() if missing else b""
        self._file.busy = True
        try:
            await self._lane.call(self._patience, partial(self._file.append, note + data))
        except TimeoutError:
            self._lose(len(data), f"no answer within {self._patience:g} s")
        except OSError as error:
            self._lose(len(data), error.strerror or type(error).__name__)
        else:
            self._told += missing

    def _lose(self, size: int, why: str) -> None:
        self.lost += size
        self._why = why


class _RotatedFile:
    """The file itself, used by one thread at a time. `busy` while a call is on its way, also one that hangs."""

    def __init__(self, path: Path, limit: int) -> None:
        self.busy = False
        self._path = path
        self._limit = limit

    def append(self, data: bytes) -> None:
        """Raises OSError."""
        try:
            self._append(data[-self._limit :])
        finally:
            self.busy = False

    def _append(self, data: bytes) -> None:
        # Opened each time: an open file would keep a share busy that is to be unmounted, and hide that it was removed.
        fd = self._open()
        try:
            if os.fstat(fd).st_size + len(data) > self._limit:
                self._path.replace(f"{self._path}.1")
                os.close(fd)
                fd = self._open()
            view = memoryview(data)
            while view:
                view = view[os.write(fd, view) :]
        finally:
            os.close(fd)

    def _open(self) -> int:
        fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        os.fchmod(fd, 0o644)  # the runner reads it, whatever the umask here says
        return fd
