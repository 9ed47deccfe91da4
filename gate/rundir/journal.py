"""Journals: one JSON value a line. After a crash the last line may be torn; readers drop it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from gate.documents import Json, parse_strict
from gate.errors import DocumentError

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def line(value: Json) -> bytes:
    """`value` as one line, as short as JSON gets."""
    return _encode(value).encode("utf-8", "backslashreplace") + b"\n"


def whole(raw: bytes) -> bytes:
    """`raw` without a torn tail: everything up to the last newline."""
    return raw[: raw.rfind(b"\n") + 1]


def values(raw: bytes, where: str) -> Iterator[Json]:
    """The values of a journal's whole lines. Raises DocumentError, with the line's number, for one that is damaged."""
    for number, text in enumerate(whole(raw).split(b"\n")[:-1], start=1):
        yield _value(text, f"{where}, line {number}")


def _value(text: bytes, where: str) -> Json:
    try:
        return parse_strict(text)
    except ValueError as error:
        raise DocumentError(
            f"{where}: not JSON: {error}",
            hint="Something other than gate changed the journal. Move it away to go on without it.",
        ) from error
