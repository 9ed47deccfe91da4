"""How often GitHub is told what nobody waits for: a verdict goes out at once, `set-up` when there is room for it."""

from __future__ import annotations

from dataclasses import dataclass

HOURLY = 12.0
"""Statuses an hour that are not final, once each leg has had its first. With the questions about newer runs and the
report's edits an hour stays within 60 calls."""
NEWS = 180.0
"""Seconds between two edits of the report at least while it is undecided, where a verdict came …"""
REFRESH = 1800.0
"""… and where none did, so that whoever looks sees that somebody watches."""
AGAIN = (0.0, 15.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds after which GitHub is tried again, by how often it failed in a row. The first retry is the next tick's."""


@dataclass
class Pace:
    """All times in seconds on `mono`."""

    room: float
    """Statuses that are not final and may go out now."""
    at: float
    edited: float | None = None
    failures: int = 0
    failed_at: float = 0.0

    def refill(self, now: float, most: float) -> None:
        """Time has passed."""
        self.room = min(most, self.room + (now - self.at) * HOURLY / 3600)
        self.at = now

    def may_try(self, now: float) -> bool:
        """Has GitHub been left alone for long enough after it failed?"""
        return self.failures == 0 or now - self.failed_at >= AGAIN[min(self.failures, len(AGAIN)) - 1]

    def tried(self, now: float, *, failed: bool) -> None:
        """How a flush went."""
        self.failures = self.failures + 1 if failed else 0
        self.failed_at = now

    def may_edit(self, now: float, *, news: bool) -> bool:
        """May the report be edited though nothing is decided?"""
        return self.edited is None or now - self.edited >= (NEWS if news else REFRESH)
