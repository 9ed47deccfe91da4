"""YAML 1.2 core-schema scalars: `no`, `on`, `1:30` and `012` mean what they look like.

YAML 1.1, which PyYAML implements, makes a country code `no` false and a duration `1:30` ninety.
"""

from __future__ import annotations

import re

Scalar = str | int | float | bool | None

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_TRUE = frozenset(("true", "True", "TRUE"))
_FALSE = frozenset(("false", "False", "FALSE"))
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)")
_NOT_A_NUMBER = frozenset((".nan", ".NaN", ".NAN"))
LONGEST_NUMBER = 64


def core_scalar(text: str) -> Scalar:  # noqa: PLR0911 - one row a kind of scalar, in the order of the specification
    """The value of a plain (unquoted) scalar. Raises ValueError for a number of more than 64 characters."""
    if text in _NULL:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if _INFINITE.fullmatch(text):
        return float(text.replace(".", ""))
    if text in _NOT_A_NUMBER:
        return float("nan")
    for pattern, base in ((_INTEGER, 10), (_OCTAL, 8), (_HEXADECIMAL, 16)):
        if pattern.fullmatch(text):
            return int(_short(text), base)
    return float(_short(text)) if _FLOAT.fullmatch(text) else text


def _short(text: str) -> str:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"a number of at most {LONGEST_NUMBER} characters")
    return text
