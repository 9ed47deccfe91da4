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
    """`document` as one JSON object, `format` and `format_version` first, keys in field order, a newline at the end.

    A line a field, and a line for each object in a list of them: people read these files too.
    """
    body = {"format": document.FORMAT, "format_version": document.VERSION, **_encode(document)}
    return _bytes("{\n" + ",\n".join(f" {_PLAINLY(key)}: {_field(value)}" for key, value in body.items()) + "\n}\n")


def dump_line(document: Document) -> bytes:
    """The same on one line, for journals."""
    body = {"format": document.FORMAT, "format_version": document.VERSION, **_encode(document)}
    return _bytes(_CLOSELY(body) + "\n")


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
    kind: Any = cls
    try:
        return typing.cast(T, _decoder(kind)(body))
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
    if text.startswith("\ufeff"):
        raise json.JSONDecodeError("Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0)
    try:
        return _STRICT.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _field(value: Json) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n  " + ",\n  ".join(map(_PLAINLY, value)) + "\n ]"
    return _PLAINLY(value)


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


# Made once: json.dumps and json.loads make theirs anew with every call.
_PLAINLY = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_CLOSELY = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_STRICT = json.JSONDecoder(
    object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_float=_finite, parse_int=_small_int
)


class _Mismatch(Exception):
    """What was expected and found; `path` grows from the inside out, as the decoders are left."""

    def __init__(self, expected: str, found: object) -> None:
        super().__init__()
        self.path = ""
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        shown = json.dumps(self.found, default=str)[:80]
        return f"{self.path or 'top level'}: expected {self.expected}, found {shown}"

    def below(self, step: str) -> _Mismatch:
        """The same, seen from one level up: `step` is `key` or `[3]`."""
        self.path = step + ("." if self.path and not self.path.startswith("[") else "") + self.path
        return self


# --- to plain JSON -----------------------------------------------------------------------------------

# A campaign plays a hundred thousand gates, and a poller writes at every tick: what a type takes is worked out once.

_PLAIN = frozenset({str, int, float, bool, type(None)})


def _encode(value: object) -> Json:
    kind: Any = type(value)
    return value if kind in _PLAIN else _encoder(kind)(value)


@functools.cache
def _encoder(kind: Any) -> Callable[[Any], Json]:
    if dataclasses.is_dataclass(kind):
        names = tuple(f.name for f in dataclasses.fields(kind))
        return lambda value: {name: _encode(getattr(value, name)) for name in names}
    if issubclass(kind, Enum):
        return lambda value: value.value
    if issubclass(kind, Mapping):
        return lambda value: {str(k): _encode(v) for k, v in value.items()}
    if issubclass(kind, (list, tuple)):
        return lambda value: [_encode(v) for v in value]
    return lambda value: value


# --- from plain JSON ---------------------------------------------------------------------------------

_Decoder = Callable[[Json], Any]


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    known = get_type_hints(cls)
    return {f.name: known[f.name] for f in dataclasses.fields(cls)}


@functools.cache
def _decoder(kind: Any) -> _Decoder:  # noqa: PLR0911 - one row a kind of type
    origin = get_origin(kind)
    if kind is Any:
        return lambda value: value
    if dataclasses.is_dataclass(kind):
        return _dataclass(typing.cast(type, kind))
    if origin in (Union, types.UnionType):
        return _union(get_args(kind))
    if origin is Literal:
        return _literal(get_args(kind))
    if origin is tuple:
        return _list(get_args(kind)[0])
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(get_args(kind)[1])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _enum(kind)
    return _scalar(kind)


def _literal(allowed: tuple[Any, ...]) -> _Decoder:
    def decode_literal(value: Json) -> Any:
        if value in allowed:
            return value
        raise _Mismatch("one of " + ", ".join(map(repr, allowed)), value)

    return decode_literal


def _list(kind: Any) -> _Decoder:
    def decode_list(value: Json) -> Any:
        if not isinstance(value, list):
            raise _Mismatch("a list", value)
        one, found = _decoder(kind), []
        try:
            for item in value:
                found.append(one(item))  # noqa: PERF401 - its length says where it went wrong
        except _Mismatch as error:
            raise error.below(f"[{len(found)}]") from None
        return tuple(found)

    return decode_list


def _mapping(kind: Any) -> _Decoder:
    def decode_mapping(value: Json) -> Any:
        if not isinstance(value, dict):
            raise _Mismatch("an object", value)
        one, found, key = _decoder(kind), {}, ""
        try:
            for key, item in value.items():
                found[key] = one(item)
        except _Mismatch as error:
            raise error.below(key) from None
        return found

    return decode_mapping


def _enum(kind: type[Enum]) -> _Decoder:
    def decode_enum(value: Json) -> Any:
        try:
            return kind(value)
        except ValueError:
            raise _Mismatch("one of " + ", ".join(repr(m.value) for m in kind), value) from None

    return decode_enum


def _scalar(kind: Any) -> _Decoder:
    expected = "null" if kind is type(None) else kind.__name__

    def decode_scalar(value: Json) -> Any:
        if kind is float and type(value) in (int, float):
            return float(value)
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        raise _Mismatch(expected, value)

    return decode_scalar


def _union(kinds: tuple[Any, ...]) -> _Decoder:
    # bool before int before float, so that a value keeps the type it was written with
    ordered = sorted(kinds, key=lambda k: {bool: 0, int: 1, float: 2}.get(k, 3))
    exact = _PLAIN.intersection(kinds)

    def decode_union(value: Json) -> Any:
        if type(value) in exact:
            return value
        problem: _Mismatch | None = None
        for kind in ordered:
            try:
                return _decoder(kind)(value)
            except _Mismatch as error:  # noqa: PERF203 - of a union's kinds only one need fit
                problem = error
        assert problem is not None
        raise problem

    return decode_union


def _dataclass(cls: type) -> _Decoder:
    fields: dict[str, _Decoder] = {}  # filled at first use: a class may hold its own kind

    def decode_dataclass(value: Json) -> Any:
        if not isinstance(value, dict):
            raise _Mismatch(f"an object ({cls.__name__})", value)
        if not fields:
            fields.update({name: _decoder(kind) for name, kind in _hints(cls).items()})
        if value.keys() != fields.keys():
            raise _wrong_keys(cls, value)
        found, key = {}, ""
        try:
            for key, one in fields.items():
                found[key] = one(value[key])
        except _Mismatch as error:
            raise error.below(key) from None
        return cls(**found)

    return decode_dataclass


def _wrong_keys(cls: type, value: dict[str, Json]) -> _Mismatch:
    hints = _hints(cls)
    for key in value:
        if key not in hints:
            return _Mismatch(f"no key {key!r} in {cls.__name__}", key)
    missing = next(key for key in hints if key not in value)
    return _Mismatch(f"key {missing!r} in {cls.__name__}", sorted(value))


def _kind(value: Json) -> str:
    return {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}.get(
        type(value), "a number"
    )
