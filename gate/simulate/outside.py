"""What lies around a simulated runner: its own disk, its CI, where reports go, what is staged."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import trio

from gate.contracts import Event, NewerRun
from gate.dispatch.world import Staged
from gate.errors import GateError
from gate.plan.model import Plan


class SimNotes:
    """`contracts.CancelNotes`: the runner's own disk."""

    def __init__(self) -> None:
        self._noted: dict[tuple[str, str], int] = {}

    async def record(self, run: str, tag: str, signal: int) -> None:
        """Note a cancel; the first one stays."""
        self._noted.setdefault((run, tag), signal)

    async def find(self, run: str, tag: str) -> int | None:
        """The signal of a cancel that was noted."""
        return self._noted.get((run, tag))


class SimSupersede:
    """`contracts.Supersede`: from `at` on a newer run waits."""

    def __init__(self, at: float | None, newer: NewerRun) -> None:
        self._at = at
        self._newer = newer

    async def newer(self) -> NewerRun | None:
        """The newer run, once it waits."""
        return self._newer if self._at is not None and trio.current_time() >= self._at else None


@dataclass(frozen=True, slots=True)
class ReportWindow:
    """From `start` until `end` reports are refused, or get no answer (`down`)."""

    start: float
    end: float
    down: bool
    chance: float


class SimReporter:
    """Where reports go. It wants no ticks: those of a thousand legs for half a day are nobody's reading."""

    skips = frozenset({"tick"})

    def __init__(self, windows: Sequence[ReportWindow], dice: random.Random) -> None:
        self._windows = windows
        self._dice = dice

    async def emit(self, event: Event) -> None:
        """Take it, or fail as the window that is open says."""
        now = trio.current_time()
        for window in self._windows:
            if window.start <= now < window.end and self._dice.random() < window.chance:
                if window.down:
                    await trio.sleep_forever()
                raise GateError(f"429: {event.kind} was refused, too many requests")

    async def aclose(self) -> None:
        """Nothing to close."""


class SimStaging:
    """`dispatch.world.Staging`: everything there is to stage is there at once."""

    async def stage(self, plan: Plan) -> Staged:
        """The artifact under its digest; nothing is read."""
        artifact = plan.artifact
        files = {f"artifact/{artifact.name}": artifact.digest} if artifact.kind in ("file", "url") else {}
        return Staged(files, {"python": "simulated"}, {})

    async def verify(self, files: Mapping[str, str]) -> None:
        """It is what it was."""
