"""The poller: looks, tells the gate machine, writes down what it concludes, ends the attempt.

One tick is one list call and one look at the legs' files, side by side: a slow engine never delays a verdict. The
driver awaits the contracts it is given and nothing else; a cancel ends whatever it is waiting for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import anyio
import anyio.abc

from gate.contracts import LegQuery, LegView
from gate.documents import Json
from gate.errors import EXIT_NOT_MEASURED, EXIT_UNDECIDED, DocumentError, GateError, RunHeld, StoreError
from gate.machines.duration import spell
from gate.machines.gate_ends import last_call
from gate.machines.observations import (
    CancelSeen,
    Decide,
    EngineBlind,
    EngineSeen,
    GateRules,
    RootBlind,
    SupersedeSeen,
    Tick,
)
from gate.plan.model import PollBudgets
from gate.poll import cancelling, ending
from gate.poll.asking import Asking
from gate.poll.ending import PollEnd
from gate.poll.engine import LATE, LIST_DEADLINE, EngineEye, wanted
from gate.poll.given import Identity, PollWorld
from gate.poll.publishing import Publishing
from gate.poll.rules import rules_of
from gate.poll.session import Session, open_session
from gate.poll.superseding import NewerQuestion
from gate.poll.telling import Telling
from gate.reap.remaining import Remaining
from gate.rundir import lease
from gate.rundir.formats import Attempt, Decision, Kept, Lease
from gate.rundir.lease import Holding
from gate.rundir.run import Run

__all__ = ["Identity", "PollEnd", "PollWorld", "poll"]

PATIENCE = 1.0
"""Seconds for which a look that changed something waits for the engine's answer."""
PATIENCE_ONCE = 60.0
"""The same where there is only one tick."""
RETRY = 5.0
"""Seconds at most between two tries to write down what is decided."""
GIVE_UP = 60.0
"""Seconds at least for which those go on; longer where the outage budget is. The poll deadline ends them."""
EARLY = 0.5
"""Seconds by which a wait may end early, as clocks round, and still have reached its tick."""
AT_LEAST = 60.0
SETTLE_AT_LEAST = 15.0
"""Seconds for a poller that is started when the deadline is past, and for what it stops."""
EXIT = 7.0
"""Seconds before its deadline in which a poller gives its run up and exits."""


async def poll(
    world: PollWorld,
    attempt: Attempt,
    *,
    once: bool = False,
    takeover: bool = False,
    interval: float | None = None,
    fail_fast: bool | None = None,
) -> PollEnd:
    """Watch an attempt until it is decided, its verdicts are durable and everything not kept is seen gone.

    `interval` (seconds) and `fail_fast` override the plan's. Raises RunHeld (another poller lives, or has taken over),
    StoreError (at the start; later ones are waited out), DocumentError.
    """
    poller = _Poller(world, attempt, once=once)
    failure: GateError | None = None
    end: PollEnd | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(poller.await_signal)
        tasks.start_soon(poller.publishing.serve)
        try:
            with poller.scope:
                end = await poller.watch(tasks, takeover=takeover, interval=interval, fail_fast=fail_fast)
                end = await poller.published(end)
        except GateError as error:
            failure = error
        if poller.cancelled is not None:
            failure, end = None, await poller.end_cancelled(end)
        await poller.leave()
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
    assert end is not None
    return end


