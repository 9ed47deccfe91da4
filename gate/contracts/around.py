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
