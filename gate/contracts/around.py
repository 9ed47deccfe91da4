"""The world around a gate: newer runs, and those who are told.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from gate.documents import Json


@dataclass(frozen=True, slots=True)
class NewerRun:
    """A newer run for the same ref that waits behind this one and will dispatch."""

    run: str
    commit: str
    url: str


class Supersede(Protocol):
    """Is a newer run waiting behind this one?"""

    async def newer(self) -> NewerRun | None:
        """None: no, or unknown (this run then goes on)."""
        ...


@dataclass(frozen=True, slots=True)
class Event:
    """Something that reporters may tell people: `kind` is stable, `data` plain JSON, redacted."""

    kind: str
    at: float
    elapsed: float
    leg: str | None
    text: str
    data: Mapping[str, Json]


class Reporter(Protocol):
    """Tells people or services. Best-effort: a reporter's failure never touches a verdict."""

    async def emit(self, event: Event) -> None: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Published:
    """How far the reports to GitHub have come. `remaining`: what GitHub has not taken yet, each in a few words.

    `calls`: requests for this attempt so far, of all processes. `notes`: lines for people that are new since the last
    flush (a token that may not write, an outage, a locked conversation).
    """

    calls: int
    remaining: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Publisher(Protocol):
    """Brings what is durable of one attempt to GitHub. It never raises for what GitHub does, and touches no verdict."""

    def changed(self, doing: Mapping[str, str]) -> None:
        """Something may have changed; never waits. `doing`: leg id to what it is doing, of legs without a verdict."""
        ...

    async def flush(self, budget: float, *, cancelled: int | None = None, ended: bool = False) -> Published:
        """Post what GitHub lacks, in at most `budget` seconds; one call of this at a time.

        `cancelled`: the signal of a cancel that may not be durable yet. `ended`: nobody goes on with this attempt: what
        has no verdict is closed. What GitHub did not take is posted by the next flush, of whichever process.
        """
        ...
