"""`contracts.Publisher` over GitHub: reads where the attempt stands, posts the difference, remembers what was taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import anyio

from gate.contracts import Clock, GitHub, Published, Store
from gate.errors import DocumentError, GateError, StoreError
from gate.publish import outbox as outboxes
from gate.publish.desired import context_of, desired
from gate.publish.facts import Facts
from gate.publish.outbox import Outbox
from gate.publish.pace import Pace
from gate.publish.reader import FactsReader
from gate.publish.round import Body, Round
from gate.publish.site import Site
from gate.publish.sticky import Marker, Sticky, key_of
from gate.rundir.formats import Attempt
from gate.rundir.run import Run

ROOT = 5.0
"""Seconds for the run directory to answer; what was read before is posted then …"""
ROOT_HURRIED = 0.8
"""… and after a cancel, whose process has to be gone soon."""


class GitHubPublisher:
    """One attempt's reports, as one process makes them. Only who holds the run's lease may flush."""

    def __init__(self, github: GitHub, site: Site, store: Store, clock: Clock, attempt: Attempt, body: Body) -> None:
        self._github = github
        self._store = store
        self._clock = clock
        self._attempt = attempt
        self._reader = FactsReader(Run(store), attempt)
        self._outbox = outboxes.empty(attempt, site)
        self._round: Round | None = None
        self._body = body
        self._doing: Mapping[str, str] = {}
        self._pace: Pace | None = None
        self._saved: Outbox | None = None
        self._told: set[str] = set()

    def changed(self, doing: Mapping[str, str]) -> None:
        """What legs without a verdict are doing, in one word each."""
        self._doing = dict(doing)

    async def flush(self, budget: float, *, cancelled: int | None = None, ended: bool = False) -> Published:
        """Post what GitHub lacks, in at most `budget` seconds."""
        notes: list[str] = []
        hurried = cancelled is not None
        with anyio.move_on_after(budget):
            facts = await self._facts(cancelled, ended=ended, hurried=hurried, notes=notes)
            await self._once(facts, hurried=hurried or facts.closed, notes=notes)
        facts = self._with(self._reader.known, cancelled, ended=ended)
        await self._save(ROOT_HURRIED if hurried else ROOT, notes)
        new = tuple(dict.fromkeys(note for note in notes if note not in self._told))
        self._told |= set(new)
        return Published(self._outbox.calls, self._remaining(facts), new)

    # --- one flush -----------------------------------------------------------------------------------

    async def _once(self, facts: Facts, *, hurried: bool, notes: list[str]) -> None:
        now = (await self._clock.now()).mono
        if self._pace is None:
            self._pace = Pace(room=float(len(self._attempt.plan.legs) + 1), at=now)
        if not hurried and not self._pace.may_try(now):
            return
        round_ = self._round_of()
        try:
            await round_.run(facts, self._pace, now, self._intend, notes)
        finally:
            self._outbox = round_.outbox = replace(round_.outbox, calls=round_.calls)

    def _round_of(self) -> Round:
        if self._round is None:
            plan = self._attempt.plan
            key = key_of(plan.repository, context_of(plan))
            marker = Marker(key, self._attempt.run, self._attempt.attempt)
            sticky = Sticky(self._github, self._outbox.site.place, marker)
            late = self._saved is not None
            self._round = Round(self._github, self._outbox, sticky, self._body, late=late)
        return self._round

    async def _facts(self, cancelled: int | None, *, ended: bool, hurried: bool, notes: list[str]) -> Facts:
        """As they are now; as last read where the run directory does not answer."""
        facts = self._reader.known
        with anyio.move_on_after(ROOT_HURRIED if hurried else ROOT):
            try:
                await self._load()
                facts = await self._reader.read()
            except (StoreError, DocumentError) as error:
                notes.append(f"what was decided cannot be read, and GitHub is told what is known: {error.message}")
        return self._with(facts, cancelled, ended=ended)

    def _with(self, facts: Facts, cancelled: int | None, *, ended: bool) -> Facts:
        signal = facts.cancelled if facts.cancelled is not None else cancelled
        return replace(facts, cancelled=signal, ended=ended or facts.ended, doing=self._doing)

    async def _load(self) -> None:
        """Go on with the outbox of the process before; once."""
        if self._saved is not None or self._round is not None:
            return
        found = await outboxes.load(self._store, self._attempt.tag)
        if found is not None:
            # Where the attempt reports to stays: a re-run of a step may know less than the first one did.
            self._outbox = self._saved = found

    async def _intend(self) -> None:
        """What is about to be sent is written down first: GitHub may take it and its answer be lost."""
        assert self._round is not None
        self._outbox = self._round.outbox
        with anyio.move_on_after(ROOT_HURRIED):
            try:
                await outboxes.save(self._store, self._outbox)
            except GateError:
                return  # the flush's own save says so: a status that is sent twice does less harm than one never sent
            self._saved = self._outbox

    async def _save(self, patience: float, notes: list[str]) -> None:
        if self._outbox == self._saved or self._round is None:
            return
        with anyio.move_on_after(patience) as scope:
            try:
                await outboxes.save(self._store, self._outbox)
            except StoreError as error:
                notes.append(f"what GitHub has taken could not be written down, and may be sent again: {error.message}")
            else:
                self._saved = self._outbox
        if scope.cancelled_caught:
            notes.append("what GitHub has taken could not be written down, and may be sent again: no answer in time")

    def _remaining(self, facts: Facts) -> tuple[str, ...]:
        if self._round is None:
            wanted = desired(facts, self._outbox.site)
            return tuple(f"status {context}" for context in wanted)
        return self._round.remaining(facts)
