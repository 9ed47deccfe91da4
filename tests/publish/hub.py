"""A small GitHub in memory behind the contract, with what goes wrong between it and a client: for virtual time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import anyio

from gate.contracts import Comment, CommitStatus, Killed, Place, WorkflowRun
from gate.errors import GitHubDenied, GitHubRefused, GitHubUnreachable

THOUSAND = 1000
BOT = "github-actions[bot]"


@dataclass
class Hub:
    """One repository. `posted` has every status that was ever taken, with its time."""

    posted: list[tuple[float, str, CommitStatus]] = field(default_factory=list)
    threads: dict[Place, list[Comment]] = field(default_factory=dict)
    edits: list[tuple[float, int, str]] = field(default_factory=list)
    limit: int = THOUSAND
    locked: bool = False
    ids: int = 100

    def shown(self, sha: str) -> dict[str, CommitStatus]:
        """The newest status of each context."""
        return {status.context: status for _, commit, status in self.posted if commit == sha}

    def states(self, sha: str) -> dict[str, str]:
        return {context: status.state for context, status in self.shown(sha).items()}

    def comments(self) -> list[Comment]:
        """Of all places."""
        return [each for thread in self.threads.values() for each in thread]

    def say(self, place: Place, body: str, author: str = BOT) -> Comment:
        """Somebody comments."""
        self.ids += 1
        made = Comment(self.ids, author, body, f"https://github.example/c/{self.ids}")
        self.threads.setdefault(place, []).append(made)
        return made


Fault = Callable[[int, str], str]
"""(number of the call, operation) to what befalls it: "", "before" or "after" (killed), "lost" (done, no answer),
"down", "denied", "hang"."""


@dataclass
class Client:
    """`contracts.GitHub` with one token. `latency` seconds a call."""

    hub: Hub
    latency: float = 0.05
    fault: Fault = lambda number, what: ""
    calls: int = 0
    whens: list[tuple[float, str]] = field(default_factory=list)

    async def _call(self, what: str, act: Callable[[], object]) -> object:
        self.calls += 1
        self.whens.append((anyio.current_time(), what))
        how = self.fault(self.calls, what)
        if how == "before":
            raise Killed("client")
        if how == "hang":
            await anyio.sleep_forever()
        await anyio.sleep(self.latency)
        if how == "down":
            raise GitHubUnreachable(f"no answer to {what}")
        if how == "denied":
            raise GitHubDenied("403: Resource not accessible by integration")
        found = act()
        if how == "lost":
            raise GitHubUnreachable(f"no answer to {what}")
        if how == "after":
            raise Killed("client")
        return found

    def counts(self) -> Counter[str]:
        return Counter(what for _, what in self.whens)

    async def post_status(self, sha: str, status: CommitStatus) -> None:
        assert len(status.description) <= 140

        def act() -> None:
            if sum(s.context == status.context and c == sha for _, c, s in self.hub.posted) >= self.hub.limit:
                raise GitHubRefused("422: This SHA and context has reached the maximum number of statuses.")
            self.hub.posted.append((anyio.current_time(), sha, status))

        await self._call("post_status", act)

    async def statuses(self, sha: str) -> Sequence[CommitStatus]:
        found = await self._call("statuses", lambda: tuple(self.hub.shown(sha).values()))
        assert isinstance(found, tuple)
        return found

    async def me(self) -> str:
        return str(await self._call("me", lambda: BOT))

    async def comments(self, place: Place) -> Sequence[Comment]:
        found = await self._call("comments", lambda: tuple(self.hub.threads.get(place, ())))
        assert isinstance(found, tuple)
        return found

    async def create_comment(self, place: Place, body: str) -> Comment:
        assert len(body) <= 65_536

        def act() -> Comment:
            if self.hub.locked:
                raise GitHubRefused("403: the conversation is locked")
            return self.hub.say(place, body)

        found = await self._call("create_comment", act)
        assert isinstance(found, Comment)
        return found

    async def edit_comment(self, place: Place, comment: int, body: str) -> None:
        def act() -> None:
            if self.hub.locked:
                raise GitHubRefused("403: the conversation is locked")
            thread = self.hub.threads.get(place, [])
            at = next((i for i, each in enumerate(thread) if each.id == comment), None)
            if at is None:
                raise GitHubRefused("404: Not Found")
            assert thread[at].author == BOT, "somebody else's comment"
            thread[at] = Comment(comment, BOT, body, thread[at].url)
            self.hub.edits.append((anyio.current_time(), comment, body))

        await self._call("edit_comment", act)

    async def delete_comment(self, place: Place, comment: int) -> None:
        def act() -> None:
            thread = self.hub.threads.get(place, [])
            found = [each for each in thread if each.id == comment]
            if not found:
                raise GitHubRefused("404: Not Found")
            assert found[0].author == BOT, "somebody else's comment"
            thread.remove(found[0])

        await self._call("delete_comment", act)

    async def pulls_of(self, sha: str) -> Sequence[int]:
        raise AssertionError("asked for by nobody here")

    async def run(self, run_id: int) -> WorkflowRun:
        raise AssertionError("asked for by nobody here")

    async def waiting_behind(self, run_id: int) -> Sequence[int] | None:
        raise AssertionError("asked for by nobody here")

    async def runs_of(self, workflow: str, branch: str) -> Sequence[WorkflowRun]:
        raise AssertionError("asked for by nobody here")

    async def aclose(self) -> None: ...