class _Poller:
    def __init__(self, world: PollWorld, attempt: Attempt, *, once: bool) -> None:
        self.scope = anyio.CancelScope()
        self.cancelled: cancelling.Cancelled | None = None
        self.publishing = Publishing(world.publisher, world.clock, self._note, self._mine)
        self._world = world
        self._attempt = attempt
        self._once = once
        self._telling = Telling(world.reporters)
        self._newer = NewerQuestion(world.supersede, world.clock, self._telling)
        self._holding: Holding | None = None
        self._session: Session | None = None
        self._engine: Asking[EngineSeen | EngineBlind] | None = None
        self._views: object = None
        self._queries: dict[str, LegQuery] = {}
        self._stuck_since: float | None = None

    # --- the cancel ----------------------------------------------------------------------------------

    async def await_signal(self) -> None:
        """Note a cancel on the runner's own disk first, then end whatever this poller is waiting for."""
        self.cancelled = await cancelling.await_cancel(self._world, self._attempt)
        self.scope.cancel()

    async def end_cancelled(self, end: PollEnd | None) -> PollEnd:
        """What there is time for."""
        cancelled = self.cancelled
        assert cancelled is not None
        work = partial(cancelling.end_cancelled, self._world, self._attempt, self._session, cancelled, end)
        return await self.publishing.beside_cancel(cancelled.signal, cancelled.at, work)

    async def published(self, end: PollEnd) -> PollEnd:
        """GitHub knows what it came to, or there is no time left for that."""
        assert self._session is not None
        return replace(end, published=await self.publishing.finish(await self._left(self._session), once=self._once))

    async def _mine(self) -> None:
        if self._holding is None:
            raise RunHeld(f"run {self._attempt.run} is not held by this poller")
        await self._holding.check()

    async def leave(self) -> None:
        """Leave the run free for the next poller, where it is still ours and the root answers."""
        if self._holding is None or (self.cancelled is not None and self.cancelled.cut_short):
            return
        with anyio.move_on_after(RETRY if self.cancelled is None else 0.5):
            try:
                await self._holding.release()
            except (RunHeld, StoreError) as error:
                await self._note("lease_left", error.message)

    # --- watching ------------------------------------------------------------------------------------

    async def watch(
        self, tasks: anyio.abc.TaskGroup, *, takeover: bool, interval: float | None, fail_fast: bool | None
    ) -> PollEnd:
        """Tick until decided. Raises RunHeld, StoreError, DocumentError."""
        session = await self._open(tasks, takeover=takeover, interval=interval, fail_fast=fail_fast)
        eye = await self._eye(session)
        self._engine = Asking(tasks, eye.look, LIST_DEADLINE, LATE)
        newer = Asking(tasks, self._newer.ask, LIST_DEADLINE, None)
        # Every answer may be slow, one after the other: together they must not hold poll beyond its deadline.
        with anyio.move_on_after(max(AT_LEAST, await self._left(session) - EXIT)):
            return await self._until_decided(session, self._engine, newer)
        return await self._overdue(session)

    async def _until_decided(
        self, session: Session, engine: Asking[EngineSeen | EngineBlind], newer: Asking[SupersedeSeen | None]
    ) -> PollEnd:
        rules = session.state.rules
        await self._join(session, rules.poll)
        while True:
            began = await self._world.clock.now()
            await self._renew()
            if session.state.decision is None and session.decision is None:
                if self._newer.due(began):
                    newer.begin()
                await self._tick(session, engine, newer)
            durable = await session.flush()
            now = await session.now()
            if session.decided is None:  # else once, with the decision: an edit of the report less
                self.publishing.changed(session.state, now)
            await self._telling.tick(session.state, now)
            if durable and (end := await self._conclude(session)) is not None:
                return end
            if self._once:
                return await self._undecided(session)
            if await self._stuck(session, rules, durable=durable):
                why = f"not stopped: nothing can be written down ({session.trouble})"
                return PollEnd(None, EXIT_NOT_MEASURED, ending.alive(session, self._world.engine.kind, why))
            if session.decided is not None:
                await self._pause(began.mono + min(rules.poll.interval, RETRY))
            else:
                await self._pause(await self._due(session, rules.poll.interval))

    async def _overdue(self, session: Session) -> PollEnd:
        """What was decided or not when the deadline came in the middle of something that hangs."""
        await self._note(
            "overdue", f"the poll deadline is here, and something hangs: {session.trouble or 'the engine'}"
        )
        why = "not seen gone before the poll deadline"
        code = EXIT_NOT_MEASURED if session.decision is None else session.decision.exit_code
        return PollEnd(session.decision, code, ending.alive(session, self._world.engine.kind, why))

    async def _join(self, session: Session, poll: PollBudgets) -> None:
        """Go on at the moments at which the poller before looked.

        Fail-fast decides by what one look shows: at other moments than without the restart it could come to less.
        """
        elapsed = (await session.now()).mono
        ended = session.decided is not None or session.decision is not None
        if self._once or ended or elapsed < EARLY or elapsed >= last_call(poll):
            return
        await self._telling.tick(session.state, await session.now())
        await self._pause(await self._due(session, poll.interval))

    async def _due(self, session: Session, interval: float) -> float:
        """When the next tick is due, on `mono`: a whole number of intervals after the attempt's first poll."""
        elapsed = (await session.now()).mono
        ticks = math.floor((elapsed + min(EARLY, interval / 10)) / interval) + 1
        return (await self._world.clock.now()).mono + ticks * interval - elapsed

    async def _open(
        self, tasks: anyio.abc.TaskGroup, *, takeover: bool, interval: float | None, fail_fast: bool | None
    ) -> Session:
        world, attempt, me = self._world, self._attempt, self._world.me
        every = attempt.plan.poll.interval if interval is None else interval
        since = (await world.clock.now()).wall
        mine = lease.fresh(me.holder, me.host, me.pid, me.command, max(every, 1.0), since)
        holding = Holding(world.store, attempt.run, mine)

        def waiting(other: Lease, patience: float) -> None:
            text = (
                f"the run was last held by {other.command!r}, pid {other.pid} on {other.host}; "
                f"watching for up to {patience:g} s whether it lives"
            )
            tasks.start_soon(self._note, "lease_waiting", text)

        await holding.acquire(world.clock, take_over=takeover, waiting=waiting)
        self._holding = holding
        lag = world.engine.capabilities.list_lag
        rules = await rules_of(Run(world.store), attempt, list_lag=lag, interval=interval, fail_fast=fail_fast)
        session = await open_session(
            attempt, rules, world.store, world.clock, self._telling, holding, fail_fast=fail_fast
        )
        self._session = session
        globs = {leg.id: leg.state for leg in attempt.plan.legs}
        for leg in session.state.rules.legs:
            self._queries[leg.id] = LegQuery(leg.id, leg.tag, globs[leg.id], leg.judge.keys())
        signal = await cancelling.earlier(world, session.run, attempt)
        if signal is not None:
            await session.observe(CancelSeen(signal))
        return session

    async def _eye(self, session: Session) -> EngineEye:
        entries = {tag: await session.run.entries(tag) for tag in self._attempt.tags}
        targets = wanted(self._attempt, entries, self._world.engine)

        def over() -> tuple[str, ...]:
            return tuple(name for name, workload in session.state.workloads.items() if workload.over)

        return EngineEye(self._world.engine, self._attempt, targets, over)

    async def _tick(
        self,
        session: Session,
        engine: Asking[EngineSeen | EngineBlind],
        newer: Asking[SupersedeSeen | None],
    ) -> None:
        engine.begin()
        views = await self._look(session)
        seen = await engine.take(PATIENCE_ONCE if self._once else PATIENCE)
        if seen is None:
            if views == self._views and not engine.overdue:
                return  # nothing new on either side: the answer, when it comes, ends the pause
            seen = EngineBlind("timed_out", "it has not answered yet")
        self._views = views
        await session.observe(Tick(seen, views))
        superseded = await newer.take(PATIENCE if self._once else 0)
        if superseded is not None:
            await session.observe(superseded)

    async def _look(self, session: Session) -> dict[str, LegView] | RootBlind:
        queries = [self._queries[leg] for leg in session.state.undecided]
        try:
            return dict(await self._world.legs.look(queries)) if queries else {}
        except StoreError as error:
            return RootBlind(error.message)

    async def _pause(self, until: float) -> None:
        """Wait until `until` on `mono`; an answer that was slow ends it."""
        seconds = max(0.0, until - (await self._world.clock.now()).mono)
        if self._engine is None:
            await self._world.clock.sleep(seconds)
        else:
            await self._engine.or_until(self._world.clock.sleep, seconds)

    async def _renew(self) -> None:
        assert self._holding is not None
        try:
            await self._holding.renew()
        except StoreError as error:
            # Judging goes on; before anything is written the lease is read again.
            if self._session is not None:
                self._session.trouble = error.message

    # --- ending --------------------------------------------------------------------------------------

    async def _conclude(self, session: Session) -> PollEnd | None:
        """Write down the decision and the leases, stop the rest; None where there is no decision to write yet."""
        decided = session.decided
        if decided is None and session.decision is not None:
            decided = Decide(session.decision, ())  # the journal was lost, what it came to was not
        if decided is None:
            return None
        world, wall = self._world, (await self._world.clock.now()).wall
        unread = ""
        kept: Mapping[str, Kept] = {}
        try:
            await session.holding.check()
            session.decision = await session.run.write_decision(decided.decision)
            kept = await ending.keep(session.run, self._attempt, decided, wall)
        except StoreError as error:
            session.trouble = error.message
            return None
        except DocumentError as error:
            if session.decision is None:
                raise
            unread = error.message
        now = await session.now()
        await self._telling.decision(session.decision, now)
        self.publishing.changed(session.state, now)
        if unread:
            # Which workloads are kept cannot be read: none is stopped that somebody may want, and all are named.
            left = ending.alive(session, world.engine.kind, f"not stopped: {unread}")
            return await self._ended(session.decision, left)
        return await self._ended(session.decision, await self._settle(session, kept))

    async def _settle(self, session: Session, kept: Mapping[str, Kept]) -> tuple[Remaining, ...]:
        world, wall = self._world, (await self._world.clock.now()).wall
        for name, lease_ in kept.items():
            left = f"kept for {spell(lease_.until - wall)} more ({lease_.why})"
            text = f"workload {name.partition('/')[2]} is {left}; end it: gate stop --run {self._attempt.run}"
            await self._note("kept", text, {"workload": lease_.workload, "until": lease_.until})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._renew_while_settling)
            # what is not seen gone by the deadline is named: the job's own end must not come first
            budget = min(ending.SETTLE, max(SETTLE_AT_LEAST, await self._left(session) - 2 * EXIT))
            remaining = await ending.stop_the_rest(session, self._attempt, world.engine, world.clock, kept, budget)
            tasks.cancel_scope.cancel()
        return remaining

    async def _left(self, session: Session) -> float:
        """Seconds until the poll deadline."""
        return session.state.rules.poll.deadline - (await session.now()).boot

    async def _ended(self, decision: Decision, remaining: tuple[Remaining, ...]) -> PollEnd:
        for left_over in remaining:
            await self._note("remains", f"{left_over.workload}: {left_over.why}; remove it: {left_over.command}")
        return PollEnd(decision, decision.exit_code, remaining)

    async def _renew_while_settling(self) -> None:
        assert self._holding is not None
        while True:
            await self._world.clock.sleep(self._holding.mine.period)
            try:
                await self._renew()
            except RunHeld as error:
                await self._note("lease_lost", error.message)
                return

    async def _undecided(self, session: Session) -> PollEnd:
        left = ", ".join(session.state.undecided)
        text = f"undecided: {left}" if left else f"decided, and not written down yet: {session.trouble}"
        await self._note("undecided", text)
        return PollEnd(None, EXIT_UNDECIDED, ())

    async def _stuck(self, session: Session, rules: GateRules, *, durable: bool) -> bool:
        """Say, once, that something cannot be written down; True where all is decided and that went on for too long."""
        if durable and session.decided is None:
            self._stuck_since = None
            return False
        mono = (await self._world.clock.now()).mono
        if self._stuck_since is None:
            self._stuck_since = mono
            await self._note("unwritten", f"verdicts cannot be written down yet: {session.trouble}")
        if session.decided is None or mono - self._stuck_since < max(rules.poll.outage, GIVE_UP):
            return False
        await self._note("unwritten", f"the decision cannot be written down: {session.trouble}")
        return True

    async def _note(self, kind: str, text: str, data: Mapping[str, Json] | None = None) -> None:
        # Before the run is open nothing has elapsed: the clock alone would tell how long this machine is up.
        alone = replace(await self._world.clock.now(), boot=0.0)
        now = await self._session.now() if self._session is not None else alone
        await self._telling.note(kind, text, now, data)
