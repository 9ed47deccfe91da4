"""Text from outside, shown as text: names, reasons and messages come from engines, agents and state files."""

from __future__ import annotations

import time


def plain(text: str) -> str:
    """`text` without anything that a terminal would obey: controls, escapes and direction marks become visible.

    An escape sequence in a reason could otherwise rewrite the verdict above it.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _shown(char) for char in text)


def cut(text: str, width: int) -> str:
    """`text` in at most `width` characters."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def clock(seconds: float) -> str:
    """A running time, `0:04:10` or `13:00:02`."""
    whole = int(max(0.0, seconds))
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def stamp(wall: float) -> str:
    """Wall time in UTC, as logs carry it: `2026-01-15T08:00:30Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall))


def _shown(char: str) -> str:
    code = ord(char)
    if char in "\t\n\r":
        return {"\t": " ", "\n": "⏎", "\r": "␍"}[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
