"""The words of gate.yaml as pydantic types: each says what would be right when it is not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from gate.plan import duration, size


def wrong(expected: str, hint: str = "") -> PydanticCustomError:
    """The error of a value that should have been `expected`."""
    return PydanticCustomError("expected", "{expected}", {"expected": expected, "hint": hint})


class Model(BaseModel):
    """Base of all sections: strict, closed, immutable."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _text(pattern: str, expected: str) -> Callable[[Any], Any]:
    compiled = re.compile(pattern, re.ASCII)

    def check(value: Any) -> Any:
        if not isinstance(value, str):
            raise wrong(expected, f'quote it: "{value}"' if isinstance(value, (int, float)) else "")
        if not compiled.fullmatch(value):
            raise wrong(expected)
        return value

    return check


def _duration(*, zero: bool) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value == 0 and not isinstance(value, (bool, str)) and zero:
            return 0.0
        if isinstance(value, int) and not isinstance(value, bool):
            raise wrong(duration.EXPECTED, f"write {value}s or {value}m")
        if not isinstance(value, str):
            raise wrong(duration.EXPECTED)
        try:
            seconds = duration.parse_duration(value.strip())
        except ValueError as error:
            raise wrong(str(error)) from None
        if seconds == 0 and not zero:
            raise wrong("a duration longer than 0")
        return seconds

    return check


def _size(value: Any) -> Any:
    if value == 0 and not isinstance(value, (bool, str)):
        return 0
    if not isinstance(value, str):
        raise wrong(size.EXPECTED)
    try:
        return size.parse_size(value.strip())
    except ValueError as error:
        raise wrong(str(error)) from None


def _strings(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _environment(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise wrong("text", 'quote it, as in "true": a program reads the characters')
    return value


def _wanted(value: Any) -> Any:
    if value is None or isinstance(value, (dict, list)):
        # A null in a state file counts as missing: a leg that waits for one would never be judged.
        raise wrong("text, a number, true or false", "a null counts as missing, and is never equal to anything")
    return value


def _scalars(value: Any) -> Any:
    every = value if isinstance(value, list) else [value]
    if not every or any(isinstance(one, (dict, list)) for one in every):
        raise wrong("one value, or a list of values")
    return [_wanted(one) for one in every]


NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_ENV = r"[A-Za-z_][A-Za-z0-9_]*"
_DURATION = r"^(?=.)(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?$"
_WANTED = ["string", "number", "boolean"]

NAME_EXPECTED = "letters, digits, '.', '_' and '-', at most 63, the first and last a letter or digit"
ENV_EXPECTED = "the name of an environment variable: letters, digits and '_', no digit first"

Name = Annotated[
    str, BeforeValidator(_text(NAME, NAME_EXPECTED)), WithJsonSchema({"type": "string", "pattern": f"^{NAME}$"})
]
"""A gate, leg or workload: it becomes part of paths, labels and workload names."""

EnvName = Annotated[
    str, BeforeValidator(_text(_ENV, ENV_EXPECTED)), WithJsonSchema({"type": "string", "pattern": f"^{_ENV}$"})
]

Text = Annotated[
    str,
    BeforeValidator(_text(r"(?s)(?=.*\S).*", "text that is not empty")),
    WithJsonSchema({"type": "string", "pattern": r"\S"}),
]

Duration = Annotated[
    float, BeforeValidator(_duration(zero=False)), WithJsonSchema({"type": "string", "pattern": _DURATION})
]
DurationOrZero = Annotated[
    float,
    BeforeValidator(_duration(zero=True)),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": _DURATION}, {"const": 0}]}),
]
Size = Annotated[
    int,
    BeforeValidator(_size),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": r"^\d+[KMGT]i?$"}, {"const": 0}]}),
]

Count = Annotated[int, Field(ge=0, le=1_000_000)]

Strings = Annotated[
    list[Text],
    BeforeValidator(_strings),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""One, or a list of them."""

EnvValue = Annotated[str, BeforeValidator(_environment), WithJsonSchema({"type": ["string", "integer"]})]

Wanted = Annotated[str | int | float | bool, BeforeValidator(_wanted), WithJsonSchema({"type": _WANTED})]
"""A value that a state file must hold: null is none."""
Scalars = Annotated[
    list[str | int | float | bool],
    BeforeValidator(_scalars),
    WithJsonSchema({"anyOf": [{"type": _WANTED}, {"type": "array", "items": {"type": _WANTED}, "minItems": 1}]}),
]

Key = Annotated[
    str,
    BeforeValidator(_text(r"[^.\s]+(?:\.[^.\s]+)*", "a dotted key such as close_sequence.done")),
    WithJsonSchema({"type": "string", "pattern": r"^[^.\s]+(\.[^.\s]+)*$"}),
]
"""A dotted path into the state file."""

Keys = Annotated[
    list[Key],
    BeforeValidator(_strings),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]

Digest = Annotated[
    str,
    BeforeValidator(_text(r"sha256:[0-9a-f]{64}", "sha256: and 64 lower-case hexadecimal digits")),
    WithJsonSchema({"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}),
]
