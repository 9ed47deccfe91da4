"""Pages of lists, with the Link header."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

from gate.testing.github.wire import Call

Item = TypeVar("Item")
USUAL = 30
MOST = 100


def page(call: Call, api: str, items: Sequence[Item]) -> tuple[Sequence[Item], str]:
    """The items of the page that is asked for, and the Link header; "" where there is but one page."""
    size = max(1, min(MOST, int(call.query.get("per_page", USUAL))))
    number = max(1, int(call.query.get("page", 1)))
    last = max(1, -(-len(items) // size))
    links: list[str] = []

    def link(to: int, name: str) -> None:
        query = urlencode({**call.query, "page": to})
        links.append(f'<{api}{urlsplit(call.target).path}?{query}>; rel="{name}"')

    if number > 1:
        link(number - 1, "prev")
    if number < last:
        link(number + 1, "next")
        link(last, "last")
    return items[(number - 1) * size : number * size], ", ".join(links)
