"""A call whose token was accepted, and the ways to say no to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gate.documents import Json
from gate.testing.github.pages import page
from gate.testing.github.switches import Access, Permission, Token
from gate.testing.github.wire import Answer, Call, answer, refusal


class Refusal(Exception):
    """The answer is a no."""

    def __init__(self, given: Answer) -> None:
        super().__init__(given.status)
        self.given = given


@dataclass(frozen=True, slots=True)
class Asked:
    """One call, with its body read; None: not JSON."""

    call: Call
    api: str
    token: Token
    body: Mapping[str, Json] | None

    def needs(self, permission: Permission, access: Access) -> None:
        """Raises Refusal where the token does not hold it."""
        held = self.token.may.get(permission, "none")
        if not (held == "write" or (held == "read" and access == "read")):
            raise Refusal(refusal(403, "Resource not accessible by integration"))

    def text(self, name: str) -> str | None:
        """A string of the body."""
        found = (self.body or {}).get(name)
        return found if isinstance(found, str) else None

    def paged(self, items: Sequence[Json]) -> tuple[list[Json], Mapping[str, str]]:
        """The page that is asked for, and headers for the others."""
        shown, link = page(self.call, self.api, items)
        return list(shown), {"link": link} if link else {}

    def page_of(self, items: Sequence[Json]) -> Answer:
        """The page as the whole answer."""
        shown, headers = self.paged(items)
        return answer(200, shown).with_headers(**headers)


def found(there: bool) -> None:
    """Raises Refusal: what a token may not see is not there either."""
    if not there:
        raise Refusal(refusal(404, "Not Found"))


def integer(text: str) -> int:
    """A number of a path; -1 for what is none."""
    return int(text) if text.isdecimal() else -1
