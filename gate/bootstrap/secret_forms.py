"""How a secret can stand in a text: the closed list of forms that redaction looks for.

raw and percent-encoded (any subset of bytes, both cases, `+` for a space) · JSON-escaped, up to three strings deep, any
character as `\\uXXXX` · base64 and base64url at three alignments, wrapped at any column · hex in both cases, wrapped.

A form is a sequence of units, a unit the ways in which one character or byte may be written. What is not in this list
(gzip, reversed, split in halves) is not found.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import base64
import functools
import itertools
import json
from collections.abc import Iterable

Unit = tuple[bytes, ...]
"""The spellings of one character; none is empty."""

Form = tuple[Unit, ...]

JSON_DEPTH = 3
"""A tool's JSON output in an agent's JSON event in a JSON log."""

_BREAKS = (
    *(b"\n", b"\r\n", b"%0A", b"%0a", b"%0D%0A", b"%0d%0a"),
    *(b"\\" * n + b"n" for n in (1, 2, 4)),
    *(b"\\" * n + b"r" + b"\\" * n + b"n" for n in (1, 2, 4)),
)
"""What stands between two lines of wrapped base64 or hex: in a terminal, in a URL, in JSON up to three deep."""


def forms(value: str) -> tuple[Form, ...]:
    """All forms of `value`, which is not empty."""
    raw = value.encode("utf-8", "surrogateescape")
    found = [
        tuple(_url_unit(byte) for byte in raw),
        *(tuple(_json_unit(char, depth) for char in value) for depth in range(1, JSON_DEPTH + 1)),
        _wrapped(_hex_unit(byte) for byte in raw),
        *(_base64_form(raw, alignment) for alignment in range(3)),
    ]
    return tuple(dict.fromkeys(found))


@functools.cache
def _url_unit(byte: int) -> Unit:
    plain = bytes([byte])
    plus = (b"+",) if plain == b" " else ()
    return (plain, *plus, *(b"%" + pair for pair in _hex_unit(byte)))


@functools.cache
def _hex_unit(byte: int) -> Unit:
    cases = ((digit, digit.upper()) for digit in f"{byte:02x}")
    return tuple(dict.fromkeys("".join(pair).encode() for pair in itertools.product(*cases)))


@functools.cache
def _json_unit(char: str, depth: int) -> Unit:
    spelled = [char]
    for _ in range(depth):
        spelled = list(dict.fromkeys(again for text in spelled for again in _json_once(text)))
    return tuple(text.encode("utf-8", "surrogateescape") for text in spelled)


def _json_once(text: str) -> Iterable[str]:
    """`text` as it may stand inside one JSON string."""
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    if len(text) != 1:
        return
    if text == "/":
        yield "\\/"
    units = text.encode("utf-16-be", "surrogatepass")
    for digits in (units.hex(), units.hex().upper()):
        yield "".join(f"\\u{digits[at : at + 4]}" for at in range(0, len(digits), 4))


@functools.cache
def _base64_unit(char: str) -> Unit:
    match char:
        case "+":
            return (b"+", b"-", b"%2B", b"%2b")
        case "/":
            return (b"/", b"_", b"%2F", b"%2f", b"\\/", b"\\\\/")
        case _:
            return (char.encode(),)


def _base64_form(raw: bytes, alignment: int) -> Form:
    """`raw` after `alignment` unknown bytes: the characters that it decides alone, and the last one it shares."""
    bits = 8 * (alignment + len(raw))
    known = slice(-(-8 * alignment // 6), bits // 6)
    units = [_base64_unit(char) for char in base64.b64encode(b"\0" * alignment + raw).decode()[known]]
    if bits % 6:
        # What follows is unknown: every character that begins with the secret's last bits.
        tails = (base64.b64encode(b"\0" * alignment + raw + bytes([after]) * 3).decode() for after in range(256))
        units.append(tuple(dict.fromkeys(itertools.chain(*(_base64_unit(text[bits // 6]) for text in tails)))))
    return _wrapped(units)


def _wrapped(units: Iterable[Unit]) -> Form:
    first, *others = units
    return (first, *map(_after_break, others))


@functools.cache
def _after_break(unit: Unit) -> Unit:
    return unit + tuple(line_break + spelling for line_break in _BREAKS for spelling in unit)
