"""The outbox: what GitHub was told of an attempt, and what of it GitHub has confirmed (`gate/outbox/TAG.json`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from gate import documents
from gate.contracts import CommitStatus, Store
from gate.documents import Document
from gate.publish.site import Site
from gate.rundir import layout
from gate.rundir.formats import Attempt

Stage = Literal["intended", "confirmed", "refused"]
"""intended: it may or may not be there. refused: GitHub will not take it, or a newer run reports there: left alone."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One context: the status that was sent last, and what became of it."""

    context: str
    state: Literal["pending", "success", "failure", "error"]
    description: str
    url: str
    stage: Stage

    @property
    def status(self) -> CommitStatus:
        """As it was sent."""
        return CommitStatus(self.context, self.state, self.description, self.url)


@dataclass(frozen=True, slots=True)
class SentComment:
    """The report. `id` None: none is known of. `told`: digest of the facts that it tells; "" for none yet."""

    id: int | None
    told: str
    stage: Stage


@dataclass(frozen=True, slots=True)
class Outbox(Document):
    """What one attempt has told GitHub, and where."""

    FORMAT: ClassVar[str] = "gate.outbox"
    VERSION: ClassVar[int] = 1

    run: str
    attempt: int
    tag: str
    sha: str
    number: int | None
    url: str
    statuses: Mapping[str, Sent]
    comment: SentComment
    read_back: bool
    """All statuses were final and seen on GitHub."""
    ended: bool
    """Somebody has closed the attempt without a decision."""
    calls: int

    @property
    def site(self) -> Site:
        """Where it reports to."""
        return Site(self.sha, self.number, self.url)

    @property
    def used(self) -> bool:
        """GitHub has taken something of this attempt."""
        return any(sent.stage == "confirmed" for sent in self.statuses.values()) or self.comment.id is not None

    def stage_of(self, status: CommitStatus) -> Stage | None:
        """What became of exactly this status; None where it was not what was sent last."""
        sent = self.statuses.get(status.context)
        return sent.stage if sent is not None and sent.status == status else None

    def with_(self, statuses: Iterable[CommitStatus], stage: Stage) -> Outbox:
        """These at that stage."""
        rows = {s.context: Sent(s.context, s.state, s.description, s.target_url, stage) for s in statuses}
        return replace(self, statuses={**self.statuses, **rows})


def empty(attempt: Attempt, site: Site) -> Outbox:
    """Of an attempt that has told nothing yet."""
    return Outbox(
        run=attempt.run,
        attempt=attempt.attempt,
        tag=attempt.tag,
        sha=site.sha,
        number=site.number,
        url=site.url,
        statuses={},
        comment=SentComment(None, "", "intended"),
        read_back=False,
        ended=False,
        calls=0,
    )


async def load(store: Store, tag: str) -> Outbox | None:
    """The outbox of an attempt, or None. Raises StoreError, DocumentError."""
    key = layout.outbox(tag)
    raw = await store.read(key)
    return None if raw is None else documents.load(Outbox, raw, key)


async def save(store: Store, outbox: Outbox) -> None:
    """Write it. Raises StoreError."""
    await store.replace(layout.outbox(outbox.tag), documents.dump(outbox))
