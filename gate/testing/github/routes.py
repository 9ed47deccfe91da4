"""What each address of a repository does."""

from __future__ import annotations

from gate.testing.github import comments, runs, statuses
from gate.testing.github.asked import Asked, Refusal, integer
from gate.testing.github.repository import Repository
from gate.testing.github.wire import Answer, refusal


def route(repo: Repository, asked: Asked, rest: tuple[str, ...], now: float) -> Answer:
    """`rest`: the path below the repository. Raises Refusal."""
    match rest:
        case ("issues", "comments", number):
            given = comments.one(repo, asked, number, now, on_issue=True)
        case ("comments", number):
            given = comments.one(repo, asked, number, now, on_issue=False)
        case ("issues", number, "comments"):
            given = comments.at(repo, asked, integer(number), None, now)
        case ("commits", sha, "comments"):
            given = comments.at(repo, asked, None, sha, now)
        case ("statuses", sha) if asked.call.method == "POST":
            given = statuses.post(repo, asked, sha, now)
        case _ if asked.call.method == "GET":
            given = _read(repo, asked, rest)
        case _:
            raise Refusal(refusal(404, "Not Found"))
    return given


def _read(repo: Repository, asked: Asked, rest: tuple[str, ...]) -> Answer:
    match rest:
        case ("commits", sha, "status"):
            return statuses.combined(repo, asked, sha)
        case ("commits", sha, "statuses"):
            return statuses.every(repo, asked, sha)
        case ("commits", sha, "pulls"):
            return runs.pulls_of(repo, asked, sha)
        case ("pulls",):
            return runs.pulls(repo, asked)
        case ("actions", *below):
            return runs.actions(repo, asked, tuple(below))
        case _:
            raise Refusal(refusal(404, "Not Found"))
