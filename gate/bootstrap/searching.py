"""Where state files lie below a leg's directory, without walking a large session at every look.

A walk lists every directory of the session: a checkpoint a minute makes thousands of them, and each look would ask a
shared file server about all. So a walk is repeated once it has been paid for; in between the files it found are read.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gate.rundir.statefile import Found, find_states

CHEAP = 0.02
"""Seconds: a walk that takes no longer is repeated at every look."""
SHARE = 20.0
"""A longer one is repeated after so many times what it took, and at the latest after `LONGEST` seconds."""
LONGEST = 60.0


class StateSearch:
    """State files of one incarnation. `clock` counts seconds and never goes back."""

    def __init__(self, globs: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._globs = tuple(globs)
        self._clock = clock
        self._found: Found | None = None
        self._due = 0.0

    def find(self, base: Path, *, fresh: bool) -> Found:
        """What the last walk found, or another walk where `fresh` is asked for or one is due."""
        began = self._clock()
        if self._found is None or fresh or began >= self._due:
            self._found = find_states(base, self._globs)
            took = self._clock() - began
            self._due = began + took + (min(LONGEST, SHARE * took) if took > CHEAP else 0.0)
        return self._found
