"""One leg's simulated world, and its requests to end."""

from __future__ import annotations

from dataclasses import dataclass

import trio

from gate.contracts import StopRequest
from gate.plan.model import LegPlan
from gate.simulate.agent import SimAgent
from gate.simulate.clock import SimClock
from gate.simulate.commands import SimCommands
from gate.simulate.home import SimHome


class SimSignals:
    """`contracts.Signals`: whoever plays the operating system calls `send`."""

    def __init__(self) -> None:
        self._request: StopRequest | None = None
        self._sent = trio.Event()

    def send(self, signal: int, grace: float) -> None:
        """Ask to end; the first request stands."""
        self._request = self._request or StopRequest(signal, grace)
        self._sent.set()

    async def wait(self) -> StopRequest:
        """The first request."""
        await self._sent.wait()
        assert self._request is not None
        return self._request


@dataclass(frozen=True)
class SimLegWorld:
    """`contracts.LegWorld` of one simulated leg."""

    leg: LegPlan
    clock: SimClock
    home: SimHome
    commands: SimCommands
    agent: SimAgent | None
    signals: SimSignals
