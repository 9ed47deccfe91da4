"""Pull requests, runs of workflows, and the groups in which they queue."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from gate.documents import Json
from gate.testing.github import bodies
from gate.testing.github.asked import Asked, Refusal, found, integer
from gate.testing.github.repository import Pull, Repository, Run
from gate.testing.github.wire import Answer, answer, refusal

MOST = 1_000
"""What this list ever shows."""


def pulls_of(repo: Repository, asked: Asked, sha: str) -> Answer:
    """Of a commit. Those of forks lead to no pull request: GitHub answers with an empty list."""
    asked.needs("pull-requests", "read")
    found_here = [
        pull
        for pull in repo.pulls.values()
        if pull.sha == sha and pull.repository.lower() == repo.name.lower() and not pull.gone
    ]
    return asked.page_of([bodies.pull(each, repo, asked.api) for each in found_here])


def pulls(repo: Repository, asked: Asked) -> Answer:
    """By state and head."""
    asked.needs("pull-requests", "read")
    listed = [pull for pull in repo.pulls.values() if _fits(pull, asked.call.query)]
    return asked.page_of([bodies.pull(each, repo, asked.api) for each in listed])


def _fits(pull: Pull, query: Mapping[str, str]) -> bool:
    head = f"{pull.repository.partition('/')[0]}:{pull.branch}"
    return not pull.gone and query.get("state", "open") in (pull.state, "all") and query.get("head", head) == head


def actions(repo: Repository, asked: Asked, below: tuple[str, ...]) -> Answer:
    """`below`: the path below `/actions`."""
    asked.needs("actions", "read")
    match below:
        case ("runs", number):
            return answer(200, bodies.run(_run(repo, number), repo, asked.api))
        case ("runs", number, "concurrency_groups"):
            return _groups_of(repo, asked, _run(repo, number))
        case ("concurrency_groups", name):
            return _group(repo, asked, name)
        case ("workflows", workflow, "runs"):
            return _runs(repo, asked, workflow)
        case _:
            raise Refusal(refusal(404, "Not Found"))


def _run(repo: Repository, number: str) -> Run:
    found(integer(number) in repo.runs)
    return repo.runs[integer(number)]


def _groups_of(repo: Repository, asked: Asked, run: Run) -> Answer:
    found(repo.groups)
    groups: list[Json] = []
    for at, each in enumerate(repo.members(run.group or "")):
        if each.id == run.id and run.group is not None:
            member = bodies.member(run, at, repo, asked.api)
            url = _url(repo, asked.api, run.group)
            groups.append({"group_name": run.group, "group_url": url, "group_members": [member]})
    return answer(200, {"total_count": len(groups), "concurrency_groups": groups})


def _group(repo: Repository, asked: Asked, name: str) -> Answer:
    shown: list[Json] = [bodies.member(each, None, repo, asked.api) for each in repo.members(name)]
    found(repo.groups and bool(shown))
    url = _url(repo, asked.api, name)
    return answer(200, {"group_name": name, "group_url": url, "total_count": len(shown), "group_members": shown})


def _url(repo: Repository, api: str, group: str) -> str:
    return f"{api}/repos/{repo.name}/actions/concurrency_groups/{quote(group, safe='')}"


def _runs(repo: Repository, asked: Asked, workflow: str) -> Answer:
    of_it = [run for run in repo.runs.values() if run.workflow == workflow]
    found(bool(of_it))
    query = asked.call.query
    fits = [
        run
        for run in sorted(of_it, key=lambda run: run.number, reverse=True)
        if (query.get("branch", run.branch), query.get("event", run.event), query.get("status", run.status))
        == (run.branch, run.event, run.status)
    ]
    shown, headers = asked.paged([bodies.run(each, repo, asked.api) for each in fits[:MOST]])
    return answer(200, {"total_count": len(fits), "workflow_runs": shown}).with_headers(**headers)
