"""Comments of pull requests and commits."""

from __future__ import annotations

from gate.testing.github import bodies
from gate.testing.github.asked import Asked, Refusal, found, integer
from gate.testing.github.repository import Comment, Pull, Repository
from gate.testing.github.switches import Permission
from gate.testing.github.wire import Answer, answer, invalid, refusal

BODY = 65_536


def at(repo: Repository, asked: Asked, number: int | None, sha: str | None, now: float) -> Answer:
    """List or create, at a pull request or a commit."""
    pull = None if number is None else repo.pulls.get(number)
    found(pull is not None or sha in repo.commits)
    if pull is not None and pull.gone:
        raise Refusal(refusal(410, "This issue was deleted"))
    asked.needs(_permission(pull), "write" if asked.call.method == "POST" else "read")
    if asked.call.method == "GET":
        return asked.page_of([bodies.comment(each, repo, asked.api) for each in repo.comments_at(number, sha)])
    found(asked.call.method == "POST")
    _unlocked(pull)
    made = Comment(repo.next_id(), asked.token.login, _body(asked), number, sha, now, now)
    repo.comments[made.id] = made
    return answer(201, bodies.comment(made, repo, asked.api))


def one(repo: Repository, asked: Asked, number: str, now: float, *, on_issue: bool) -> Answer:
    """Read, edit or delete."""
    method, comment = asked.call.method, repo.comments.get(integer(number))
    if comment is None or (comment.number is not None) != on_issue:
        raise Refusal(refusal(404, "Not Found"))
    pull = None if comment.number is None else repo.pulls.get(comment.number)
    asked.needs(_permission(pull), "read" if method == "GET" else "write")
    found(pull is None or not pull.gone)
    if method == "GET":
        return answer(200, bodies.comment(comment, repo, asked.api))
    _unlocked(pull)
    if method == "DELETE":
        del repo.comments[comment.id]
        return answer(204)
    found(method == "PATCH")
    comment.body, comment.edited = _body(asked), now
    return answer(200, bodies.comment(comment, repo, asked.api))


def _permission(pull: Pull | None) -> Permission:
    return "contents" if pull is None else "pull-requests"


def _unlocked(pull: Pull | None) -> None:
    if pull is not None and pull.locked:
        raise Refusal(refusal(403, "Unable to create comment because issue is locked."))


def _body(asked: Asked) -> str:
    body = asked.text("body") or ""
    if not body:
        raise Refusal(_wrong("missing_field", "Body can't be blank"))
    if len(body) > BODY:
        raise Refusal(_wrong("unprocessable", f"Body is too long (maximum is {BODY} characters)"))
    return body


def _wrong(code: str, message: str) -> Answer:
    error = {"resource": "IssueComment", "code": code, "field": "body", "message": message}
    return invalid("Validation Failed", {**error})
