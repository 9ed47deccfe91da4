"""A dispatch that somebody interrupts: nothing new is launched, and what was is named, or stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import anyio

from gate import places
from gate.adapters.clock import SystemClock
from gate.adapters.signals import SystemSignals
from gate.commands import telling
from gate.commands.dispatching import Ready, carry_out
from gate.commands.telling import say
from gate.contracts import Engine
from gate.dispatch.driver import Dispatched
from gate.errors import DocumentError, StoreError
from gate.reap.settle import settle
from gate.rundir.cancels import FileCancelNotes
from gate.rundir.files import FileStore
from gate.rundir.formats import Attempt
from gate.rundir.run import Run

SETTLE = 4.0
"""Seconds for stopping what was launched: the next, harder signal comes after 7.5."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The signal that ended it."""

    signal: int

    @property
    def exit_code(self) -> int:
        """As a shell reports it."""
        return 128 + self.signal


async def dispatch_or_cut(ready: Ready, engine: Engine, secrets: Mapping[str, str]) -> Dispatched | Interrupted:
    """Dispatch until done, or until SIGINT or SIGTERM. Every intent is on disk either way."""
    done: Dispatched | None = None
    signal = 0
    async with SystemSignals().installed() as signals, anyio.create_task_group() as tasks:
        scope = anyio.CancelScope()

        async def wait() -> None:
            nonlocal signal
            signal = (await signals.wait()).signal
            scope.cancel()

        tasks.start_soon(wait)
        with scope:
            done = await carry_out(ready, engine, secrets)
        tasks.cancel_scope.cancel()
    return done if done is not None else Interrupted(signal)


async def leave(ready: Ready) -> None:
    """Say what an interrupted `gate dispatch` leaves behind."""
    attempt, names = await _launched(ready)
    if attempt is None or not names:
        say(f"interrupted: nothing of run {ready.run} was launched")
        return
    say(f"interrupted: {', '.join(names)} of run {ready.run} live on")
    say(f"  go on: gate dispatch --run {ready.run}   or end them: gate reap --run {ready.run}")


async def clean(ready: Ready, engine: Engine, cut: Interrupted) -> None:
    """End what an interrupted `gate run` had launched; note the cancel first, for a clean-up step goes by it."""
    attempt, names = await _launched(ready)
    if attempt is None:
        say(f"interrupted: nothing of run {ready.run} was launched")
        return
    await FileCancelNotes(places.cancel_notes()).record(attempt.run, attempt.tag, cut.signal)
    tags = (attempt.tag, *attempt.adopted.values())
    left = await settle(FileStore(ready.path), engine, SystemClock(), tags, kept=(), budget=SETTLE)
    say(f"interrupted: {len(names) - len(left)} of {len(names)} workloads stopped")
    telling.remaining(left)


async def _launched(ready: Ready) -> tuple[Attempt | None, list[str]]:
    """The run's latest attempt and which of its workloads may live."""
    run = Run(FileStore(ready.path))
    try:
        attempt = await run.latest_attempt()
        entries = [e for tag in (attempt.tag, *attempt.adopted.values()) for e in (await run.entries(tag)).values()]
    except (StoreError, DocumentError):
        return None, []  # interrupted before anything was written
    return attempt, [entry.id for entry in entries if entry.stage != "seen_gone"]
