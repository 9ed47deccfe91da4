"""Telling the reporters. Best-effort: one that fails or hangs never touches a verdict, and the others hear of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import anyio

from gate.contracts import Event, Reporter
from gate.documents import Json, encode
from gate.machines.clock import Now
from gate.machines.gate_state import GateState
from gate.machines.observations import Say
from gate.machines.rows import tick_data
from gate.machines.verdict import Verdict
from gate.rundir.formats import Decision

PATIENCE = 2.0
"""Seconds that one reporter may take for one event."""
FAILURES = 5
"""So many failures in a row, and a reporter is left alone for the rest of this process."""


class Telling:
    """All reporters of one poller. One that has `skips`, a set of kinds, is not told of those."""

    def __init__(self, reporters: Sequence[Reporter]) -> None:
        self._reporters = tuple(reporters)
        self._skips: tuple[Collection[str], ...] = tuple(getattr(one, "skips", ()) for one in reporters)
        self._ticks = any("tick" not in skips for skips in self._skips)
        self._failures = [0] * len(reporters)

    async def emit(self, event: Event) -> None:
        """Tell every reporter that still works."""
        for at, reporter in enumerate(self._reporters):
            if self._failures[at] >= FAILURES or event.kind in self._skips[at]:
                continue
            problem = await _emit(reporter, event)
            self._failures[at] = self._failures[at] + 1 if problem else 0
            if self._failures[at] == FAILURES:
                await self._tell_others(at, problem, event)

    async def _tell_others(self, failed: int, problem: str, event: Event) -> None:
        name = type(self._reporters[failed]).__name__
        text = f"{name} failed {FAILURES} times in a row and is told nothing more: {problem}"
        for at, reporter in enumerate(self._reporters):
            if at != failed and self._failures[at] < FAILURES:
                await _emit(reporter, Event("reporter_failed", event.at, event.elapsed, None, text, {"reporter": name}))

    async def say(self, say: Say, now: Now) -> None:
        """What the gate machine wants people to hear."""
        await self.emit(Event(say.kind, now.wall, now.boot, say.leg, say.text, say.data))

    async def note(self, kind: str, text: str, now: Now, data: Mapping[str, Json] | None = None) -> None:
        """What the driver itself has to say."""
        await self.emit(Event(kind, now.wall, now.boot, None, text, data or {}))

    async def tick(self, state: GateState, now: Now) -> None:
        """All rows, once a poll. Not worked out where nobody listens."""
        if self._ticks:
            await self.emit(Event("tick", now.wall, now.boot, None, "", tick_data(state, now)))

    async def verdict(self, verdict: Verdict, now: Now, *, again: bool = False) -> None:
        """A verdict that is durable. `again`: it was there before this process began, and may have been told."""
        carried = ", carried from an earlier attempt" if verdict.carried_from is not None else ""
        text = f"{verdict.outcome.value} ({verdict.reason.value}{carried}): {verdict.sentence}"
        data = {"verdict": encode(verdict), "again": again}
        await self.emit(Event("verdict", now.wall, now.boot, verdict.leg, text, data))

    async def decision(self, decision: Decision, now: Now) -> None:
        """The decision, durable."""
        data = {"decision": encode(decision)}
        await self.emit(Event("decision", now.wall, now.boot, None, f"{decision.word}: {decision.cause}", data))


async def _emit(reporter: Reporter, event: Event) -> str:
    """Tell one reporter; what went wrong, or "" for nothing."""
    try:
        with anyio.fail_after(PATIENCE):
            await reporter.emit(event)
    except TimeoutError:
        return f"no answer within {PATIENCE:g} s"
    except Exception as error:  # noqa: BLE001 - a reporter may fail in any way; it is counted and the others are told
        return f"{type(error).__name__}: {error}"
    return ""
