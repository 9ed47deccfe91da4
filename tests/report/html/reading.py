"""The page read back without a browser: its elements, its text, and the data its script draws."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "link", "input", "br"}


class Read(HTMLParser):
    """Tags with their attributes in order, text by the id of the innermost element that has one, comments."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.comments: list[str] = []
        self._open: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self._open == [], "every element is closed"

    @property
    def data(self) -> Any:
        """What the script reads."""
        return json.loads(self.texts["data"])

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of all elements of that name."""
        return [attrs for name, attrs in self.tags if name == tag]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag not in VOID:
            self._open.append((tag, found.get("id") or (self._open[-1][1] if self._open else "")))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        where = self._open[-1][1] if self._open else ""
        self.texts[where] = self.texts.get(where, "") + data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)
