"""Descriptions of statuses: one line, at most 140 characters, never cut inside one that people see as one."""

from __future__ import annotations

import unicodedata

from gate.report.text import plain

LIMIT = 140
"""GitHub's; counted here in UTF-16 units, of which there are never fewer than of any other way to count."""
_JOINER = "\u200d"


def description(text: str) -> str:
    """`text` as GitHub takes it."""
    # Joiners and selectors belong to what people see as one emoji: made visible, they would tear it up.
    line = "".join(char if _joins(char) else plain(char) for char in " ".join(text.split()))
    if _units(line) <= LIMIT:
        return line
    end, used = 0, 0
    for char in line:
        used += _units(char)
        if used > LIMIT - 1:
            break
        end += 1
    while end > 0 and _inside(line, end):
        end -= 1
    return line[:end].rstrip() + "…"


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _inside(line: str, at: int) -> bool:
    """Would a cut before `at` part what is seen as one character?"""
    after, before = line[at], line[at - 1]
    if _joins(after) or before == _JOINER:
        return True
    if not _flag(after) or not _flag(before):
        return False
    run = at
    while run > 0 and _flag(line[run - 1]):
        run -= 1
    return (at - run) % 2 == 1  # flags are pairs


def _joins(char: str) -> bool:
    """A mark, a joiner, a variation selector, a skin tone, a tag: part of the character before it."""
    code = ord(char)
    tone, tag = 0x1F3FB <= code <= 0x1F3FF, 0xE0020 <= code <= 0xE007F
    return char == _JOINER or tone or tag or unicodedata.category(char).startswith("M")


def _flag(char: str) -> bool:
    return 0x1F1E6 <= ord(char) <= 0x1F1FF
