"""A dispatch that is interrupted or cut short: nothing new is launched, and what was is named, or stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio

from gate import places
from gate.adapters.clock import SystemClock
from gate.adapters.signals import SystemSignals
from gate.commands import telling
from gate.commands.dispatching import Ready, carry_out
from gate.commands.telling import say
from gate.contracts import Engine
from gate.dispatch.driver import Dispatched
from gate.errors import DocumentError, EngineError, GateError, StoreError, leaves
from gate.reap.settle import settle
from gate.rundir.cancels import FileCancelNotes
from gate.rundir.files import FileStore
from gate.rundir.formats import Attempt
from gate.rundir.notes import may_live
from gate.rundir.run import Run
from gate.rundir.runs import Runs

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
    """Dispatch until done, or until SIGINT or SIGTERM. Every intent is on disk either way.

    What was launched is named where something fails that is not found out before.
    """
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
            try:
                done = await carry_out(ready, engine, secrets)
            except Exception as error:
                if not _found_out_before(error):
                    _name(ready, await _launched(ready), "cut short")
                raise
        tasks.cancel_scope.cancel()
    return done if done is not None else Interrupted(signal)


async def leave(ready: Ready) -> None:
    """Say what an interrupted `gate dispatch` leaves behind."""
    launched = await _launched(ready)
    if not launched.names and not launched.problem:
        say(f"interrupted: nothing of run {ready.run} was launched")
    _name(ready, launched, "interrupted")


async def clean(ready: Ready, engine: Engine, cut: Interrupted) -> None:
    """End what an interrupted `gate run` had launched; note the cancel first, for a clean-up step goes by it."""
    launched = await _launched(ready)
    attempt = launched.attempt
    if attempt is None:
        if not launched.problem:
            say(f"interrupted: nothing of run {ready.run} was launched")
        _name(ready, launched, "interrupted")
        return
    try:
        await FileCancelNotes(places.cancel_notes()).record(attempt.run, attempt.tag, cut.signal)
    except StoreError as error:
        say(f"the cancel could not be noted on this machine: {error.message}")
    try:
        left = await settle(FileStore(ready.path), engine, SystemClock(), attempt.tags, kept=(), budget=SETTLE)
    except (StoreError, DocumentError) as error:
        say(f"interrupted, and nothing could be stopped: {error.message}")
        _name(ready, launched, "interrupted")
        return
    say(f"interrupted: {len(launched.names) - len(left)} of {len(launched.names)} workloads stopped")
    telling.remaining(left)


@dataclass(frozen=True, slots=True)
class _Launched:
    """What a dispatch without an end leaves: the run's latest attempt and which of its workloads may live.

    `problem`: why that cannot be read; "" where it can.
    """

    attempt: Attempt | None = None
    names: tuple[str, ...] = ()
    problem: str = ""


async def _launched(ready: Ready) -> _Launched:
    run, plan = Run(FileStore(ready.path)), ready.plan
    try:
        places_ = await Runs(Path(plan.root)).all(plan.repository, plan.gate)
        if ready.run not in {place.run for place in places_} or not await run.attempt_numbers():
            return _Launched()
        attempt = await run.latest_attempt()
        entries = [e for tag in attempt.tags for e in (await run.entries(tag)).values()]
    except (StoreError, DocumentError) as error:
        return _Launched(problem=error.message)
    return _Launched(attempt, tuple(entry.id for entry in entries if may_live(entry)))


def _name(ready: Ready, launched: _Launched, how: str) -> None:
    """Name what may live on, and what to do about it; nothing where nothing does."""
    if launched.problem:
        say(f"{how}: what of run {ready.run} was launched cannot be read: {launched.problem}")
    elif launched.names:
        say(f"{how}: {', '.join(launched.names)} of run {ready.run} live on")
    if launched.problem or launched.names:
        say(f"  go on: gate dispatch --run {ready.run}   or end them: gate reap --run {ready.run}")


def _found_out_before(error: BaseException) -> bool:
    """Was it found out before anything is launched: by what was asked for, or by another process that holds the run?"""
    late = (StoreError, EngineError, DocumentError)
    return all(isinstance(leaf, GateError) and not isinstance(leaf, late) for leaf in leaves(error))
