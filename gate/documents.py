"""Files of gate's own: frozen dataclasses to JSON and back, strictly.

Every document has a `FORMAT` and a `VERSION`, written as `format` and `format_version`: plans and manifests have a
`version` of their own, the product's. A newer version is refused, an older one migrated (`MIGRATIONS`), an
unknown or missing key is an error: a reader never defaults what it could not read. Field types understood: str, int,
float, bool, None, Literal, Enum, tuple[X, ...], Mapping[str, X], unions, other dataclasses, and `Json`.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from gate.errors import DocumentError

Json = Any
"""Any value that strict JSON can hold."""

Migration = Callable[[dict[str, Json]], dict[str, Json]]


class Document:
    """Base of every file format; subclasses are frozen dataclasses that set FORMAT and VERSION."""

    FORMAT: ClassVar[str]
    VERSION: ClassVar[int]


MIGRATIONS: dict[tuple[str, int], Migration] = {}
"""(format, version) to the function that makes the body of version + 1 of it. The one place where formats grow."""

D = TypeVar("D", bound=Document)
T = TypeVar("T")


def dump(document: Document) -> bytes:
    """`document` as one JSON object with `format` and `format_version` first, keys in field order, a newline at the end."""
    body = {"format": document.FORMAT, "format_version": document.VERSION, **_encode(document)}
    return _bytes(json.dumps(body, ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def dump_line(document: Document) -> bytes:
    """The same on one line, for journals."""
    body = {"format": document.FORMAT, "format_version": document.VERSION, **_encode(document)}
    return _bytes(json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")


def load(cls: type[D], raw: bytes, where: str) -> D:
    """Read `raw` as a document of `cls`; `where` names the file in the error.

    Raises DocumentError: not JSON, another format, a newer version, a missing, unknown or mistyped key.
    """
    try:
        body = parse_strict(raw)
    except ValueError as error:
        raise DocumentError(f"{where}: not a {cls.FORMAT} file: {error}") from error
    if not isinstance(body, dict):
        raise DocumentError(f"{where}: not a {cls.FORMAT} file: expected an object, found {_kind(body)}")
    found = body.pop("format", None)
    version = body.pop("format_version", None)
    if found != cls.FORMAT:
        raise DocumentError(f"{where}: expected format {cls.FORMAT!r}, found {found!r}")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DocumentError(f"{where}: expected a version number, found {version!r}")
    if version > cls.VERSION:
        raise DocumentError(
            f"{where}: {cls.FORMAT} version {version} is newer than this gate reads ({cls.VERSION})",
            hint="Use the gate that wrote it, or a newer one.",
        )
    while version < cls.VERSION:
        migrate = MIGRATIONS.get((cls.FORMAT, version))
        if migrate is None:
            raise DocumentError(f"{where}: {cls.FORMAT} version {version} can no longer be read")
        body, version = migrate(body), version + 1
    return decode(cls, body, where)


def decode(cls: type[T], body: Json, where: str) -> T:
    """Read plain JSON `body` as the dataclass `cls` (no format header). Raises DocumentError."""
    try:
        return typing.cast(T, _decode(cls, body, ""))
    except _Mismatch as error:
        raise DocumentError(f"{where}: {error}") from error


def encode(value: object) -> Json:
    """A dataclass (or any field value) as plain JSON, without a format header."""
    return _encode(value)


def parse_strict(raw: bytes) -> Json:
    """Strict JSON: UTF-8, no NaN, no Infinity (nor numbers that overflow), no duplicate keys; else ValueError."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from error
    try:
        return json.loads(
            text,
            object_pairs_hook=_no_duplicates,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_small_int,
        )
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _bytes(text: str) -> bytes:
    # Half an emoji, cut by a program that counts UTF-16: JSON can hold it, UTF-8 cannot. Escaped, it reads back as is.
    return text.encode("utf-8", "backslashreplace")


def _no_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"duplicate key {key!r}")
            seen.add(key)
    return found


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"number out of range: {text[:40]}")
    return value


def _small_int(text: str) -> int:
    # CPython refuses to convert very long digit strings with an error of its own; say it the same way for all.
    if len(text) > 400:
        raise ValueError(f"number out of range: {text[:40]}…")
    return int(text)


class _Mismatch(Exception):
    def __init__(self, path: str, expected: str, found: object) -> None:
        shown = json.dumps(found, default=str)[:80]
        super().__init__(f"{path or 'top level'}: expected {expected}, found {shown}")


def _encode(value: object) -> Json:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(k): _encode(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encode(v) for v in value]
    return value


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    known = get_type_hints(cls)
    return {f.name: known[f.name] for f in dataclasses.fields(cls)}


def _decode(kind: Any, value: Json, path: str) -> Any:  # noqa: C901, PLR0911, PLR0912 - one row a kind of type
    if kind is Any:
        return value
    origin = get_origin(kind)
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(typing.cast(type, kind), value, path)
    if origin in (Union, types.UnionType):
        return _decode_union(get_args(kind), value, path)
    if origin is Literal:
        if value in get_args(kind):
            return value
        raise _Mismatch(path, "one of " + ", ".join(map(repr, get_args(kind))), value)
    if origin is tuple:
        if not isinstance(value, list):
            raise _Mismatch(path, "a list", value)
        return tuple(_decode(get_args(kind)[0], v, f"{path}[{i}]") for i, v in enumerate(value))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise _Mismatch(path, "an object", value)
        return {k: _decode(get_args(kind)[1], v, f"{path}.{k}") for k, v in value.items()}
    if kind is type(None):
        if value is None:
            return None
        raise _Mismatch(path, "null", value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(value)
        except ValueError:
            raise _Mismatch(path, "one of " + ", ".join(repr(m.value) for m in kind), value) from None
    return _decode_scalar(kind, value, path)


def _decode_scalar(kind: Any, value: Json, path: str) -> Any:
    if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    raise _Mismatch(path, kind.__name__, value)


def _decode_union(kinds: tuple[Any, ...], value: Json, path: str) -> Any:
    problems: list[_Mismatch] = []
    # bool before int before float, so that a value keeps the type it was written with
    for kind in sorted(kinds, key=lambda k: {bool: 0, int: 1, float: 2}.get(k, 3)):
        if kind is float and isinstance(value, int) and int in kinds:
            continue
        try:
            return _decode(kind, value, path)
        except _Mismatch as error:
            problems.append(error)
    raise problems[-1]


def _decode_dataclass(cls: type, value: Json, path: str) -> Any:
    if not isinstance(value, dict):
        raise _Mismatch(path, f"an object ({cls.__name__})", value)
    hints = _hints(cls)
    for key in value:
        if key not in hints:
            raise _Mismatch(path, f"no key {key!r} in {cls.__name__}", key)
    for key in hints:
        if key not in value:
            raise _Mismatch(path, f"key {key!r} in {cls.__name__}", sorted(value))
    return cls(**{k: _decode(hints[k], v, f"{path}.{k}" if path else k) for k, v in value.items()})


def _kind(value: Json) -> str:
    return {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}.get(
        type(value), "a number"
    )
