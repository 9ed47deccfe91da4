"""Globs of files from the repository's top, as .gitignore and CODEOWNERS taught people to write them."""

from __future__ import annotations

import re
from functools import cache


def matches(pattern: str, path: str) -> bool:
    """Is `path` (slashes, from the top) what `pattern` means?

    `*` and `?` stay within a folder, `**` crosses folders; a folder (`ci/` or `ci`) means all that lies in it.
    """
    return _compiled(pattern).fullmatch(path) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    plain = pattern.removeprefix("./").lstrip("/").rstrip("/")
    return re.compile(f"{_translated(plain)}(?:/.*)?", re.DOTALL)


def _translated(pattern: str) -> str:
    text = ""
    position = 0
    while position < len(pattern):
        rest = pattern[position:]
        if rest.startswith("**/"):
            text, position = f"{text}(?:.*/)?", position + 3
        elif rest.startswith("**"):
            text, position = f"{text}.*", position + 2
        elif rest[0] == "*":
            text, position = f"{text}[^/]*", position + 1
        elif rest[0] == "?":
            text, position = f"{text}[^/]", position + 1
        elif (found := re.match(r"\[(!?)([^\]/]+)\]", rest)) is not None:
            inner = found[2].replace("\\", "\\\\").replace("^", "\\^").replace("[", "\\[")
            text, position = f"{text}[{'^' if found[1] else ''}{inner}]", position + len(found[0])
        else:
            text, position = text + re.escape(rest[0]), position + 1
    return text
