"""One attempt under watch: the fold of its observations, what of it is durable, and what still has to be written.

Order of every step: the observation is appended to the journal, then the verdicts it led to are created, and only what
is durable is announced. A root that does not answer delays writes, which are retried with every tick; it never stops
judging in memory.
"""

from __future__ import annotations

from collections.abc import Iterable

import anyio

from gate.contracts import Clock, Store
from gate.errors import StoreError, StoreUnavailable
from gate.machines import gate
from gate.machines.clock import Now
from gate.machines.gate_state import GateState
from gate.machines.observations import (
    Action,
    Decide,
    GateRules,
    Observation,
    Resumed,
    Say,
    VerdictsFound,
    WriteVerdict,
)
from gate.machines.verdict import Verdict
from gate.poll import journal
from gate.poll.journal import Codec, Header
from gate.poll.telling import Telling
from gate.poll.timeline import Instant, Timeline, first
from gate.rundir import layout
from gate.rundir.formats import Attempt, Decision
from gate.rundir.lease import Holding
from gate.rundir.run import Run

BUFFER = 1024 * 1024
"""Bytes of journal kept in memory while the root does not answer; beyond, the next tick is written in full."""
AT_ONCE = 4
"""Verdicts written at the same time."""


class Session:
    """The attempt's gate machine with its journal and verdicts. Made by `open_session`."""

    def __init__(
        self, attempt: Attempt, run: Run, clock: Clock, telling: Telling, holding: Holding, codec: Codec, reading: Now
    ) -> None:
        self.attempt = attempt
        self.run = run
        self.telling = telling
        self.holding = holding
        begin = Instant(0, 0, codec.header.wall)
        self.state: GateState = gate.start(codec.header.rules, begin.now())
        self.decided: Decide | None = None
        self.decision: Decision | None = None
        """The decision as it stands on disk."""
        self.trouble = ""
        """Why the last write failed; "" where everything is durable."""
        self._clock = clock
        self._codec = codec
        self._line = Timeline(begin, reading)
        self._unwritten = bytearray()
        self._head = b""
        """The journal's first line while it is not durable."""
        self._verdicts: dict[str, Verdict] = {}

    async def instant(self) -> Instant:
        """Now, on the attempt's time."""
        return self._line.at(await self._clock.now())

    async def now(self) -> Now:
        """Now, as the gate machine takes it."""
        return (await self.instant()).now()

    # --- observing -----------------------------------------------------------------------------------

    async def observe(self, observation: Observation) -> None:
        """Record one observation, step, and take in what the machine asks for. Writes nothing but the journal."""
        if self.state.decision is not None:
            return
        at = await self.instant()
        # No await between these: a cancel that ends the append must not part the journal from the state.
        self._record(observation, at)
        self.state, actions = gate.step(self.state, observation, at.now())
        self._take(actions)
        await self._append()
        for action in actions:
            if isinstance(action, Say):
                await self.telling.say(action, at.now())

    def _take(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if isinstance(action, WriteVerdict):
                self._verdicts[action.verdict.leg] = action.verdict
            elif isinstance(action, Decide):
                self.decided = action

    async def go_on(
        self, past: Iterable[tuple[Instant, Observation]], reading: Now, interval: float, fail_fast: bool | None
    ) -> None:
        """Fold what the journal holds, and record the gap since its last line. Nothing of it is said again.

        What the attempt was first polled with stays; the interval and fail-fast (None: as before) are this process's to
        say, from here on: the past was decided by what earlier ones were told.
        """
        for at, observation in past:
            self.state, actions = gate.step(self.state, observation, at.now())
            self._take(actions)
        self._line, gap = Timeline.resumed(self._codec.last, reading)
        rules = self.state.rules
        other = fail_fast if fail_fast != rules.fail_fast else None
        await self.observe(Resumed(gap, interval if interval != rules.poll.interval else None, other))

    def begin(self) -> None:
        """Write the journal's first line, together with the first observation."""
        self._head = self._codec.head()
        self._unwritten += self._head

    def _record(self, observation: Observation, at: Instant) -> None:
        if len(self._unwritten) > BUFFER:
            # Before the line is made: it would say what changed since lines that are lost. Without a first line
            # nothing of the journal could be read.
            self._unwritten[:] = self._head
            self._codec.restart()
        self._unwritten += self._codec.encode(observation, at)

    async def _append(self) -> None:
        try:
            await self.run.store.append(layout.observations(self.attempt.tag), bytes(self._unwritten))
        except StoreError as error:
            self.trouble = error.message
        else:
            self._unwritten.clear()
            self._head = b""

    # --- making durable ------------------------------------------------------------------------------

    def on_disk(self, verdicts: Iterable[Verdict]) -> None:
        """These are durable already."""
        for verdict in verdicts:
            self._verdicts.pop(verdict.leg, None)

    async def flush(self) -> bool:
        """Write the verdicts that are due and announce each as it becomes durable; True where all are.

        Raises RunHeld where another poller has taken the run: then nothing was written.
        """
        if self._unwritten and self.state.decision is not None:
            await self._append()  # nothing is observed any more that would bring the rest of the journal along
        if not self._verdicts:
            self.trouble = ""
            return True
        try:
            await self.holding.check()
        except StoreError as error:
            self.trouble = error.message
            return False
        self.trouble = ""
        if self._unwritten and self.state.decision is not None:
            # Nothing is observed any more that would take it along: what decided belongs beside what was decided.
            await self._append()
        await self._stand(await self._write(tuple(self._verdicts.values())))
        return not self._verdicts

    async def _write(self, verdicts: tuple[Verdict, ...]) -> dict[str, Verdict]:
        """Create these verdicts, a few at a time; those that stand now. Stops where the root does not answer."""
        limit = anyio.Semaphore(AT_ONCE)
        standing: dict[str, Verdict] = {}
        hung = False

        async def write(verdict: Verdict) -> None:
            nonlocal hung
            async with limit:
                if hung:
                    return
                try:
                    standing[verdict.leg] = await self.run.write_verdict(verdict)
                except StoreError as error:
                    hung, self.trouble = isinstance(error, StoreUnavailable), error.message

        async with anyio.create_task_group() as tasks:
            for verdict in verdicts:
                tasks.start_soon(write, verdict)
        return standing

    async def _stand(self, standing: dict[str, Verdict]) -> None:
        """Announce what is durable now, in the order of the legs; a verdict that was there before wins over ours."""
        others = tuple(v for leg, v in standing.items() if v != self._verdicts[leg])
        self.on_disk(standing.values())
        if others and self.state.decision is None:
            await self.observe(VerdictsFound(others))
        for leg in self.state.legs:
            if leg in standing:
                await self.telling.verdict(standing[leg], await self.now())


async def open_session(
    attempt: Attempt,
    rules: GateRules,
    store: Store,
    clock: Clock,
    telling: Telling,
    holding: Holding,
    *,
    fail_fast: bool | None,
) -> Session:
    """Go on where the journal ends, or begin one. What is on disk stands: a differing fold gives way to it.

    Raises StoreError, and DocumentError for a journal or verdict that cannot be read.
    """
    run = Run(store)
    key = layout.observations(attempt.tag)
    raw = await store.read(key)
    found = journal.read(raw, key) if raw is not None else None
    reading = await clock.now()
    if found is None:
        session = Session(attempt, run, clock, telling, holding, Codec(Header(rules, first(reading).wall)), reading)
        session.begin()
    else:
        codec, past = found
        session = Session(attempt, run, clock, telling, holding, codec, reading)
        await session.go_on(past, reading, rules.poll.interval, fail_fast)
    await _adopt_verdicts(session)
    return session


async def _adopt_verdicts(session: Session) -> None:
    on_disk = await session.run.verdicts(session.attempt.tag)
    session.on_disk(on_disk.values())
    legs = session.state.legs
    other = tuple(v for leg, v in on_disk.items() if leg in legs and legs[leg].verdict != v)
    if other:
        await session.observe(VerdictsFound(other))
    now = await session.now()
    for leg in legs:
        if leg in on_disk:
            await session.telling.verdict(on_disk[leg], now, again=True)
    session.decision = await session.run.decision(session.attempt.tag)
