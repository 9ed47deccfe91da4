"""Durations as people read them."""

from __future__ import annotations

import pytest

from gate.machines.duration import spell


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0 s"),
        (0.04, "0 s"),
        (0.44, "0.4 s"),
        (1.0, "1 s"),
        (8.004, "8 s"),
        (9.96, "10 s"),
        (45, "45 s"),
        (59.7, "1 min"),
        (125, "2 min 5 s"),
        (720, "12 min"),
        (3600, "1 h"),
        (15_000, "4 h 10 min"),
        (90_000, "1 d 1 h"),
        (-125, "-2 min 5 s"),
    ],
)
def test_at_most_two_units(seconds: float, said: str) -> None:
    assert spell(seconds) == said
