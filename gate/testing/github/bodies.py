"""JSON as GitHub answers it, whole enough for its own API description."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import cast

from gate.documents import Json
from gate.testing.github.repository import Comment, Pull, Repository, Run, Status

Object = dict[str, Json]
WEB = "https://github.com"


def stamp(at: float) -> str:
    """Whole seconds, as everywhere in this API."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _number(name: str) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest()[:7], 16)


def _listed(values: list[str]) -> Json:
    return cast("Json", values)


def user(login: str, api: str) -> Object:
    """An account; an app's is a bot."""
    url = f"{api}/users/{login}"
    links = {
        f"{name}_url": f"{url}/{name}"
        for name in ("events", "followers", "following", "gists", "received_events", "repos", "starred")
    }
    return {
        "login": login,
        "id": _number(login),
        "node_id": f"U_{_number(login)}",
        "avatar_url": "https://avatars.githubusercontent.com/u/1",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{WEB}/{login}",
        **links,
        "organizations_url": f"{url}/orgs",
        "subscriptions_url": f"{url}/subscriptions",
        "type": "Bot" if login.endswith("[bot]") else "User",
        "site_admin": False,
    }


def whole_user(login: str, api: str) -> Object:
    """What `/user` says."""
    blank: Object = dict.fromkeys(("name", "company", "blog", "location", "email", "hireable", "bio"))
    counts: Object = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    made = stamp(1_500_000_000)
    return {**user(login, api), **blank, **counts, "created_at": made, "updated_at": made}


# fmt: off
_REPOSITORY_LINKS = (
    "archive", "assignees", "blobs", "branches", "collaborators", "comments", "commits", "compare", "contents",
    "contributors", "deployments", "downloads", "events", "forks", "git_commits", "git_refs", "git_tags", "hooks",
    "issue_comment", "issue_events", "issues", "keys", "labels", "languages", "merges", "milestones",
    "notifications", "pulls", "releases", "stargazers", "statuses", "subscribers", "subscription", "tags",
    "teams", "trees",
)
# fmt: on


def repository(name: str, api: str) -> Object:
    """In short, as other things carry it."""
    url = f"{api}/repos/{name}"
    owner, _, short = name.partition("/")
    return {
        "id": _number(name),
        "node_id": f"R_{_number(name)}",
        "name": short,
        "full_name": name,
        "private": False,
        "owner": user(owner, api),
        "html_url": f"{WEB}/{name}",
        "description": None,
        "fork": False,
        "url": url,
        **{f"{link}_url": f"{url}/{link}" for link in _REPOSITORY_LINKS},
    }


def status(found: Status, sha: str, repo: Repository, api: str) -> Object:
    """One status; `creator` is the caller's to add."""
    return {
        "url": f"{api}/repos/{repo.name}/statuses/{sha}",
        "avatar_url": "https://avatars.githubusercontent.com/in/15368?v=4",
        "id": found.id,
        "node_id": f"SC_{found.id}",
        "state": found.state,
        "description": found.description,
        "target_url": found.target_url,
        "context": found.context,
        "created_at": stamp(found.at),
        "updated_at": stamp(found.at),
    }


def combined(page: list[Json], every: list[Status], sha: str, repo: Repository, api: str) -> Object:
    """All newest statuses of a commit as one."""
    states = {each.state for each in every}
    worst = "failure" if states & {"failure", "error"} else "success" if states == {"success"} else "pending"
    return {
        "state": worst,
        "statuses": page,
        "sha": sha,
        "total_count": len(every),
        "repository": repository(repo.name, api),
        "commit_url": f"{api}/repos/{repo.name}/commits/{sha}",
        "url": f"{api}/repos/{repo.name}/commits/{sha}/status",
    }


def comment(found: Comment, repo: Repository, api: str) -> Object:
    """On an issue or a commit."""
    same: Object = {
        "id": found.id,
        "node_id": f"IC_{found.id}",
        "user": user(found.login, api),
        "body": found.body,
        "created_at": stamp(found.made),
        "updated_at": stamp(found.edited),
        "author_association": "NONE",
    }
    base = f"{api}/repos/{repo.name}"
    if found.number is not None:
        return {
            **same,
            "url": f"{base}/issues/comments/{found.id}",
            "html_url": f"{WEB}/{repo.name}/pull/{found.number}#issuecomment-{found.id}",
            "issue_url": f"{base}/issues/{found.number}",
        }
    return {
        **same,
        "url": f"{base}/comments/{found.id}",
        "html_url": f"{WEB}/{repo.name}/commit/{found.commit}#commitcomment-{found.id}",
        "commit_id": found.commit,
        "path": None,
        "position": None,
        "line": None,
    }


