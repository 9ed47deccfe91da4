"""What of an attempt's records bears on what GitHub shows, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gate.contracts import NewerRun
from gate.machines.verdict import Verdict
from gate.rundir.formats import Attempt, Decision


@dataclass(frozen=True, slots=True)
class Facts:
    """One attempt at one moment. Everything but `doing` comes from the run directory."""

    attempt: Attempt
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """Leg id to its verdict."""
    decision: Decision | None = None
    cancelled: int | None = None
    """Signal of a cancel that was asked for."""
    newer: NewerRun | None = None
    """The run that superseded this one, where that is why it ended."""
    ended: bool = False
    """Nobody goes on with this attempt, decided or not."""
    burning: tuple[str, ...] = ()
    """What of it may still run or is kept, in words that change when that changes."""
    doing: Mapping[str, str] = field(default_factory=dict)
    """Leg id to what it is doing, where somebody watches."""

    @property
    def closed(self) -> bool:
        """Nothing of what GitHub shows may stay pending."""
        return self.decision is not None or self.cancelled is not None or self.ended
