"""The program under test, simulated: launched by an agent or a command, it writes its state file until it is done."""

from __future__ import annotations

from collections.abc import Callable

import trio

from gate.plan.model import LegPlan
from gate.simulate.content import Content, place
from gate.simulate.draw import LegDraw, window_of
from gate.simulate.home import SimHome
from gate.simulate.roots import RootFaults
from gate.simulate.scenario import Fault

TAKEN_BACK = 20.0
"""Seconds after the last word at which a restored backup takes it back."""

LOG = 240.0
"""Seconds between two lines of the log of a run that has no state file yet."""

Strike = Callable[[Fault, str], None]
Later = Callable[[float, Callable[[], None]], None]


class Product:
    """One leg's run. Called, it is a program: launched again after it stalled or died, it goes on where it was."""

    def __init__(
        self, leg: LegPlan, draw: LegDraw, home: SimHome, roots: RootFaults, strike: Strike, later: Later
    ) -> None:
        self._draw = draw
        self._home = home
        self._roots = roots
        self._strike = strike
        self._later = later
        self._content = Content(leg.judge)
        self._place = "session/state.json" if "state_stray" in draw.faults else place(leg.state)
        self._written = 0
        self._spoiled: set[str] = set()
        self.running = 0
        """How many of it are alive and at work; more than one is a fault of whoever launched it."""
        self.launched = 0

    async def __call__(self) -> int:
        self.launched += 1
        rel = self._place if self.running == 0 else self._place.replace("run", f"run{self.launched}", 1)
        self.running += 1
        try:
            return await self._work(rel)
        finally:
            self.running -= 1

    async def _work(self, rel: str) -> int:
        draw = self._draw
        await self._start(draw.first_state if self._written == 0 else draw.gap)
        while self._written < draw.writes:
            if self._written >= draw.writes // 2 and (trouble := self._half_way()) is not None:
                if trouble == "task_dies":
                    return 1
                self.running -= 1
                try:
                    await trio.sleep_forever()
                finally:
                    self.running += 1
            await self._write(rel, self._content.progress(self._written, draw.writes), last=False)
            self._written += 1
            await trio.sleep(draw.gap)
        types = draw.faults.get("state_types")
        if types is not None:
            self._strike(types, "values of the wrong types")
        final = self._content.final(draw.result, wrong_types=types is not None)
        await self._write(rel, final, last=True)
        if (fault := draw.faults.get("state_backwards")) is not None:
            self._later(TAKEN_BACK, lambda: self._take_back(fault, rel))
        return 0

    async def _start(self, seconds: float) -> None:
        """Until the first write: models are loaded, caches filled, and a log grows."""
        while seconds > LOG:
            await trio.sleep(LOG)
            self._home.touch("workspace/run.log")
            seconds -= LOG
        await trio.sleep(seconds)

    def _half_way(self) -> str | None:
        """What stops the run here, the first time it comes by."""
        for kind in ("task_stall", "task_dies"):
            if kind in self._draw.faults and kind not in self._spoiled:
                self._spoiled.add(kind)
                self._strike(self._draw.faults[kind], f"after {self._written} writes")
                return kind
        return None

    async def _write(self, rel: str, data: bytes, *, last: bool) -> None:
        await self._roots.settled()
        window = self._roots.now()
        if window is not None:
            self._put(rel, b"")  # opened for writing on a full disk
            await trio.sleep_until(window.end)
        broken = self._broken(last=last)
        if broken is not None:
            self._put(rel, b"" if broken.kind == "state_empty" else data[: max(1, 2 * len(data) // 3)])
            start, end = window_of(broken)
            await trio.sleep(end - start)
        self._put(rel, data)

    def _put(self, rel: str, data: bytes) -> None:
        self._home.write(rel, data)
        if (two := self._draw.faults.get("state_two")) is not None:
            if "state_two" not in self._spoiled:
                self._spoiled.add("state_two")
                self._strike(two, "a second state file")
            self._home.write(rel.replace("run", "run-b", 1), data)

    def _broken(self, *, last: bool) -> Fault | None:
        """The fault that breaks this write: the first one from its time on, or the last write where it has none."""
        for kind in ("state_torn", "state_empty"):
            fault = self._draw.faults.get(kind)
            if fault is None or kind in self._spoiled:
                continue
            if (last and fault.at is None) or (fault.at is not None and trio.current_time() >= fault.at):
                self._spoiled.add(kind)
                self._strike(fault, rel_of(last=last))
                return fault
        return None

    def _take_back(self, fault: Fault, rel: str) -> None:
        self._strike(fault, "a finished state file is taken back")
        self._home.write(rel, self._content.progress(1, self._draw.writes))


def rel_of(*, last: bool) -> str:
    """Which write it is, for people."""
    return "the last write" if last else "a write on the way"
