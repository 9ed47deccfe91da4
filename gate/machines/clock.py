"""Time as a value, and which clock each deadline uses.

`mono` does not run while the machine is suspended, `boot` does, `wall` is what people and other machines call now and
may jump. Disk holds durations and wall anchors, never `mono` or `boot`. Times of different clocks (pod, file server,
engine, runner) are never subtracted from each other.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ClockField = Literal["mono", "boot", "wall"]


@dataclass(frozen=True, slots=True)
class Now:
    """One reading of all three clocks of one process, in seconds. `wall` is Unix time."""

    mono: float
    wall: float
    boot: float


DEADLINE_CLOCK: dict[str, ClockField] = {
    "startup_probe": "mono",  # the CLI is silent while the machine sleeps
    "turn": "mono",
    "stall": "mono",  # nothing can change while the machine sleeps
    "silence": "mono",
    "outage": "mono",
    "evidence": "mono",
    "prepare": "boot",  # the engine's time-out runs on while the machine sleeps
    "setup": "boot",
    "task": "boot",
    "queue": "boot",
    "poll": "boot",
    "keep": "wall",  # read by other processes, after restarts
    "token_life": "wall",
}
"""Every deadline by name, and the field of `Now` it is measured on."""


def reading(now: Now, deadline: str) -> float:
    """The reading of the clock that `deadline` (a key of DEADLINE_CLOCK) is measured on, in seconds."""
    match DEADLINE_CLOCK[deadline]:
        case "mono":
            return now.mono
        case "boot":
            return now.boot
        case "wall":
            return now.wall
