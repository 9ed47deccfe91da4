"""The words of scenario.yaml as pydantic types; each says what would be right when it is not."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from gate.plan.duration import EXPECTED, format_duration, parse_duration
from gate.plan.types import wrong
from gate.simulate.scenario import Span

_DURATION = r"(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?"
_SPAN = "a duration such as 90s, a range such as 10m..30m, or parts of the budget such as 80% or 75%..92%"
_CHANCE = "a probability from 0 to 1, or from 0% to 100%"


def _span(value: Any) -> Any:
    if isinstance(value, Span):
        return value
    if value == 0 and not isinstance(value, bool):
        return Span(0.0, 0.0)
    if not isinstance(value, str):
        raise wrong(_SPAN)
    low, dots, high = value.replace(" ", "").partition("..")
    try:
        ends = [_end(text) for text in ((low, high) if dots else (low, low))]
    except ValueError:
        raise wrong(_SPAN) from None
    (first, of_budget), (last, also) = ends
    if of_budget is not also or first > last:
        raise wrong(_SPAN, "the lower end first, and both of one kind")
    return Span(first, last, of_budget)


def _end(text: str) -> tuple[float, bool]:
    if text.endswith("%"):
        return float(text[:-1]) / 100, True
    return (0.0 if text == "0" else parse_duration(text)), False


def _chance(value: Any) -> Any:
    number: float
    try:
        number = float(value[:-1]) / 100 if isinstance(value, str) and value.endswith("%") else float(value)
    except (TypeError, ValueError):
        raise wrong(_CHANCE) from None
    if isinstance(value, bool) or not 0 <= number <= 1:
        raise wrong(_CHANCE)
    return number


def _moment(value: Any) -> Any:
    if value == 0 and not isinstance(value, bool):
        return 0.0
    if not isinstance(value, str):
        raise wrong(EXPECTED)
    minus, text = value.startswith("-"), value.removeprefix("-").removeprefix("+")
    try:
        seconds = 0.0 if text == "0" else parse_duration(text)
    except ValueError as error:
        raise wrong(str(error)) from None
    return -seconds if minus else seconds


def _positive(value: Any) -> Any:
    seconds = _moment(value)
    if seconds < 0:
        raise wrong(EXPECTED)
    return seconds


def _globs(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _signal(value: Any) -> Any:
    if value in ("SIGINT", "INT", 2):
        return 2
    if value in ("SIGTERM", "TERM", 15):
        return 15
    raise wrong("SIGINT or SIGTERM")


def spell_span(span: Span) -> str:
    """The span as it is written."""
    low, high = (f"{end * 100:g}%" if span.of_budget else format_duration(end) for end in (span.low, span.high))
    return low if span.low == span.high else f"{low}..{high}"


SpanText = Annotated[
    Any,
    BeforeValidator(_span),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": r"^[0-9a-z%. ]+$"}, {"const": 0}]}),
]
Chance = Annotated[
    float,
    BeforeValidator(_chance),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string", "pattern": r"^[\d.]+%$"}]}
    ),
]
Moment = Annotated[
    float,
    BeforeValidator(_moment),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": rf"^[-+]?(?=\d){_DURATION}$"}, {"const": 0}]}),
]
Length = Annotated[
    float,
    BeforeValidator(_positive),
    WithJsonSchema({"anyOf": [{"type": "string", "pattern": rf"^(?=\d){_DURATION}$"}, {"const": 0}]}),
]
Globs = Annotated[
    list[str],
    BeforeValidator(_globs),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
Signal = Annotated[int, BeforeValidator(_signal), WithJsonSchema({"enum": ["SIGINT", "SIGTERM"]})]
