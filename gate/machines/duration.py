"""Durations as people read them.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

MINUTE = 60
HOUR = 3600
DAY = 86400


def spell(seconds: float) -> str:
    """`seconds` in at most two units: `0.4 s`, `45 s`, `12 min`, `2 min 5 s`, `4 h 10 min`, `2 d 3 h`."""
    if seconds < 0:
        return f"-{spell(-seconds)}"
    tenths = round(seconds * 10)
    if tenths < 100 and tenths % 10:
        return f"{tenths / 10:g} s"
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return _two(whole, MINUTE, "min", 1, "s")
    if whole < DAY:
        return _two(whole, HOUR, "h", MINUTE, "min")
    return _two(whole, DAY, "d", HOUR, "h")


def _two(whole: int, big: int, big_name: str, small: int, small_name: str) -> str:
    first, rest = divmod(whole, big)
    second = rest // small
    return f"{first} {big_name} {second} {small_name}" if second else f"{first} {big_name}"
