"""What a poller is given: contracts, and who it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.contracts import CancelNotes, Clock, Engine, LegFiles, Publisher, Reporter, Signals, Store, Supersede


@dataclass(frozen=True, slots=True)
class Identity:
    """Who polls: `holder` is random and of this process alone; the rest tells people where it is."""

    holder: str
    host: str
    pid: int
    command: str


@dataclass(frozen=True, slots=True)
class PollWorld:
    """The contracts of one poller."""

    me: Identity
    clock: Clock
    store: Store
    engine: Engine
    legs: LegFiles
    signals: Signals
    cancels: CancelNotes
    supersede: Supersede
    reporters: Sequence[Reporter] = ()
    publisher: Publisher | None = None
    """None: nobody but the reporters is told."""
