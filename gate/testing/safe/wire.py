"""A request and an answer, whatever carries them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from gate.documents import Json


@dataclass(frozen=True, slots=True)
class Call:
    """`target`: path and query as sent."""

    method: str
    target: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> Mapping[str, str]:
        """The first value of each name."""
        pairs: Sequence[tuple[str, str]] = parse_qsl(urlsplit(self.target).query, keep_blank_values=True)
        return dict(reversed(pairs))


@dataclass(frozen=True, slots=True)
class Answer:
    """`cut`: nothing is answered, the connection breaks. `delay`: real seconds before it is sent."""

    status: int
    body: bytes
    content_type: str = "application/json; charset=utf-8"
    delay: float = 0.0
    cut: bool = False
    location: str = ""


class Refusal(Exception):
    """An error body of the API."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


def ok(value: Json) -> Answer:
    """200, always; nothing to say is the four bytes `null`."""
    return Answer(200, json.dumps(value).encode())


def refused(error: Refusal) -> Answer:
    """As every handler answers."""
    return Answer(error.status, json.dumps({"errorCode": error.code, "errorMessage": error.message}).encode())


def bad(message: str) -> Refusal:
    return Refusal(400, "Primus.00002", f"Bad request. {message}")


def denied(status: int, code: str, message: str) -> Refusal:
    """By the validating webhook, which puts its name before the words."""
    return Refusal(status, code, f'admission webhook "vworkload.kb.io" denied the request: {message}')
