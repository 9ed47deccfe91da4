"""Why a workflow runs, from the event that GitHub hands to its steps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gate.errors import ScopeError
from gate.scope.span import Asked, Occasion, Proposed, Pushed

HINT = "Say what to compare: --base and --head; or what is wanted: --scope or --legs."


def occasion_of(environ: Mapping[str, str]) -> Occasion | None:
    """The occasion, or None outside of a workflow. Raises ScopeError for an event that does not say what it must."""
    name = environ.get("GITHUB_EVENT_NAME")
    if not name:
        return None
    event = _Event(name, environ)
    match name:
        case "pull_request" | "pull_request_target" | "pull_request_review":
            return Proposed(event.text("pull_request", "base", "sha"), event.text("pull_request", "head", "sha"))
        case "merge_group":
            return Proposed(event.text("merge_group", "base_sha"), event.text("merge_group", "head_sha"))
        case "push":
            return _push(event)
        case _:
            return Asked(event.head, f"{name.replace('_', ' ')} by {environ.get('GITHUB_ACTOR') or 'nobody named'}")


def _push(event: _Event) -> Occasion:
    ref = event.text("ref")
    if ref.startswith("refs/tags/"):
        return Asked(event.head, f"tag {ref.removeprefix('refs/tags/')}")
    return Pushed(event.text("before"), event.text("after"), ref.removeprefix("refs/heads/"))


class _Event:
    def __init__(self, name: str, environ: Mapping[str, str]) -> None:
        self.name = name
        self._environ = environ
        self._payload: Any = None

    @property
    def head(self) -> str:
        return self._environ.get("GITHUB_SHA") or "HEAD"

    def text(self, *path: str) -> str:
        if self._payload is None:
            self._payload = self._read()
        value = self._payload
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if not isinstance(value, str) or not value:
            raise ScopeError(f"the {self.name} event has no text at {'.'.join(path)!r}, found {value!r}", hint=HINT)
        return value

    def _read(self) -> Any:
        place = self._environ.get("GITHUB_EVENT_PATH")
        if not place:
            raise ScopeError(f"GITHUB_EVENT_NAME is {self.name!r}, and GITHUB_EVENT_PATH names no file", hint=HINT)
        try:
            return json.loads(Path(place).read_text(encoding="utf-8"))
        except OSError as error:
            raise ScopeError(f"GITHUB_EVENT_PATH: {place} cannot be read: {error.strerror}", hint=HINT) from None
        except ValueError as error:
            raise ScopeError(f"GITHUB_EVENT_PATH: {place} is no JSON: {error}", hint=HINT) from None
