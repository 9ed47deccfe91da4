"""The one comment: found by its marker and its author, made once, updated in place.

The marker is the comment's first line. Reports show everything from outside as text, so that nobody else's words can
begin one of ours; and a comment of another author is never ours, whatever it begins with.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from gate.contracts import Comment, GitHub, Place
from gate.errors import GitHubRefused
from gate.publish.site import newer_run

LIMIT = 65_536
"""Characters that GitHub takes."""
_FORM = re.compile(r"<!-- gate-report ([0-9a-f]{20}) run=(\S+) attempt=(\d+) -->")


@dataclass(frozen=True, slots=True)
class Marker:
    """`key` is one gate's of one repository; `run` and `attempt` say who wrote the comment last."""

    key: str
    run: str
    attempt: int

    @property
    def line(self) -> str:
        """As the comment's first line: not shown."""
        return f"<!-- gate-report {self.key} run={self.run} attempt={self.attempt} -->"


def key_of(repository: str, context: str) -> str:
    """The key of a gate. A manual subset has a context, and so a report, of its own."""
    return hashlib.sha256(f"{repository.lower()}\0{context}".encode()).hexdigest()[:20]


def marker_in(body: str) -> Marker | None:
    """The marker with which a comment begins, if it does."""
    found = _FORM.match(body)
    return None if found is None else Marker(found[1], found[2], int(found[3]))


@dataclass(frozen=True, slots=True)
class Put:
    """Where the report is now. `left`: it is a newer run's, and was left alone."""

    id: int
    left: bool = False


class Sticky:
    """The report of one gate in one place, as one process keeps it.

    What an earlier process knew of it is not believed: a newer run may have written there since.
    """

    def __init__(self, github: GitHub, place: Place, marker: Marker) -> None:
        self._github = github
        self._place = place
        self._marker = marker
        self._me: str | None = None
        self._known: int | None = None

    async def put(self, body: str) -> Put:
        """Make GitHub show `body` in the one comment.

        Any number of these at once, each with its answers lost anywhere, and then once more, leave one comment. Raises
        GitHubError.
        """
        text = f"{self._marker.line}\n{body}"
        if self._known is not None and await self._edited(self._known, text):
            return Put(self._known)
        keep = await self._one(text)
        theirs = marker_in(keep.body)
        mine = (self._marker.run, self._marker.attempt)
        if theirs is not None and newer_run((theirs.run, theirs.attempt), mine):
            return Put(keep.id, left=True)
        if keep.body != text:
            await self._github.edit_comment(self._place, keep.id, text)
        self._known = keep.id
        return Put(keep.id)

    async def _one(self, text: str) -> Comment:
        """The comment there is, made where there is none; of several the oldest, and the others are removed."""
        mine = await self._ours()
        if not mine:
            made = await self._github.create_comment(self._place, text)
            mine = await self._ours()
            if all(each.id != made.id for each in mine):
                mine = (*mine, made)  # lists lag
        keep, *others = sorted(mine, key=lambda each: each.id)
        for other in others:
            await self._delete(other.id)
        return keep

    async def _ours(self) -> tuple[Comment, ...]:
        if self._me is None:
            self._me = await self._github.me()
        found = await self._github.comments(self._place)
        return tuple(each for each in found if each.author == self._me and self._marked(each.body))

    def _marked(self, body: str) -> bool:
        marker = marker_in(body)
        return marker is not None and marker.key == self._marker.key

    async def _edited(self, comment: int, text: str) -> bool:
        """False where somebody removed it. Refused for another reason (locked), a second comment would not help."""
        try:
            await self._github.edit_comment(self._place, comment, text)
        except GitHubRefused:
            if not await self._gone(comment):
                raise
            self._known = None
            return False
        return True

    async def _gone(self, comment: int) -> bool:
        return all(each.id != comment for each in await self._github.comments(self._place))

    async def _delete(self, comment: int) -> None:
        try:
            await self._github.delete_comment(self._place, comment)
        except GitHubRefused:
            if not await self._gone(comment):  # two that tidy up at once
                raise
