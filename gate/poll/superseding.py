"""Is a newer run waiting behind this one? Asked rarely, and never waited for."""

from __future__ import annotations

import anyio

from gate.contracts import Clock, NewerRun, Supersede
from gate.errors import GateError
from gate.machines.clock import Now
from gate.machines.observations import SupersedeSeen
from gate.poll.telling import Telling

EVERY = 60.0
"""Seconds between two questions at least."""
DEADLINE = 30.0
"""Seconds after which a question is given up."""


class NeverSuperseded:
    """`contracts.Supersede` with nobody to ask: outside CI no newer run can wait behind this one."""

    async def newer(self) -> NewerRun | None:
        """None."""
        return None


class NewerQuestion:
    """The question, at most once per `EVERY`. Not known is no: this run then goes on and says so, once."""

    def __init__(self, supersede: Supersede, clock: Clock, telling: Telling) -> None:
        self._supersede = supersede
        self._clock = clock
        self._telling = telling
        self._last: float | None = None
        self._told = False

    def due(self, now: Now) -> bool:
        """Is it time to ask (again)?"""
        return self._last is None or now.mono - self._last >= EVERY

    async def ask(self) -> SupersedeSeen | None:
        """A newer run that will dispatch, or None; None where it was asked just now."""
        now = await self._clock.now()
        if not self.due(now):
            return None
        self._last = now.mono
        try:
            with anyio.fail_after(DEADLINE):
                newer = await self._supersede.newer()
        except (GateError, TimeoutError) as error:
            if not self._told:
                text = f"whether a newer run waits is not known, so this one goes on: {error}"
                await self._telling.note("supersede_unknown", text, now)
            self._told = True
            return None
        self._told = False
        return None if newer is None else SupersedeSeen(newer)
