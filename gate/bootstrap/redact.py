"""Secrets out of everything that is kept or shown: bytes in, bytes out, whole or in chunks.

`secret_forms` says what is looked for. One regular expression finds where a form may begin; the few places found are
followed unit by unit. A stream holds back only what may still become a secret.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gate.bootstrap.secret_forms import Unit, forms
from gate.errors import SecretError

SHORTEST = 8
"""Bytes. Anything shorter would be found in innocent text, and its redaction would tell what it is."""

_HEAD = 8
"""Units of a form that the regular expression compares; more make it slower to compile, not to run."""


@dataclass(frozen=True, slots=True)
class _Path:
    """One form of one secret, ready to be followed: for each unit, its spellings by first byte."""

    name: str
    units: tuple[Mapping[int, tuple[bytes, ...]], ...]

    def follow(self, data: bytes, start: int) -> tuple[int, bool]:
        """(end of the longest match at `start` or -1, whether `data` ended while a longer one was possible)."""
        end, unfinished = -1, False
        places = {(0, start)}
        while places:
            unit, at = places.pop()
            if unit == len(self.units):
                end = max(end, at)
            elif at == len(data):
                unfinished = True
            else:
                for spelling in self.units[unit].get(data[at], ()):
                    if data.startswith(spelling, at):
                        places.add((unit + 1, at + len(spelling)))
                    elif len(data) - at < len(spelling) and spelling.startswith(data[at:]):
                        unfinished = True
        return end, unfinished


class Redactor:
    """Replaces every form of every secret by `***NAME***`.

    `secrets` is name to value; white space around a value is not part of what is looked for. Raises SecretError for a
    value under 8 bytes.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self.names = tuple(secrets)
        paths = [path for name, value in secrets.items() for path in _paths(name, value)]
        self._finder = _Finder(paths) if paths else None

    def redact(self, data: bytes) -> bytes:
        """`data` without secrets."""
        stream = self.stream()
        return stream.feed(data) + stream.finish()

    def redact_text(self, text: str) -> str:
        """`text` without secrets."""
        return self.redact(text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")

    def hits(self, chunks: bytes | Iterable[bytes]) -> tuple[str, ...]:
        """Names of the secrets that stand in `chunks` (one value, or the pieces of one file), each once."""
        stream = self.stream()
        for chunk in (chunks,) if isinstance(chunks, bytes) else chunks:
            stream.feed(chunk)
        stream.finish()
        return tuple(name for name in self.names if name in stream.found)

    def stream(self) -> RedactedStream:
        """A new stream; it shares nothing with others."""
        return RedactedStream(self._finder)


class RedactedStream:
    """One stream of bytes in chunks. `found`: names of the secrets seen so far."""

    def __init__(self, finder: _Finder | None) -> None:
        self.found: set[str] = set()
        self._finder = finder
        self._held = b""
        self._covered = 0
        """How many bytes of `_held` belong to a secret that has been replaced, and may be the start of another."""
        self._last = ""
        """The secret that the output ends with, if it does: overlapping finds of one secret are shown once."""

    def feed(self, chunk: bytes) -> bytes:
        """Take `chunk`; return what is certain by now."""
        return self._advance(self._held + chunk, final=False)

    def finish(self) -> bytes:
        """What was held back. The stream may then be used again, for another text."""
        out = self._advance(self._held, final=True)
        self._last = ""
        return out

    def _advance(self, data: bytes, *, final: bool) -> bytes:
        finder = self._finder
        if finder is None:
            return data
        limit = len(data) if final else finder.first_cut_off(data)
        out: list[bytes] = []
        clear = self._covered  # everything before it has been written, or replaced
        at = finder.candidate(data, 0)
        while at < limit:
            name, end, unfinished = finder.longest(data, at)
            if unfinished and not final:
                limit = at
                break
            if end > clear:
                if at > clear:
                    out.append(data[clear:at])
                    self._last = ""
                if self._last != name:
                    out.append(b"***%s***" % name.encode())
                self._last = name
                self.found.add(name)
                clear = end
            at = finder.candidate(data, at + 1)
        if limit > clear:
            out.append(data[clear:limit])
            self._last = ""
        self._held = data[limit:]
        self._covered = max(0, clear - limit)
        return b"".join(out)


class _Finder:
    """Where forms begin and end in bytes."""

    def __init__(self, paths: Sequence[_Path]) -> None:
        self._by_first: dict[int, list[_Path]] = {}
        for path in paths:
            for first in path.units[0]:
                self._by_first.setdefault(first, []).append(path)
        self._head = _head_pattern(paths)
        self._first = re.compile(b"[" + b"".join(map(_byte, sorted(self._by_first))) + b"]")
        self._reach = max(sum(max(map(_longest, unit.values())) for unit in path.units[:_HEAD]) for path in paths)

    def candidate(self, data: bytes, start: int) -> int:
        """Where from `start` a form may begin, its head being complete; len(data) for nowhere."""
        match = self._head.search(data, start)
        return match.start() if match else len(data)

    def first_cut_off(self, data: bytes) -> int:
        """Where a form may begin that the end of `data` cuts off within its head; len(data) for nowhere."""
        for match in self._first.finditer(data, max(0, len(data) - self._reach)):
            if self.longest(data, match.start())[2]:
                return match.start()
        return len(data)

    def longest(self, data: bytes, at: int) -> tuple[str, int, bool]:
        """(name, end, could go on beyond `data`) of the longest secret at `at`; end is -1 for none."""
        name, end, unfinished = "", -1, False
        for path in self._by_first[data[at]]:
            found, more = path.follow(data, at)
            unfinished = unfinished or more
            if found > end:
                name, end = path.name, found
        return name, end, unfinished


def _paths(name: str, value: str) -> Iterable[_Path]:
    wanted = value.strip()
    size = len(wanted.encode("utf-8", "surrogateescape"))
    if size < SHORTEST:
        raise SecretError(
            f"secret {name}: its value has {size} bytes; at least {SHORTEST} are needed to keep it out of logs",
            hint="Use a longer secret, or pass the value as a plain environment variable if it is not one.",
        )
    for form in forms(wanted):
        yield _Path(name, tuple(map(_by_first_byte, form)))


def _by_first_byte(unit: Unit) -> Mapping[int, tuple[bytes, ...]]:
    table: dict[int, tuple[bytes, ...]] = {}
    for spelling in unit:
        table[spelling[0]] = (*table.get(spelling[0], ()), spelling)
    return table


def _head_pattern(paths: Iterable[_Path]) -> re.Pattern[bytes]:
    """Matches where a form may begin. Every branch starts with one literal byte: so `re` can skip over other bytes."""
    branches: dict[int, dict[bytes, None]] = {}
    for path in paths:
        first, *rest = path.units[:_HEAD]
        tail = b"".join(_any_of(spelling for group in unit.values() for spelling in group) for unit in rest)
        for byte, group in first.items():
            branches.setdefault(byte, {})[_any_of(spelling[1:] for spelling in group) + tail] = None
    return re.compile(b"|".join(_byte(byte) + b"(?:" + b"|".join(tails) + b")" for byte, tails in branches.items()))


def _any_of(spellings: Iterable[bytes]) -> bytes:
    """A pattern for one of `spellings`."""
    every = list(dict.fromkeys(spellings))
    single = b"".join(_byte(spelling[0]) for spelling in every if len(spelling) == 1)
    others = [b"".join(map(_byte, spelling)) for spelling in every if len(spelling) != 1]
    if single:
        others.insert(0, b"[" + single + b"]" if len(single) > 4 else single)
    return others[0] if len(others) == 1 else b"(?:" + b"|".join(others) + b")"


def _byte(value: int) -> bytes:
    return b"\\x%02x" % value


def _longest(spellings: Iterable[bytes]) -> int:
    return max(map(len, spellings))
