"""What a simulated agent does in each turn of one leg: installs, says when it is done, launches, goes on when asked."""

from __future__ import annotations

import math
from dataclasses import replace

import trio

from gate.contracts import TurnEnd, TurnRequest
from gate.machines.leg_model import TurnKind
from gate.plan.model import LegPlan
from gate.simulate.agent import SimTurn
from gate.simulate.draw import LegDraw
from gate.simulate.product import Product, Strike
from gate.simulate.scenario import Fault

BEAT = 180.0
"""Seconds between two changes that an installing agent makes."""


class Actor:
    """The script of one leg's agent, decided turn by turn. Also the leg's own check."""

    def __init__(self, leg: LegPlan, draw: LegDraw, product: Product, strike: Strike, secrets: tuple[str, ...]) -> None:
        self._draw = draw
        self._product = product
        self._strike = strike
        self._left = draw.install
        self._spent: set[int] = set()
        self._nothing = "launch_nothing" in draw.faults
        self._said = "".join(f" The key is {value}." for value in secrets) if "leak" in draw.faults else ""
        if self._said:
            strike(draw.faults["leak"], leg.id)

    def check(self) -> tuple[int, str]:
        """Exit code and output of the leg's own check."""
        return (0, "all there" + self._said) if self._left <= 0 else (1, "not installed yet" + self._said)

    def __call__(self, kind: TurnKind, request: TurnRequest) -> SimTurn:
        fault = self._fault(request.ordinal)
        if fault is not None:
            self._strike(fault, f"turn {request.ordinal}")
        setup = kind in ("setup", "nudge")
        if fault is not None and fault.kind != "turn_lost":
            return self._faulted(fault, request, setup=setup)
        turn = self._install(request) if setup else self._launch()
        return turn if fault is None else replace(turn, loses_session=True, fault=fault.kind)

    def _fault(self, ordinal: int) -> Fault | None:
        now = trio.current_time()
        for number, (fault, dice) in enumerate(self._draw.turns):
            if fault.turn is not None:
                if fault.turn == ordinal:
                    return fault
            elif fault.probability is not None:
                if now >= (fault.at or 0.0) and dice.random() < fault.probability:
                    return fault
            elif number not in self._spent and now >= (fault.at or 0.0):
                self._spent.add(number)
                return fault
        return None

    def _install(self, request: TurnRequest) -> SimTurn:
        stuck = self._draw.install / 2 if "setup_stall" in self._draw.faults else 0.0
        if stuck and self._left <= stuck:
            return SimTurn(20.0, text="I am still waiting for it." + self._said, changes=0)
        work = self._left - stuck
        self._left -= min(work, request.budget)
        if stuck:
            self._strike(self._draw.faults["setup_stall"], "half-way")
        done = work <= request.budget and not stuck
        text = ("Everything is installed." if done else "The installation goes on.") + self._said
        return SimTurn(max(work, 1.0), claims=done, text=text, changes=max(1, int(work // BEAT)))

    def _launch(self) -> SimTurn:
        launch = self._product.running == 0
        if launch and self._nothing:
            self._nothing = False
            self._strike(self._draw.faults["launch_nothing"], "the task turn")
            return SimTurn(self._draw.launch, text="I have prepared the launch." + self._said, changes=1)
        return SimTurn(
            self._draw.launch,
            text="It runs." + self._said,
            changes=1,
            launches=self._product if launch else None,
        )

    def _faulted(self, fault: Fault, request: TurnRequest, *, setup: bool) -> SimTurn:
        if fault.kind == "turn_early":
            part = min(self._left / 3, request.budget / 2) if setup else 0.0
            self._left -= part
            return SimTurn(max(part, 20.0), text="I will go on in the background." + self._said, fault=fault.kind)
        turn = _BAD[fault.kind]
        if fault.kind == "turn_429":
            return replace(turn, detail=turn.detail + self._said)
        return replace(turn, claims=turn.claims and setup)


_BAD = {
    "turn_hang": SimTurn(math.inf, changes=0, fault="turn_hang"),
    "turn_lie": SimTurn(30.0, claims=True, text="It is all done and running.", fault="turn_lie"),
    "turn_empty": SimTurn(1.0, TurnEnd.EMPTY, changes=0, fault="turn_empty"),
    "turn_429": SimTurn(5.0, TurnEnd.FAILED, changes=0, detail="API error: 429 rate_limit_error", fault="turn_429"),
    "turn_killed": SimTurn(20.0, TurnEnd.KILLED, detail="ended by SIGKILL", fault="turn_killed"),
    "turn_no_start": SimTurn(0.0, TurnEnd.NO_START, changes=0, fault="turn_no_start"),
}
"""Turns that go wrong the same way wherever they stand; a lie claims the marker in set-up alone."""
