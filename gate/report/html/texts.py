"""How the page writes durations, sizes, times and text from outside."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise

from rich.text import Text

from gate.documents import Json
from gate.report.text import plain

MINUTE, HOUR, DAY = 60, 3600, 86400


def short(seconds: float) -> str:
    """`seconds` in at most two units, as `1h 22m`, `12m 5s`, `45s`, `0.4s`, `2d 3h`. The page's script has its twin."""
    if seconds < 0:
        return f"-{short(-seconds)}"
    tenths = math.floor(seconds * 10 + 0.5)
    if tenths < 100 and tenths % 10:
        return f"{tenths // 10}.{tenths % 10}s"
    whole = math.floor(seconds + 0.5)
    for big, big_name, small, small_name in ((DAY, "d", HOUR, "h"), (HOUR, "h", MINUTE, "m"), (MINUTE, "m", 1, "s")):
        if whole >= big:
            first, second = divmod(whole, big)
            second //= small
            return f"{first}{big_name} {second}{small_name}" if second else f"{first}{big_name}"
    return f"{whole}s"


def size(count: int) -> str:
    """Bytes for people: `412.7 KiB`."""
    value, unit = float(count), "bytes"
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{count} bytes" if unit == "bytes" else f"{value:.1f} {unit}"


def utc(wall: float) -> str:
    """`2026-01-15 08:00:30 UTC`."""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(wall))


def iso(wall: float) -> str:
    """The same for machines."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall))


def shown(text: str) -> str:
    """Text from outside on a page: what would reorder, hide or end it becomes visible; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "\n".join("\t".join(plain(cell) for cell in line.split("\t")) for line in text.split("\n"))


def all_shown(value: Json) -> Json:
    """Every string in plain JSON, keys included, as `shown`."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, Mapping):
        return {shown(key): all_shown(each) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [all_shown(each) for each in value]
    return value


_CLASSES = {"bold": "b", "dim": "d", "italic": "i", "green": "g", "red": "r", "yellow": "y", "magenta": "m"}


def pieces(text: Text) -> list[list[str]]:
    """A styled text as [classes, text] pairs; together they are exactly its plain text."""
    edges = sorted({0, len(text.plain), *(edge for span in text.spans for edge in (span.start, span.end))})
    found: list[list[str]] = []
    for begin, end in pairwise(edges):
        words = f"{text.style} " + " ".join(
            str(span.style) for span in text.spans if span.start <= begin and span.end >= end
        )
        classes = " ".join(sorted({_CLASSES[word] for word in words.split() if word in _CLASSES}))
        if found and found[-1][0] == classes:
            found[-1][1] += text.plain[begin:end]
        else:
            found.append([classes, text.plain[begin:end]])
    return found
