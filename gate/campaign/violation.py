"""What a check of a played gate finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gate.simulate.played import Played


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken promise. `invariant` is stable; `said` is one sentence for people."""

    invariant: str
    said: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.said}"


Check = Callable[[Played], Iterator[str]]
"""Looks at one played gate and says each broken promise in one sentence."""
