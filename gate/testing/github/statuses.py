"""Statuses of commits."""

from __future__ import annotations

from gate.documents import Json
from gate.testing.github import bodies
from gate.testing.github.asked import Asked, Refusal, found
from gate.testing.github.repository import Repository, Status
from gate.testing.github.wire import Answer, answer, invalid

DESCRIPTION = 140
MOST = 1_000
"""Of one commit and context, ever."""


def post(repo: Repository, asked: Asked, sha: str, now: float) -> Answer:
    """One more."""
    asked.needs("statuses", "write")
    if sha not in repo.commits:
        raise Refusal(invalid(f"No commit found for SHA: {sha}"))
    state, context = asked.text("state"), asked.text("context") or "default"
    description, target = asked.text("description"), asked.text("target_url")
    there = repo.statuses.setdefault(sha, [])
    _check(state in ("error", "failure", "pending", "success"), "state is not included in the list")
    _check(len(description or "") <= DESCRIPTION, f"description is too long (maximum is {DESCRIPTION} characters)")
    _check(not target or target.startswith(("http://", "https://")), "target_url must use http(s) scheme")
    same = sum(each.context == context for each in there)
    _check(same < MOST, "This SHA and context has reached the maximum number of statuses.")
    made = Status(repo.next_id(), context, str(state), description, target, now)
    there.append(made)
    shown = bodies.status(made, sha, repo, asked.api)
    return answer(201, {**shown, "creator": bodies.user(asked.token.login, asked.api)})


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise Refusal(invalid("Validation Failed", {"resource": "Status", "code": "custom", "message": message}))


def combined(repo: Repository, asked: Asked, sha: str) -> Answer:
    """The newest of each context."""
    asked.needs("statuses", "read")
    found(sha in repo.commits)
    newest = list(repo.newest(sha).values())
    shown, headers = asked.paged([bodies.status(each, sha, repo, asked.api) for each in newest])
    return answer(200, bodies.combined(shown, newest, sha, repo, asked.api)).with_headers(**headers)


def every(repo: Repository, asked: Asked, sha: str) -> Answer:
    """All there ever were, newest first."""
    asked.needs("statuses", "read")
    found(sha in repo.commits)
    creator = bodies.user(asked.token.login, asked.api)
    shown: list[Json] = [
        {**bodies.status(each, sha, repo, asked.api), "creator": creator}
        for each in reversed(repo.statuses.get(sha, []))
    ]
    return asked.page_of(shown)