def pull(found: Pull, repo: Repository, api: str) -> Object:
    """A pull request as lists show it."""
    url = f"{api}/repos/{repo.name}/pulls/{found.number}"
    issue = f"{api}/repos/{repo.name}/issues/{found.number}"
    html = f"{WEB}/{repo.name}/pull/{found.number}"
    made = stamp(1_700_000_000)
    links = {
        "comments": f"{issue}/comments",
        "commits": f"{url}/commits",
        "statuses": f"{api}/repos/{repo.name}/statuses/{found.sha}",
        "html": html,
        "issue": issue,
        "review_comments": f"{url}/comments",
        "review_comment": f"{api}/repos/{repo.name}/pulls/comments{{/number}}",
        "self": url,
    }
    return {
        "url": url,
        "id": 900_000 + found.number,
        "node_id": f"PR_{found.number}",
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "issue_url": issue,
        "commits_url": links["commits"],
        "review_comments_url": links["review_comments"],
        "review_comment_url": links["review_comment"],
        "comments_url": links["comments"],
        "statuses_url": links["statuses"],
        "number": found.number,
        "state": found.state,
        "locked": found.locked,
        "title": f"Pull request {found.number}",
        "user": user(found.repository.partition("/")[0], api),
        "body": None,
        "labels": [],
        "milestone": None,
        "created_at": made,
        "updated_at": made,
        "closed_at": None if found.state == "open" else made,
        "merged_at": None,
        "merge_commit_sha": None,
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "head": _side(found.branch, found.sha, found.repository, api),
        "base": _side(found.base, "0" * 40, repo.name, api),
        "_links": {name: {"href": link} for name, link in links.items()},
        "author_association": "CONTRIBUTOR",
        "auto_merge": None,
        "draft": False,
    }


def _side(branch: str, sha: str, name: str, api: str) -> Object:
    owner = name.partition("/")[0]
    whole: Object = {
        **repository(name, api),
        "default_branch": "main",
        "clone_url": f"{WEB}/{name}.git",
        "git_url": f"git://github.com/{name}.git",
        "ssh_url": f"git@github.com:{name}.git",
        "svn_url": f"{WEB}/{name}",
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "topics": _listed([]),
        **dict.fromkeys(("has_issues", "has_projects", "has_wiki", "has_downloads"), True),
        **dict.fromkeys(("has_pages", "archived", "disabled", "has_discussions"), False),
        **dict.fromkeys(
            ("forks", "forks_count", "watchers", "watchers_count", "stargazers_count", "size", "open_issues"), 0
        ),
        "open_issues_count": 0,
        "visibility": "public",
        **dict.fromkeys(("pushed_at", "created_at", "updated_at"), stamp(1_700_000_000)),
    }
    return {"label": f"{owner}:{branch}", "ref": branch, "sha": sha, "user": user(owner, api), "repo": whole}


def run(found: Run, repo: Repository, api: str) -> Object:
    """A run of a workflow."""
    url = f"{api}/repos/{repo.name}/actions/runs/{found.id}"
    made = stamp(found.made)
    links = {f"{name}_url": f"{url}/{name}" for name in ("jobs", "logs", "cancel", "rerun", "artifacts")}
    workflow = _number(found.workflow)
    return {
        "id": found.id,
        "name": found.workflow,
        "node_id": f"WFR_{found.id}",
        "head_branch": found.branch,
        "head_sha": found.sha,
        "path": f".github/workflows/{found.workflow}",
        "display_title": f"Run {found.number}",
        "run_number": found.number,
        "run_attempt": found.attempt,
        "event": found.event,
        "status": found.status,
        "conclusion": "success" if found.status == "completed" else None,
        "workflow_id": workflow,
        "check_suite_url": f"{api}/repos/{repo.name}/check-suites/1",
        "url": url,
        "html_url": f"{WEB}/{repo.name}/actions/runs/{found.id}",
        "pull_requests": [],
        "created_at": made,
        "updated_at": made,
        "run_started_at": made,
        **links,
        "workflow_url": f"{api}/repos/{repo.name}/actions/workflows/{workflow}",
        "head_commit": None,
        "repository": repository(repo.name, api),
        "head_repository": repository(found.repository, api),
    }


def member(found: Run, at: int | None, repo: Repository, api: str) -> Object:
    """A run as its concurrency group shows it; `at`: its place, where it is asked for."""
    url = f"{api}/repos/{repo.name}/actions/runs/{found.id}"
    shown: Object = {
        "run_id": found.id,
        "run_name": found.workflow,
        "run_url": url,
        "run_html_url": f"{WEB}/{repo.name}/actions/runs/{found.id}",
        "status": "in_progress" if found.status == "in_progress" else "pending",
    }
    if at is None:
        return shown
    place = f"{api}/repos/{repo.name}/actions/concurrency_groups/{found.group}?ahead_of_run={found.id}"
    return {**shown, "position": at, "position_url": place}
