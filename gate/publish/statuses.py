"""Posting statuses, a few at a time, and reading back what GitHub shows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import anyio

from gate.contracts import CommitStatus, GitHub
from gate.errors import GitHubDenied, GitHubError, GitHubRefused
from gate.publish.outbox import Stage
from gate.publish.site import newer_url

AT_ONCE = 8
"""Statuses on their way at the same time; GitHub allows a hundred calls, of everything that a token is used for."""


@dataclass
class Trouble:
    """What GitHub said against it: why it may not be done, or why nothing is known. "" for nothing."""

    denied: str = ""
    failed: str = ""

    @property
    def stop(self) -> bool:
        """The next call would fare no better."""
        return bool(self.denied or self.failed)


async def post(
    github: GitHub,
    sha: str,
    due: Sequence[CommitStatus],
    became: Callable[[CommitStatus, Stage, str], None],
    *,
    probe: bool,
) -> Trouble:
    """Post these, and tell of each what became of it (with what GitHub said, where it refused) as soon as it is known.

    `probe`: GitHub failed the last time, so that the first goes alone. A context that is refused, as after its thousand
    statuses, is left alone and the others go on; after any other failure nothing more is begun.
    """
    trouble = Trouble()
    limit = anyio.Semaphore(AT_ONCE)

    async def one(status: CommitStatus) -> None:
        async with limit:
            if trouble.stop:
                return
            try:
                await github.post_status(sha, status)
            except GitHubRefused as error:
                became(status, "refused", error.message)
            except GitHubDenied as error:
                trouble.denied = error.message
            except GitHubError as error:
                trouble.failed = error.message
            else:
                became(status, "confirmed", "")

    first, rest = (due[:1], due[1:]) if probe else ((), due)
    for status in first:
        await one(status)
    async with anyio.create_task_group() as tasks:
        for status in rest:
            tasks.start_soon(one, status)
    return trouble


@dataclass(frozen=True, slots=True)
class ReadBack:
    """Contexts that GitHub shows otherwise than they were posted, and those that a newer run has taken over."""

    missing: tuple[str, ...]
    taken: tuple[str, ...]


async def read_back(github: GitHub, sha: str, wanted: Mapping[str, CommitStatus], but: Collection[str]) -> ReadBack:
    """One look at all statuses of the commit; `but` are contexts that GitHub refused. Raises GitHubError."""
    shown = {status.context: status for status in await github.statuses(sha)}
    missing: list[str] = []
    taken: list[str] = []
    for context, status in wanted.items():
        found = shown.get(context)
        if context in but or (found is not None and _same(found, status)):
            continue
        newer = found is not None and newer_url(found.target_url, status.target_url)
        (taken if newer else missing).append(context)
    return ReadBack(tuple(missing), tuple(taken))


def _same(found: CommitStatus, wanted: CommitStatus) -> bool:
    return (found.state, found.target_url) == (wanted.state, wanted.target_url)
