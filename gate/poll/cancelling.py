"""A cancel: the smallest durable thing first, then what there is time for.

GitHub's runner sends SIGINT, SIGTERM 7.5 s later and SIGKILL after 2.5 s more, and sometimes nothing at all: the note
on the runner's own disk is what the clean-up step and a next poller go by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import anyio

from gate.errors import GateError, StoreError
from gate.machines.decision import SIGNALS
from gate.machines.observations import CancelSeen
from gate.poll import ending
from gate.poll.ending import PollEnd
from gate.poll.given import PollWorld
from gate.poll.session import Session
from gate.poll.telling import Telling
from gate.reap.remaining import Remaining
from gate.rundir.formats import Attempt, CancelIntent, Decision
from gate.rundir.run import Run

NOTE = 1.0
"""Seconds for the note on the runner's own disk; a disk that takes longer does not delay the cancel."""
TOTAL = 3.5
"""Seconds from the signal until this poller stops trying; it exits within 5, also where the machine is busy."""


@dataclass
class Cancelled:
    """A cancel that was asked for. `at` is on `mono`; `problem`: why it could not be noted, "" where it was."""

    signal: int
    at: float
    problem: str = ""
    cut_short: bool = False
    """Time ran out: the root did not answer, and nothing more is asked of it."""


async def await_cancel(world: PollWorld, attempt: Attempt) -> Cancelled:
    """Wait for a signal and note it on the runner's own disk."""
    request = await world.signals.wait()
    cancelled = Cancelled(request.signal, (await world.clock.now()).mono)
    with anyio.move_on_after(NOTE) as scope:
        try:
            await world.cancels.record(attempt.run, attempt.tag, request.signal)
        except StoreError as error:
            cancelled.problem = error.message
    if scope.cancelled_caught:
        cancelled.problem = f"the runner's own disk did not answer within {NOTE:g} s"
    return cancelled


async def earlier(world: PollWorld, run: Run, attempt: Attempt) -> int | None:
    """The signal of a cancel that an earlier poller of this attempt noted. Raises StoreError, DocumentError."""
    signal = await world.cancels.find(attempt.run, attempt.tag)
    if signal is not None:
        return signal
    intent = await run.cancel(attempt.tag)
    return None if intent is None else intent.signal


async def end_cancelled(
    world: PollWorld,
    attempt: Attempt,
    session: Session | None,
    cancelled: Cancelled,
    end: PollEnd | None,
    closed: Callable[[], None],
) -> PollEnd:
    """Close what is open within `TOTAL` seconds of the signal. Cancelled wins over every other exit code.

    `closed` is called once verdicts and decision are durable, before anything is stopped.
    """
    work = _Work(world, attempt, session, cancelled, end)
    work.closed = closed
    left = TOTAL - ((await world.clock.now()).mono - cancelled.at)
    with anyio.move_on_after(max(0.0, left)) as scope:
        try:
            await work.run()
        except GateError as error:
            work.why = f"not stopped: {error.message}"
    closed()
    cancelled.cut_short = scope.cancelled_caught
    return PollEnd(work.decision, 128 + cancelled.signal, work.remaining())


class _Work:
    def __init__(
        self, world: PollWorld, attempt: Attempt, session: Session | None, cancelled: Cancelled, end: PollEnd | None
    ) -> None:
        self.decision: Decision | None = end.decision if end is not None else None
        self.why = "cancelled before it was seen gone"
        self.closed: Callable[[], None] = lambda: None
        self._world = world
        self._attempt = attempt
        self._session = session
        self._cancelled = cancelled
        self._left: tuple[Remaining, ...] | None = end.remaining if end is not None else None

    def remaining(self) -> tuple[Remaining, ...]:
        if self._left is not None:
            return self._left
        kind = self._world.engine.kind
        if self._session is None:
            return ending.never_seen(self._attempt, kind, self.why)
        return ending.alive(self._session, kind, self.why)

    async def run(self) -> None:
        await self._tell()
        session = self._session
        if session is None or self._left is not None:
            self.closed()
            return
        run, wall = session.run, (await self._world.clock.now()).wall
        intent = CancelIntent(self._attempt.run, self._attempt.tag, self._cancelled.signal, wall)
        await run.record_cancel(intent)
        await session.observe(CancelSeen(self._cancelled.signal))
        if await session.flush() and session.decided is not None:
            self.decision = await run.write_decision(session.decided.decision)
            await session.telling.decision(self.decision, await session.now())
            self.closed()
        kept = await ending.leases(run, self._attempt, wall)
        # The clean-up step stops what this has no time for: a person at a terminal has no clean-up step.
        left = TOTAL - ((await self._world.clock.now()).mono - self._cancelled.at) - 0.2
        self._left = await ending.stop_the_rest(
            session, self._attempt, self._world.engine, self._world.clock, kept, max(0.0, left)
        )

    async def _tell(self) -> None:
        signal = self._cancelled.signal
        # Before the run was opened nothing has elapsed: the clock alone would tell how long this machine is up.
        alone = replace(await self._world.clock.now(), boot=0.0)
        now = await self._session.now() if self._session is not None else alone
        telling = self._session.telling if self._session is not None else Telling(self._world.reporters)
        open_legs = list(self._session.state.undecided) if self._session is not None else []
        text = f"cancelled by {SIGNALS.get(signal, f'signal {signal}')}"
        if self._cancelled.problem:
            text += f"; it could not be noted on this machine: {self._cancelled.problem}"
        await telling.note("cancelled", text, now, {"signal": signal, "open": open_legs})
