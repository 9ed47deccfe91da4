"""Durations on the command line."""

from __future__ import annotations

from gate.errors import UsageError
from gate.plan.duration import parse_duration


def seconds(option: str, text: str) -> float:
    """The seconds of an option's value, as `90s`, `4h` or `30d`. Raises UsageError."""
    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"{option}: expected {error}, found {text!r}") from None
