"""The fake itself: one call in, one answer out. It neither waits nor reads clocks of its own."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from gate.documents import Json
from gate.testing.github import bodies
from gate.testing.github.asked import Asked, Refusal
from gate.testing.github.limits import Limits
from gate.testing.github.repository import Repository
from gate.testing.github.routes import route
from gate.testing.github.switches import Switches, Token, Trouble
from gate.testing.github.wire import Answer, Call, answer, refusal

ACTIONS = "Resource not accessible by integration"
PAGE = b"<html><head><title>502 Bad Gateway</title></head><body>proxy</body></html>"


@dataclass(frozen=True, slots=True)
class Logged:
    """One call and how it was answered; `status` 0: not at all."""

    method: str
    target: str
    status: int
    at: float


class FakeGitHub:
    """One repository on one server. `now`: Unix seconds. Its state may be read and changed in between.

    It may be asked from several threads.
    """

    def __init__(self, repository: Repository, now: Callable[[], float], switches: Switches | None = None) -> None:
        self.repository = repository
        self.switches = switches or Switches()
        self.log: list[Logged] = []
        self._now = now
        self._limits = Limits(self.switches, now)
        self._lock = threading.Lock()

    def answer(self, call: Call) -> Answer:
        """What GitHub says to it."""
        with self._lock:
            trouble = self.switches.next_trouble(call.method, call.target)
            given = self._troubled(call, trouble) if trouble is not None else self._sound(call)
            shown = 0 if given.lost else given.status
            self.log.append(Logged(call.method, call.target, shown, self._now()))
            return replace(given, delay=given.delay + self.switches.latency)

    def counts(self) -> Counter[str]:
        """How many calls of each method so far."""
        return Counter(each.method for each in self.log)

    # --- one call ------------------------------------------------------------------------------------

    def _troubled(self, call: Call, trouble: Trouble) -> Answer:
        match trouble.way:
            case "refused" | "lost":
                given = Answer(0, lost=True)
            case "lost_after":
                self._sound(call)
                given = Answer(0, lost=True)
            case "502":
                given = Answer(502, PAGE, {"Content-Type": "text/html"})
            case "503":
                given = refusal(503, "No server is currently available to service your request.")
            case "html":
                given = Answer(200, PAGE, {"Content-Type": "text/html"})
            case "slow":
                given = replace(self._sound(call), delay=trouble.seconds)
            case "secondary" | "429":
                status = 429 if trouble.way == "429" else 403
                given = self._limits.secondary(call, seconds=trouble.seconds, status=status)
            case "secondary_bare":
                given = self._limits.secondary(call, seconds=None)
            case _:
                assert_never(trouble.way)
        return given

    def _sound(self, call: Call) -> Answer:
        token = self.switches.tokens.get(call.token)
        if token is None or self._now() >= token.expires:
            return refusal(401, "Bad credentials")
        limited = self._limits.refuse(call)
        if limited is not None:
            return limited
        return self._limits.mark(call, self._conditional(call, self._routed(call, token)))

    def _conditional(self, call: Call, given: Answer) -> Answer:
        if call.method != "GET" or given.status != 200:
            return given
        tag = f'W/"{hashlib.sha256(given.body).hexdigest()}"'
        if call.headers.get("if-none-match") == tag:
            self._limits.unchanged(call)
            kept = {name: value for name, value in given.headers.items() if name != "Content-Type"}
            return Answer(304, b"", {**kept, "Etag": tag})
        return given.with_headers(etag=tag)

    def _routed(self, call: Call, token: Token) -> Answer:
        api = api_of(call)
        path = call.path[2:] if call.path[:2] == ("api", "v3") else call.path
        match (call.method, *path):
            case ("GET", "user"):
                return refusal(403, ACTIONS) if token.installation else answer(200, bodies.whole_user(token.login, api))
            case ("POST", "graphql") | ("POST", "api", "graphql"):
                return answer(200, {"data": {"viewer": {"login": token.login}}})
            case (_, "repos", owner, name, *rest):
                return self._in_repository(call, token, api, f"{owner}/{name}", rest)
            case (_, "repositories", number, *rest) if token.sees and number == str(self.repository.id):
                return self._answered(Asked(call, api, token, self._body(call)), rest)
            case _:
                return refusal(404, "Not Found")

    def _in_repository(self, call: Call, token: Token, api: str, name: str, rest: list[str]) -> Answer:
        repo = self.repository
        if not token.sees or name.lower() not in (repo.name.lower(), (repo.moved_to or repo.name).lower()):
            return refusal(404, "Not Found")
        if repo.moved_to is not None and name.lower() == repo.name.lower():
            _, _, tail = call.target.partition(f"/repos/{name}")
            to = f"{api}/repositories/{repo.id}{tail}"
            moved: Json = {"message": "Moved Permanently", "url": to, "documentation_url": bodies.WEB}
            return answer(301 if call.method == "GET" else 307, moved).with_headers(location=to)
        return self._answered(Asked(call, api, token, self._body(call)), rest)

    def _answered(self, asked: Asked, rest: list[str]) -> Answer:
        if asked.body is None:
            return refusal(400, "Problems parsing JSON")
        try:
            return route(self.repository, asked, tuple(rest), self._now())
        except Refusal as no:
            return no.given

    def _body(self, call: Call) -> dict[str, Json] | None:
        if not call.body:
            return {}
        try:
            found = json.loads(call.body)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None


def api_of(call: Call) -> str:
    """Where the caller found this server: links lead there."""
    host = call.headers.get("host", "api.github.com")
    if host == "api.github.com":
        return "https://api.github.com"
    return f"http://{host}{'/api/v3' if call.path[:2] == ('api', 'v3') else ''}"
