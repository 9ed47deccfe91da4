"""What the fake remembers: commits, pull requests, comments, statuses, workflow runs, groups that queue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

OWN_LOGIN = "github-actions[bot]"


@dataclass
class Status:
    """One status; they are never removed, and the newest of a context counts."""

    id: int
    context: str
    state: str
    description: str | None
    target_url: str | None
    at: float


@dataclass
class Comment:
    """On an issue or pull request `number`, or on `commit`."""

    id: int
    login: str
    body: str
    number: int | None
    commit: str | None
    made: float
    edited: float


@dataclass
class Pull:
    """A pull request. `gone`: deleted, as a spammer's is: 404 from then on."""

    number: int
    sha: str
    branch: str
    repository: str
    base: str = "main"
    state: Literal["open", "closed"] = "open"
    locked: bool = False
    gone: bool = False


@dataclass
class Run:
    """A run of a workflow. `group`: of its `concurrency:`."""

    id: int
    number: int
    sha: str
    repository: str
    branch: str = "feature"
    workflow: str = "gate.yml"
    status: str = "in_progress"
    event: str = "pull_request"
    attempt: int = 1
    group: str | None = None
    made: float = 0.0


@dataclass
class Repository:
    """One repository; whoever holds it may change it in between."""

    name: str
    id: int = 1296269
    pulls: dict[int, Pull] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    statuses: dict[str, list[Status]] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    commits: set[str] = field(default_factory=set)
    groups: bool = True
    """Whether it has the endpoints for concurrency groups: an older Enterprise has not."""
    moved_to: str | None = None
    """The repository was renamed: its old name redirects."""
    _last: int = 1000

    def next_id(self) -> int:
        """Ids count up."""
        self._last += 1
        return self._last

    # --- what people do on GitHub --------------------------------------------------------------------

    def push(self, sha: str) -> None:
        """A commit is there."""
        self.commits.add(sha)

    def open_pull(self, number: int, sha: str, branch: str = "feature", *, repository: str | None = None) -> Pull:
        """A pull request is opened, from a fork where `repository` is another one."""
        self.push(sha)
        pull = self.pulls[number] = Pull(number, sha, branch, repository or self.name)
        return pull

    def start_run(self, run: Run) -> Run:
        """A run is there: it runs, or waits (`pending`) behind who holds its group."""
        self.push(run.sha)
        self.runs[run.id] = run
        return run

    # --- what is there -------------------------------------------------------------------------------

    def newest(self, sha: str) -> dict[str, Status]:
        """The newest status of each context, newest first."""
        found: dict[str, Status] = {}
        for status in reversed(self.statuses.get(sha, [])):
            found.setdefault(status.context, status)
        return found

    def comments_at(self, number: int | None, commit: str | None) -> list[Comment]:
        """Oldest first."""
        return [each for each in self.comments.values() if (each.number, each.commit) == (number, commit)]

    def members(self, group: str) -> Iterator[Run]:
        """Of a group: its holder, then those who wait, in the order in which they came. Names ignore case."""
        there = [run for run in self.runs.values() if run.group is not None and run.group.lower() == group.lower()]
        yield from (run for run in there if run.status == "in_progress")
        yield from (run for run in there if run.status in ("pending", "queued", "waiting"))
