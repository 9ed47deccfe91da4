"""What a CI makes of a gate: dispatch, poll, and a clean-up step; processes that die are started again as it says.

Each body here is the glue that a command puts around the real driver, over simulated contracts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import trio

from gate.contracts import Scope, Store
from gate.dispatch.driver import Dispatched, dispatch
from gate.dispatch.twin import refuse, twins
from gate.dispatch.world import DispatchWorld, Order
from gate.poll.driver import poll
from gate.poll.ending import PollEnd
from gate.poll.given import Identity, PollWorld
from gate.reap.remaining import Remaining
from gate.reap.report import ReapReport
from gate.reap.run import reap_run
from gate.reap.stale import reap_stale
from gate.rundir import holding
from gate.rundir.lease import fresh
from gate.rundir.run import Run
from gate.simulate.handles import OwnedNotes, OwnedSignals, OwnedStaging, OwnedSupersede
from gate.simulate.legworld import SimSignals
from gate.simulate.life import Life
from gate.simulate.outside import SimStaging
from gate.simulate.played import Poll, Role
from gate.simulate.world import Ended, RunSpace, World

T = TypeVar("T")

START = 1.0
"""Seconds from the end of one process to the next one's start."""
REAP = 120.0
HARDER = ((15, 7.5), (9, 2.5))
"""What a CI sends after the first signal, and how many seconds later each."""
STARTS = 40
"""Incarnations of one process; more, and its job is given up."""
LOST = 137
"""What a CI sees of a job whose process was killed for good."""


