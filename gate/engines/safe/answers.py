"""What each kind of answer of the API means."""

from __future__ import annotations

import json
from dataclasses import dataclass

from gate.documents import Json
from gate.errors import EngineAuthError, EngineError, EngineRefused, EngineUnreachable, WorkloadNotFound

SHOWN = 400
_NOT_FOUND = ("Primus.01001", "NotFound")
_OVER_QUOTA = "Primus.00008"
_NO_ROUTE = "Primus.00005"
_KEY = "Is the API key current, and is this address on its whitelist?"
_ADDRESS = "Is engine.url the API's address?"


@dataclass(frozen=True, slots=True)
class Said:
    """An answer: its status, its JSON (None where there is none) and, of an error, the server's code and words."""

    status: int
    body: Json
    code: str
    words: str
    json: bool


def said_by(status: int, content: bytes, location: str) -> Said:
    """What stands in an answer; `location`: where it redirects to, "" where it does not."""
    try:
        body: Json = json.loads(content)
    except ValueError:
        text = " ".join(content.decode(errors="replace").split())
        return Said(status, None, "", f"redirected to {location}" if location else text[:SHOWN], json=False)
    found = body if isinstance(body, dict) else {}
    return Said(status, body, str(found.get("errorCode", "")), str(found.get("errorMessage", "")), json=True)


def error_of(method: str, path: str, said: Said) -> EngineError:
    """What an answer other than 200 with JSON is. Decided by status and code: a webhook puts a prefix before words."""
    words = said.words or "(no words)"
    text = f"{said.status} {said.code}: {words}" if said.code else f"HTTP {said.status}: {words}"
    asked = f"{method} /api/v1{path}"
    if not said.code:
        return _proxy(asked, said.status, text)
    if said.status == 404 and said.code == _NO_ROUTE:
        return EngineUnreachable(f"{asked}: {text}", hint=_ADDRESS, kind="gone")
    kind, hint = _meaning(said)
    return EngineUnreachable(f"{asked}: {text}", hint=hint) if kind is EngineUnreachable else kind(text, hint=hint)


def _proxy(asked: str, status: int, text: str) -> EngineError:
    """A proxy's page, or a handler that panicked: nobody who understood has answered."""
    if status in (401, 403):
        return EngineAuthError(text)
    if status == 404:
        return EngineUnreachable(f"{asked}: {text}", hint=_ADDRESS, kind="gone")
    return EngineUnreachable(f"{asked}: not an answer of the API: {text}")


def _meaning(said: Said) -> tuple[type[EngineError], str]:
    match said.status:
        case 403 if "exceeds maximum" in said.words:
            return EngineRefused, "No node of the workspace is that large."
        case 401 | 403:
            return EngineAuthError, _KEY if said.status == 401 else ""
        case 404 if said.code in _NOT_FOUND:
            return WorkloadNotFound, ""
        case 503 if said.code == _OVER_QUOTA:
            return EngineRefused, "It asks for more than the workspace has in total."
        case status if 400 <= status < 500 or status == 501:
            return EngineRefused, ""
        case _:
            return EngineUnreachable, ""
