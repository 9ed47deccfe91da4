"""Drives one leg: performs what the leg machine asks for, and tells it what was seen. Awaits contracts only.

A turn, a check and a full scan each run in a task of their own, while looks, stop requests and the journal go on.
Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Literal

import anyio
from anyio.abc import TaskGroup

from gate.bootstrap import journal, prompts
from gate.bootstrap.closing import Closing
from gate.bootstrap.ledger import Ledger
from gate.contracts import CommandResult, LegWorld, Scan, StopRequest, TurnEnd, TurnOutcome, TurnRequest
from gate.errors import AgentError, GateError, StoreError
from gate.machines import leg
from gate.machines.leg_model import (
    Action,
    Audit,
    Audited,
    CommandStarted,
    Finish,
    FullScan,
    LegState,
    Looked,
    Note,
    Observation,
    PointerFacts,
    Prepare,
    Prepared,
    Publish,
    RunTurn,
    RunVerify,
    StartCommand,
    StopAsked,
    TurnEnded,
    Verified,
    Watch,
)
from gate.machines.verdict import StateView
from gate.plan.identity import session_id
from gate.rundir import layout
from gate.rundir.formats import LegResult, Pointer

OVERRUN = 30.0
"""Seconds after which a turn or check that outlives its budget is ended from here."""
JOURNAL_WAIT = 10.0
"""Seconds for which a turn waits until the journal names its session; then it starts all the same."""
AUDIT = 10.0
BLIND = 5.0
"""Seconds after which a root that could not be seen is looked at again, where nothing can go on without it."""
FIRST_WORD = 1.0
"""Seconds that a stop leaves to writing down why, before anything is ended."""


@dataclass(frozen=True, slots=True)
class LegIdentity:
    """Whose leg this is: the attempt's tag, and the GPU that the leg's position gives it."""

    tag: str
    gpu: int | None


async def drive(world: LegWorld, who: LegIdentity) -> LegResult:
    """Run the leg to its end, end everything it started, and leave its result. Raises only for bugs."""
    return await _Driver(world, who).run()


class _Driver:
    def __init__(self, world: LegWorld, who: LegIdentity) -> None:
        self._world = world
        self._leg = world.leg
        self._who = who
        self._ledger = Ledger(world.home, world.clock)
        self._inbox: deque[Observation] = deque()
        self._mail = anyio.Event()
        self._watch: Watch | None = None
        self._rearmed = anyio.Event()
        self._idle = anyio.CancelScope()
        self._tasks: TaskGroup
        self._state: LegState
        self._sequence = 0
        self._stop: StopRequest | None = None
        self._journal = journal.Journal(self._ledger)

    # --- the loop ------------------------------------------------------------------------------------

    async def run(self) -> LegResult:
        async with anyio.create_task_group() as records:
            records.start_soon(self._ledger.serve)
            async with anyio.create_task_group() as self._tasks:
                self._tasks.start_soon(self._wait_for_stop)
                self._tasks.start_soon(self._keep_watch)
                end = await self._until_the_end()
                if end.outcome == "stopped":
                    closing = self._closing(end)
                    closing.first_word()
                    await self._ledger.settled(FIRST_WORD)
                self._tasks.cancel_scope.cancel()
            result = await self._close(self._closing(end))
            records.cancel_scope.cancel()
        return result

    async def _close(self, closing: Closing) -> LegResult:
        """Close the leg; a stop that comes meanwhile leaves time for the most important of it alone."""
        result: LegResult | None = None
        if self._stop is None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._cut_short, tasks.cancel_scope)
                result = await closing.close(None)
                tasks.cancel_scope.cancel()
        return result if result is not None else await closing.close(self._stop)

    async def _cut_short(self, scope: anyio.CancelScope) -> None:
        self._stop = await self._world.signals.wait()
        scope.cancel()

    async def _until_the_end(self) -> Finish:
        now = await self._world.clock.now()
        self._state, actions = leg.start(self._leg, now)
        self._journal.started(self._leg, now)
        while True:
            for action in actions:
                if isinstance(action, Finish):
                    return action
                await self._perform(action)
            if not any(isinstance(action, Watch) for action in actions):
                self._arm(None)
            seen = await self._next()
            now = await self._world.clock.now()
            self._state, actions = leg.step(self._state, seen, now)
            self._journal.stepped(seen, actions, now)

    async def _next(self) -> Observation:
        while not self._inbox:
            self._mail = anyio.Event()
            await self._mail.wait()
        return self._inbox.popleft()

    def _tell(self, seen: Observation) -> None:
        # A stop is not to wait behind looks that have piled up.
        (self._inbox.appendleft if isinstance(seen, StopAsked) else self._inbox.append)(seen)
        self._mail.set()

    async def _perform(self, action: Action) -> None:
        match action:
            case Prepare():
                self._tasks.start_soon(self._prepare, action)
            case RunTurn():
                self._tasks.start_soon(self._turn, action)
            case RunVerify():
                self._tasks.start_soon(self._verify, action)
            case Audit():
                self._tasks.start_soon(self._audit)
            case StartCommand():
                self._tasks.start_soon(self._start_command)
            case FullScan():
                self._tasks.start_soon(self._full_scan)
            case Watch():
                self._arm(action)
            case Publish():
                await self._publish(action.facts)
            case Note() | Finish():
                return  # a note is in the journal by now, and the end is the loop's

    # --- looking -------------------------------------------------------------------------------------

    def _arm(self, watch: Watch | None) -> None:
        self._watch = watch
        self._idle.cancel()
        self._rearmed.set()

    async def _keep_watch(self) -> None:
        while True:
            watch = self._watch
            if watch is None:
                self._rearmed = anyio.Event()
                await self._rearmed.wait()
                continue
            self._idle = anyio.CancelScope()
            with self._idle:
                await self._world.home.idle(watch.beat, watch.longest)
            if self._idle.cancelled_caught or self._watch is not watch:
                continue
            seen = await self._look(full=False, scan=watch.scan)
            if self._watch is watch:
                self._watch = None
            self._tell(seen)

    async def _full_scan(self) -> None:
        self._tell(await self._look(full=True, scan=True))

    async def _look(self, *, full: bool, scan: bool) -> Looked:
        world = self._world
        # The command first: a state file that it wrote as its last act is then seen with its end.
        command = await world.commands.poll() if self._leg.kind == "command" else None
        found: Scan | None = None
        if scan:
            try:
                found = await world.home.scan(full=full)
            except StoreError:
                found = Scan(changed=False, full=full, blind=True, entries=0)
        ended = command is not None
        return Looked(found, await self._states(fresh=full or ended), command)

    async def _states(self, *, fresh: bool) -> tuple[StateView, ...] | None:
        try:
            return await self._world.home.states(fresh=fresh)
        except StoreError as error:
            self._journal.blind(str(error))
            return None

    # --- acting --------------------------------------------------------------------------------------

    async def _wait_for_stop(self) -> None:
        self._stop = await self._world.signals.wait()
        self._tell(StopAsked(self._stop.signal))

    async def _prepare(self, action: Prepare) -> None:
        late = f"not within {action.budget:g} s"
        seen = Prepared("", None, "prepare", f"The leg's directory was not there: {late}.")
        with anyio.move_on_after(action.budget):
            try:
                where = await self._world.home.open()
                self._ledger.open()
                seen = Prepared(where, None, "prepare", f"What was staged was not copied in: {late}.")
                await self._world.home.equip()
                seen = replace(seen, problem="agent", detail=f"The agent did not answer: {late}.")
                agent = self._world.agent
                seen = replace(seen, agent_version=await agent.version() if agent is not None else None)
                seen = replace(seen, problem="prepare", detail=f"The leg's directory could not be seen: {late}.")
                seen = replace(seen, states=await self._staged(), problem="", detail="")
            except GateError as error:
                problem: Literal["agent", "prepare"] = "agent" if isinstance(error, AgentError) else "prepare"
                seen = replace(seen, problem=problem, detail=str(error))
        self._tell(seen)

    async def _staged(self) -> tuple[StateView, ...]:
        """State files that lie there before the command runs; an agent's task begins later, and is asked about then."""
        if self._leg.kind != "command":
            return ()
        while (states := await self._states(fresh=True)) is None:
            await self._world.home.idle(BLIND, BLIND)
        return states

    async def _turn(self, action: RunTurn) -> None:
        agent, texts = self._world.agent, self._leg.prompts
        assert agent is not None
        assert texts is not None
        session = session_id(self._who.tag, self._leg.id, self._state.incarnation, action.session)
        self._journal.turn(action, session, await self._world.clock.now())
        await self._ledger.settled(JOURNAL_WAIT)
        request = TurnRequest(
            ordinal=action.ordinal,
            prompt=prompts.compose(texts, action),
            session=session,
            resume=action.resume,
            budget=action.budget,
            startup_probe=self._leg.budgets.startup_probe,
        )
        outcome = TurnOutcome(TurnEnd.TIMED_OUT, "", "it outlived its budget", None, None, None, None)
        with anyio.move_on_after(action.budget + OVERRUN):
            try:
                outcome = await agent.turn(request)
            except AgentError as error:
                outcome = TurnOutcome(TurnEnd.UNAVAILABLE, "", str(error), None, None, None, None)
        self._tell(TurnEnded(outcome))

    async def _verify(self, action: RunVerify) -> None:
        assert self._leg.verify is not None
        result = CommandResult(None, "it outlived its budget")
        with anyio.move_on_after(action.budget + OVERRUN):
            result = await self._world.commands.run(self._leg.verify, action.budget)
        self._tell(Verified(result))

    async def _audit(self) -> None:
        survivors: tuple[str, ...] = ()
        with anyio.move_on_after(AUDIT):
            survivors = await self._world.commands.survivors()
        states = await self._states(fresh=True)
        if states is None:
            await self._world.home.idle(BLIND, BLIND)
        self._tell(Audited(survivors, states))

    async def _start_command(self) -> None:
        assert self._leg.command is not None
        try:
            await self._world.commands.start(self._leg.command)
        except GateError as error:
            self._tell(CommandStarted(str(error)))
        else:
            self._tell(CommandStarted())

    # --- records -------------------------------------------------------------------------------------

    async def _publish(self, facts: PointerFacts) -> None:
        self._sequence += 1
        now = await self._world.clock.now()
        self._ledger.point(
            Pointer(
                leg=self._leg.id,
                tag=self._who.tag,
                incarnation=self._state.incarnation,
                sequence=self._sequence,
                phase=facts.phase,
                state=self._below(facts.state),
                earlier=facts.earlier if facts.earlier is None else tuple(map(self._inside, facts.earlier)),
                turns=facts.turns,
                resumes=facts.resumes,
                recaps=facts.recaps,
                redrives=facts.redrives,
                blind=facts.blind,
                cost_usd=facts.cost_usd,
                gpu=self._who.gpu,
                updated=now.wall,
            )
        )

    def _below(self, path: str | None) -> str | None:
        return path if path is None else self._inside(path)

    def _inside(self, path: str) -> str:
        """A path relative to the run directory as one below the incarnation's."""
        return path.removeprefix(f"{self._directory()}/")

    def _directory(self) -> str:
        return layout.incarnation(self._leg.id, self._who.tag, self._state.incarnation)

    def _closing(self, end: Finish) -> Closing:
        return Closing(self._world, self._who.tag, self._ledger, self._state, end, self._below)
