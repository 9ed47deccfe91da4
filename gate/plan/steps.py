"""Deadlines and the inequalities between them, as values."""

from __future__ import annotations

from dataclasses import dataclass

from gate.plan.budgets import Origin
from gate.plan.duration import format_duration

SHARE = 0.01
"""Margin: this share of what lies below a rung, at least the step's `least`."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One deadline of `subject` (a leg or workload id, "" for the gate), in seconds. `origin`: where set by hand."""

    name: str
    key: str
    seconds: float
    origin: Origin | None = None

    def __str__(self) -> str:
        return f"{self.name} {format_duration(self.seconds)}"


@dataclass(frozen=True, slots=True)
class Step:
    """One inequality: the sum of `low`, with a margin, must not pass `high`. `subjects`: the legs it holds for."""

    name: str
    subjects: tuple[str, ...]
    low: tuple[Rung, ...]
    high: Rung
    least: float = 10.0

    @property
    def total(self) -> float:
        """What lies below, in seconds."""
        return sum(rung.seconds for rung in self.low)

    @property
    def margin(self) -> float:
        """What must stay free, in seconds."""
        return max(self.least, self.total * SHARE)

    @property
    def slack(self) -> float:
        """What is left beyond the margin, in seconds; negative where it is broken."""
        return round(self.high.seconds - self.total - self.margin, 3)

    @property
    def holds(self) -> bool:
        """Whether it is kept."""
        return self.slack >= 0
