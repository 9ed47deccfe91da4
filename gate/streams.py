"""Standard output and error that may fail: a pipe that nobody reads any more, a full disk, a descriptor closed before.

What a command came to must never depend on whether somebody could be told: rich ends a process whose pipe has closed
with 1, which reads as a failed leg.
"""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO, cast

from gate.errors import GateError


class PipeClosedError(Exception):
    """Whoever read our output has gone. No OSError: libraries take those for their own."""


class OutputError(GateError):
    """What was asked for cannot be written where it was asked for."""


class Stream:
    """Stands before a text stream. `acts`: the command does something, and goes on when nobody can be told."""

    def __init__(self, inner: TextIO, name: str, *, acts: bool) -> None:
        self.inner = inner
        self._name = name
        self._acts = acts
        self._end: Exception | None = None
        """What every further use ends with: libraries try streams out, and swallow what that raises."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def write(self, text: str) -> int:
        """As the stream's own; what it cannot take is given up, or ends a command that only shows something."""
        self._raise_again()
        try:
            return self.inner.write(text)
        except OSError as error:
            self._failed(error)
        self._raise_again()
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """As the stream's own."""
        self.write("".join(lines))

    def flush(self) -> None:
        """As the stream's own."""
        self._raise_again()
        try:
            self.inner.flush()
        except OSError as error:
            self._failed(error)
        self._raise_again()

    def _raise_again(self) -> None:
        if self._end is not None:
            raise self._end

    def _failed(self, error: OSError) -> None:
        # From here on it goes nowhere: Python writes what is left at its exit, and would fail then.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.inner.fileno())
        os.close(nowhere)
        if not self._acts:
            gone = isinstance(error, BrokenPipeError)
            self._end = PipeClosedError() if gone else OutputError(f"cannot write to {self._name}: {error.strerror}")
        elif self._name != STDERR:
            sys.stderr.write(f"gate: {self._name}: {error.strerror}; nothing more is written there\n")


STDOUT, STDERR = "standard output", "standard error"


def guard(*, acts: bool) -> None:
    """Put a `Stream` before both; where one was closed by whoever started us, it is there now and goes nowhere."""
    out, err = cast("TextIO | None", sys.stdout), cast("TextIO | None", sys.stderr)
    sys.stderr = cast(TextIO, Stream(err or _nowhere(), STDERR, acts=True))
    sys.stdout = cast(TextIO, Stream(out or _nowhere(), STDOUT, acts=acts))


def release() -> None:
    """Take them away again: what Python writes at its exit raises nothing."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, Stream):
            setattr(sys, name, stream.inner)


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - for as long as the process lives
