"""Telling GitHub beside the polling: in a task of its own, so that a slow answer delays no look, verdict or cancel."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from gate.contracts import Clock, Published, Publisher
from gate.errors import RunHeld, StoreError
from gate.machines.clock import Now
from gate.machines.gate_state import GateState
from gate.machines.rows import rows
from gate.poll.ending import PollEnd

EACH = 60.0
"""Seconds that one flush may take while the polling goes on."""
FINISH = 110.0
"""Seconds by which reports may delay the exit, GitHub being down …"""
FINISH_LATE = 10.0
"""… and where the poll deadline is past."""
CANCEL = 6.0
"""Seconds after the signal in which a cancel is told; GitHub's runner sends its next one after 7.5."""
DURABLE = 1.0
"""Seconds for which that waits for verdicts to be durable: what is readable at the cancel is still judged."""
AGAIN = (2.0, 5.0, 10.0, 15.0)
"""Seconds between tries at the end, one after the other; the last one for all that follow."""

Tell = Callable[[str, str], Awaitable[None]]
"""Tells people: kind, text."""
Mine = Callable[[], Awaitable[None]]
"""Raises RunHeld where the run is somebody else's by now, StoreError where that cannot be known."""

Work = Callable[[Callable[[], None]], Awaitable[PollEnd]]
"""Ends a cancelled poll; calls what it is given once the verdicts are durable."""

_DOING = {
    "queued": "queued",
    "preparing": "set-up",
    "set-up": "set-up",
    "launching": "running",
    "running": "running",
    "ended": "running",
    "reading": "running",
    "vanished": "running",
}
"""Phases of a leg to what GitHub is told: few words, since each change is a call."""


class Publishing:
    """The publisher of one poller, if it has one. Only who holds the run posts."""

    def __init__(self, publisher: Publisher | None, clock: Clock, tell: Tell, mine: Mine) -> None:
        self._publisher = publisher
        self._clock = clock
        self._tell = tell
        self._mine = mine
        self._wake = anyio.Event()
        self._scope = anyio.CancelScope()
        self._idle = anyio.Event()
        self._idle.set()
        self._begun = False
        self._lost = False
        self._last: Published | None = None

    def changed(self, state: GateState, now: Now) -> None:
        """A look is over, and what it came to is durable as far as it can be. Never waits."""
        if self._publisher is None:
            return
        self._begun = True
        self._publisher.changed({row.leg: _DOING.get(row.phase, "waiting to start") for row in rows(state, now)})
        self._wake.set()

    async def serve(self) -> None:
        """Flush whenever something may have changed, until the end."""
        if self._publisher is None:
            return
        with self._scope:
            while not self._lost:
                await self._wake.wait()
                self._wake = anyio.Event()
                self._idle = anyio.Event()
                try:
                    await self._flush(EACH)
                finally:
                    self._idle.set()

    async def finish(self, left: float, *, once: bool) -> Published | None:
        """Everything that is known is told, or time is up. `left`: seconds to the poll deadline. `once`: one try."""
        if not self._begun:
            return None
        budget = max(FINISH_LATE, min(FINISH, left))
        end = (await self._clock.now()).mono + budget
        with anyio.move_on_after(min(EACH, budget)):
            await self._idle.wait()
        self._scope.cancel()
        number = -1
        while (seconds := end - (await self._clock.now()).mono) > 0 and not self._lost:
            await self._flush(seconds)
            if once or self._last is None or not self._last.remaining:
                break
            number = min(number + 1, len(AGAIN) - 1)
            pause = AGAIN[number]
            await self._clock.sleep(max(0.0, min(pause, end - (await self._clock.now()).mono)))
        return self._last

    async def beside_cancel(self, signal: int, at: float, work: Work) -> PollEnd:
        """Do `work` and close beside it what GitHub shows as open. `at`: when the signal came, on `mono`."""
        closed = anyio.Event()

        async def tell() -> None:
            with anyio.move_on_after(DURABLE):
                await closed.wait()
            left = CANCEL - ((await self._clock.now()).mono - at)
            if left > 0 and not self._lost:
                await self._flush(left, cancelled=signal)

        self._scope.cancel()
        async with anyio.create_task_group() as tasks:
            if self._publisher is not None:
                tasks.start_soon(tell)
            end = await work(closed.set)
        return replace(end, published=self._last)

    async def _flush(self, budget: float, *, cancelled: int | None = None) -> None:
        assert self._publisher is not None
        if not await self._held(hurried=cancelled is not None):
            return
        self._last = await self._publisher.flush(budget, cancelled=cancelled)
        for note in self._last.notes:
            await self._tell("github", note)

    async def _held(self, *, hurried: bool) -> bool:
        """Is the run still ours? A root that does not answer takes it from nobody: closed after a cancel is closed."""
        with anyio.move_on_after(0.5 if hurried else EACH):
            try:
                await self._mine()
            except RunHeld:
                self._lost = True
                return False
            except StoreError:
                return hurried
            return True
        return hurried
