"""Requests and answers of the fake as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, unquote, urlsplit

from gate.documents import Json

JSON_TYPE = "application/json; charset=utf-8"
DOCS = "https://docs.github.com/rest"


@dataclass(frozen=True, slots=True)
class Call:
    """One request. `target` is path and query as sent, `headers` with lower-case names."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def path(self) -> tuple[str, ...]:
        """Its parts, each decoded on its own: a name may hold a slash."""
        return tuple(unquote(part) for part in urlsplit(self.target).path.strip("/").split("/"))

    @property
    def query(self) -> Mapping[str, str]:
        """As pairs; the last one of a name counts."""
        return dict(parse_qsl(urlsplit(self.target).query))

    @property
    def token(self) -> str:
        """ "" for none."""
        _, _, token = self.headers.get("authorization", "").partition(" ")
        return token


@dataclass(frozen=True, slots=True)
class Answer:
    """What comes back. `delay`: seconds before it does. `lost`: the connection breaks in its stead."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    lost: bool = False

    def with_headers(self, **headers: str) -> Answer:
        """With these too; underscores stand for hyphens."""
        named = {name.replace("_", "-").title(): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **named})


def answer(status: int, body: Json = None) -> Answer:
    """One of JSON, or empty."""
    if body is None:
        return Answer(status)
    return Answer(status, json.dumps(body, separators=(",", ":")).encode(), {"Content-Type": JSON_TYPE})


def refusal(status: int, message: str) -> Answer:
    """As GitHub says no."""
    return answer(status, {"message": message, "documentation_url": DOCS, "status": str(status)})


def invalid(message: str, *errors: Json) -> Answer:
    """422: understood, and not taken."""
    return answer(422, {"message": message, "errors": list(errors), "documentation_url": DOCS, "status": "422"})
