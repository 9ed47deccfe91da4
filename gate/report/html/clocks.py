"""Where a leg's own times stand on the poller's axis, without believing that the two clocks agree.

The poller saw each step of a leg only after it was done, and at its look before that had not seen the leg's directory:
what both know of bounds the offset from both sides. Only where the wall clocks contradict that are they corrected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from gate.report.html.history import Sign
from gate.report.html.story import Story

TOLERANCE = 5.0
"""Seconds by which the wall clocks may contradict what was seen: writes reach other machines late."""


@dataclass(frozen=True, slots=True)
class Placed:
    """`offset`: seconds to add to a story's times. `skew`: by how much the workload's clock is ahead, where told."""

    offset: float
    skew: float = 0.0


def place(story: Story, begin: float, signs: Iterable[Sign]) -> Placed:
    """Put `story` on the axis that is 0 at the wall time `begin`."""
    upper, lower = float("inf"), float("-inf")
    turns = {turn.ordinal: turn.begin for turn in story.turns}
    for sign in signs:
        told = {"start": 0.0, "turn": turns.get(sign.count), "end": story.ended}[sign.what]
        if told is not None:
            upper = min(upper, sign.by - told)
        # Only the directory is made at once: pointer and result may wait for a root that does not answer.
        if sign.what == "start" and sign.after is not None:
            lower = max(lower, sign.after)
    stated = (story.wall if story.wall is not None else begin) - begin
    lower = min(lower, upper)
    if lower - TOLERANCE <= stated <= upper + TOLERANCE:
        return Placed(stated)
    offset = upper if math.isinf(lower) else (lower + upper) / 2
    return Placed(offset, stated - offset)
