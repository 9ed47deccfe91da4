"""Time: the three clocks of a process, and waiting.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from typing import Protocol

from gate.machines.clock import Now


class Clock(Protocol):
    """The three clocks of this process, and waiting."""

    async def now(self) -> Now: ...

    async def sleep(self, seconds: float) -> None: ...
