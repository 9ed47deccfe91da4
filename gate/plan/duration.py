"""Durations as people write them (`10m`, `4h`, `1h30m`, `500ms`): to seconds and back, exactly."""

from __future__ import annotations

import math
import re

_UNITS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
_PATTERN = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?", re.ASCII)

EXPECTED = "a duration such as 90s, 10m, 4h or 1h30m"
FINE = 1.0
HOUR = 3600
LONGEST = 366 * 86_400.0
"""Seconds. Anything longer is a slip of the pen, and would overflow what engines accept."""


def parse_duration(text: str) -> float:
    """Seconds of `text`. Raises ValueError: not a duration, a unit twice or out of order, or longer than a year."""
    match = _PATTERN.fullmatch(text)
    if not text or match is None:
        raise ValueError(EXPECTED)
    milliseconds = sum(int(n) * unit for n, unit in zip(match.groups(), _UNITS.values(), strict=True) if n)
    if milliseconds > LONGEST * 1000:
        raise ValueError(f"{EXPECTED}, at most 366d")
    return milliseconds / 1000


def format_duration(seconds: float) -> str:
    """`seconds` as `parse_duration` reads it, to the millisecond; hours are the largest unit. Negative: a minus."""
    milliseconds = round(abs(seconds) * 1000)
    if milliseconds == 0:
        return "0s"
    parts: list[str] = []
    for unit in ("h", "m", "s", "ms"):
        count, milliseconds = divmod(milliseconds, _UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return ("-" if seconds < 0 else "") + "".join(parts)


def rough_duration(seconds: float) -> str:
    """What is left of a span, for a glance: `47s`, `22h37m`. Rounded down; milliseconds only below one second."""
    if abs(seconds) < FINE:
        return format_duration(seconds)
    whole = math.floor(seconds)
    return format_duration(whole - whole % 60 if whole >= HOUR else whole)