@dataclass
class Job:
    """One attempt's job. `polls` and `remaining` are what it leaves to be told."""

    world: World
    space: RunSpace
    order: Order
    ci: dict[str, str]
    polls: list[tuple[str, Poll]] = field(default_factory=list)
    """(tag, poll)."""
    remaining: tuple[Remaining, ...] = ()
    cancelled: int = 0
    _signals: SimSignals = field(default_factory=SimSignals)
    _life: Life | None = None

    async def run(self) -> int:
        """To its end, clean-up included; the exit code that the CI sees."""
        code = await self._until_decided()
        if code != 0:
            await trio.sleep(START)
            reaped = await self.world.process("reaper", self._reap)
            if reaped.value is not None:
                self.remaining = reaped.value.remaining
        return code

    async def cancel(self, signal: int) -> None:
        """Cancel the job as a CI does: signal after signal, then with force."""
        if self.cancelled:
            return
        self.cancelled = signal
        self._signals.send(signal, 7.5)
        for _number, pause in HARDER:
            await trio.sleep(pause)
        if self._life is not None and self._life.alive:
            self._life.kill(None)

    # --- processes -----------------------------------------------------------------------------------

    async def _until_decided(self) -> int:
        dispatched = await self._persist("dispatcher", self._dispatch)
        if dispatched.value is None:
            return self._code(dispatched)
        self.remaining = dispatched.value.remaining
        if self.cancelled:
            return 128 + self.cancelled
        await trio.sleep(START)
        polled = await self._persist("poller", self._poll)
        if polled.value is None:
            return self._code(polled)
        self.remaining = polled.value.remaining
        return polled.value.exit_code

    async def _persist(self, role: Role, body: Callable[[Life], Awaitable[T]]) -> Ended[T]:
        """Run a process, again after each death that a fault says is followed by a restart."""
        for _ in range(STARTS):
            if self.cancelled:
                break
            ended = await self.world.process(role, body)
            fault = ended.killed_by
            if not ended.killed or self.cancelled or fault is None or fault.restart is None:
                return ended
            await trio.sleep(fault.restart)
        return Ended(None, "", LOST, None, killed=True)

    def _code(self, ended: Ended[T]) -> int:
        if self.cancelled:
            return 128 + self.cancelled
        return ended.exit_code if ended.exit_code is not None else LOST

    # --- dispatch ------------------------------------------------------------------------------------

    async def _dispatch(self, life: Life) -> Dispatched | None:
        """Dispatch until done, or until the job is cancelled."""
        self._life = life
        done: Dispatched | None = None
        signals = OwnedSignals(self._signals, life)
        async with anyio.create_task_group() as tasks:
            scope = anyio.CancelScope()

            async def wait() -> None:
                await signals.wait()
                scope.cancel()

            tasks.start_soon(wait)
            with scope:
                done = await self._carry_out(life)
            tasks.cancel_scope.cancel()
        return done

    async def _carry_out(self, life: Life) -> Dispatched:
        world, plan, run = self.world, self.space.plan, self.space.run
        clock, store, engine = world.clock(life), world.store_of(life, run), world.engine_of(life)

        def say(text: str) -> None:
            world.truth.say(life.name, text)

        others = {name: Run(world.store_of(life, name)) for name in world.runs if name != run}
        found = await twins(engine, clock, plan, others, list(others))
        if found:
            raise refuse(found[0], plan)
        dispatch_world = DispatchWorld(
            clock=clock,
            store=store,
            engine=engine,
            files=world.files_of(life, run),
            staging=OwnedStaging(SimStaging(), life),
            secrets=world.secrets,
            run_dir=f"/simulated/{run}",
            ci=self.ci,
            say=say,
            reap_stale=lambda: self._reap_stale(life),
        )
        since = (await clock.now()).wall
        mine = fresh(f"{run}-{life.name}", "runner", 1, "gate dispatch", holding.PERIOD, since)
        try:
            async with holding.held(store, clock, run, mine, say):
                return await dispatch(dispatch_world, plan, self.order)
        finally:
            engine.blind.close()

    async def _reap_stale(self, life: Life) -> tuple[Remaining, ...]:
        world, plan = self.world, self.space.plan
        scope = Scope(plan.repository, plan.gate, ref=plan.ref)
        report = await reap_stale(
            world.engine_of(life),
            world.clock(life),
            _Runs(world, life),
            scope,
            spare={self.space.run},
            dry_run=False,
            budget=REAP,
        )
        return report.remaining

    # --- poll ----------------------------------------------------------------------------------------

    async def _poll(self, life: Life) -> PollEnd:
        self._life = life
        world, run = self.world, self.space.run
        began, end = trio.current_time(), None
        store, engine, files = world.store_of(life, run), world.engine_of(life), world.files_of(life, run)
        attempt = await Run(store).latest_attempt()
        given = PollWorld(
            me=Identity(f"{run}-{life.name}", "runner", 1, "gate poll"),
            clock=world.clock(life),
            store=store,
            engine=engine,
            legs=files,
            signals=OwnedSignals(self._signals, life),
            cancels=OwnedNotes(world.notes, life),
            supersede=OwnedSupersede(world.supersede_of(run), life),
            reporters=world.reporters_of(life, attempt),
        )
        try:
            end = await poll(given, attempt)
        finally:
            engine.blind.close()
            files.blind.close()
            code = end.exit_code if end is not None else None
            decision, left = (end.decision, end.remaining) if end is not None else (None, ())
            poll_ = Poll(life.name, began, trio.current_time(), code, decision, left)
            self.polls.append((attempt.tag, poll_))
        return end

    # --- clean-up ------------------------------------------------------------------------------------

    async def _reap(self, life: Life) -> ReapReport:
        world, run = self.world, self.space.run
        return await reap_run(
            world.store_of(life, run),
            world.engine_of(life),
            world.clock(life),
            OwnedNotes(world.notes, life),
            all_=False,
            dry_run=False,
            budget=REAP,
        )


class _Runs:
    """`reap.stale.Runs`: the runs below the simulated root."""

    def __init__(self, world: World, life: Life) -> None:
        self._world = world
        self._life = life

    async def open(self, run: str) -> Store | None:
        """A run's directory."""
        return self._world.store_of(self._life, run) if run in self._world.runs else None
