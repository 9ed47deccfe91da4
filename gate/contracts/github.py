"""GitHub, as far as reports and questions about other runs need it.

Every method may raise GitHubUnreachable (no answer, 5xx, a proxy's page), GitHubLimited (rate limits), GitHubDenied
(401, 403: what this token may not), GitHubRefused (404, 410, 422: what GitHub will not take). Reads, statuses and edits
are repeated by the implementation within its budget of time and calls; a create never is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

StatusState = Literal["pending", "success", "failure", "error"]


@dataclass(frozen=True, slots=True)
class CommitStatus:
    """One status of a commit; the newest of a context counts. `description`: at most 140 characters."""

    context: str
    state: StatusState
    description: str
    target_url: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a report is a comment: pull request (or issue) `number`, or `commit`, a full SHA. Exactly one is set."""

    number: int | None
    commit: str | None


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment. `author` is a login; `body` at most 65,536 characters."""

    id: int
    author: str
    body: str
    url: str


@dataclass(frozen=True, slots=True)
class WorkflowRun:
    """One run of a workflow. `number` counts up within a workflow; a re-run keeps both and raises `attempt`."""

    id: int
    number: int
    attempt: int
    status: str
    branch: str
    head_repository: str
    head_sha: str
    url: str


class GitHub(Protocol):
    """One repository, with one token."""

    @property
    def calls(self) -> int:
        """Requests sent so far, repeated ones too."""
        ...

    async def post_status(self, sha: str, status: CommitStatus) -> None: ...

    async def statuses(self, sha: str) -> Sequence[CommitStatus]:
        """The newest status of each context, over all pages."""
        ...

    async def me(self) -> str:
        """The login that comments of this token carry."""
        ...

    async def comments(self, place: Place) -> Sequence[Comment]:
        """All comments there, oldest first, over all pages."""
        ...

    async def create_comment(self, place: Place, body: str) -> Comment:
        """Never repeated: where it ended unclear, list again and look for the marker."""
        ...

    async def edit_comment(self, place: Place, comment: int, body: str) -> None: ...

    async def delete_comment(self, place: Place, comment: int) -> None: ...

    async def pulls_of(self, sha: str) -> Sequence[int]:
        """Numbers of open pull requests whose head is this commit."""
        ...

    async def run(self, run_id: int) -> WorkflowRun: ...

    async def waiting_behind(self, run_id: int) -> Sequence[int] | None:
        """Ids of runs that wait behind this one in its concurrency groups; None where GitHub cannot say."""
        ...

    async def runs_of(self, workflow: str, branch: str) -> Sequence[WorkflowRun]:
        """The newest runs of a workflow (file name or id) on a branch, newest first."""
        ...

    async def aclose(self) -> None: ...
