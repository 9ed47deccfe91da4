"""Randomness by name: leaving one fault out of a scenario changes nothing that others draw."""

from __future__ import annotations

import random
from hashlib import blake2b

from gate.simulate.scenario import Span


class Dice:
    """All streams of one seed."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def of(self, name: str) -> random.Random:
        """The stream of that name, from its beginning."""
        return random.Random(f"{self._seed}/{name}")  # noqa: S311 - a simulation's dice, no secret

    def span(self, name: str, span: Span, budget: float = 0.0) -> float:
        """A duration of `span`, in seconds; `budget` is what parts are of."""
        part = span.low if span.low == span.high else span.low + (span.high - span.low) * self.part(name)
        return part * budget if span.of_budget else part

    def part(self, name: str) -> float:
        """A number from 0 to 1, without the making of a whole stream."""
        digest = blake2b(f"{self._seed}/{name}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") / 2**64
