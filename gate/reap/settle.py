"""Stop everything that carries these tags and see it gone, however the run got here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import anyio

from gate.contracts import Clock, Engine, Listing, Scope, Store, Workload
from gate.errors import EngineError, RunNotFound, StoreError, WorkloadNotFound
from gate.plan.identity import workload_name
from gate.reap.remaining import UNLISTED, Remaining, removal
from gate.reap.targets import Target, missing, of_entry, seen
from gate.rundir.formats import WorkloadEntry
from gate.rundir.run import Run

STOPS_AT_ONCE = 8
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0


async def settle(
    store: Store, engine: Engine, clock: Clock, tags: Sequence[str], *, kept: Collection[str], budget: float
) -> tuple[Remaining, ...]:
    """Stop all workloads of `tags` except those in `kept`; wait at most `budget` seconds until each is seen gone.

    `kept` holds plan ids, engine ids, or `TAG/ID` where a plan id alone would mean workloads of several tags. Entries
    go to `seen_gone` as it is seen, so that a later call goes on where this one was cut off. Workloads under these
    tags that no entry names (a crash between create and record) are stopped too, and so are those whose entry cannot be
    read, which are named all the same. Returns what may still run.
    Raises RunNotFound (no attempt has one of these tags), StoreError where the run's records cannot be read.
    """
    return await _settled(await _Settler.open(store, engine, clock, tags, kept), budget)


async def settle_orphans(
    engine: Engine, clock: Clock, scope: Scope, run: str, *, budget: float
) -> tuple[Remaining, ...]:
    """The same for a run whose directory is not there: everything the engine lists in `scope` under that run."""
    tags = frozenset(w.tag for w in (await engine.list(scope)).workloads if w.run == run)
    return await _settled(_Settler(None, engine, clock, run, scope, tags, ()), budget)


async def _settled(settler: _Settler, budget: float) -> tuple[Remaining, ...]:
    clock = settler.clock
    start, pause = (await clock.now()).mono, FIRST_PAUSE
    with anyio.move_on_after(max(0.0, budget)):
        while True:
            await settler.look()
            if not settler.open_targets() and not settler.unproven:
                break
            left = budget - ((await clock.now()).mono - start)
            if left <= 0:
                break
            await clock.sleep(min(pause, left))
            pause = min(pause * 1.5, LONGEST_PAUSE)
    return settler.remaining()


@dataclass
class _Settler:
    """The targets of one call and the looks at them."""

    records: Run | None
    """None: no run directory, and therefore no entries to bring up to date."""
    engine: Engine
    clock: Clock
    run: str
    scope: Scope
    tags: frozenset[str]
    kept: Collection[str]
    targets: dict[tuple[str, str], Target] = field(default_factory=dict)
    unrecorded: dict[tuple[str, str], str] = field(default_factory=dict)
    unproven: str = "the engine could not be asked for a list: what no record names may still run"
    """Why something that no entry names may still run, "" once a list showed everything."""
    young: float = 0.0
    """Until then, on `mono`, a list may lack what was created last: the engine's lists lag."""
    damaged: dict[str, str] = field(default_factory=dict)
    """Workload to what is wrong with its entry."""

    @classmethod
    async def open(
        cls, store: Store, engine: Engine, clock: Clock, tags: Sequence[str], kept: Collection[str]
    ) -> _Settler:
        records = Run(store)
        mine = [attempt for attempt in await records.attempts() if attempt.tag in tags]
        if not mine:
            raise RunNotFound(f"no attempt of this run has the tag {', '.join(tags) or '(none given)'}")
        only = tags[0] if len(set(tags)) == 1 else None
        scope = Scope(mine[0].plan.repository, mine[0].plan.gate, tag=only)
        settler = cls(records, engine, clock, mine[0].run, scope, frozenset(tags), kept)
        for tag in settler.tags:
            entries, damaged = await records.readable_entries(tag)
            for entry in entries:
                settler.targets[(tag, entry.name)] = of_entry(entry)
            for workload, problem in damaged.items():
                settler._unreadable(mine[0].plan.gate, tag, workload, problem)
        await settler._age()
        return settler

    async def _age(self) -> None:
        """How long lists may still lag, by the wall clock of the records; never longer than the lag from now on."""
        now, lag = await self.clock.now(), self.engine.capabilities.list_lag
        changed = [target.entry.at for target in self.targets.values() if target.entry is not None]
        self.young = now.mono + min(lag, max(changed, default=now.wall - lag) + lag - now.wall)

    def _unreadable(self, gate: str, tag: str, workload: str, problem: str) -> None:
        """An entry that cannot be read: its workload is known by its name, and named at the end whatever is seen."""
        name = workload_name(gate, workload, tag, self.engine.capabilities.max_name)
        if f"{tag}/{workload}" in self.kept or workload in self.kept:
            self.kept = (*self.kept, name)
        self.damaged[workload] = problem

    def open_targets(self) -> list[Target]:
        return [t for t in self.targets.values() if not t.gone and not t.spared(self.kept)]

    def remaining(self) -> tuple[Remaining, ...]:
        left = [(target, target.why) for target in self.open_targets()]
        for key, why in self.unrecorded.items():
            left.append((self.targets[key], f"{self.targets[key].why}; its entry could not be updated: {why}"))
        kind, run = self.engine.kind, self.run
        found = [Remaining(t.label, t.engine_id, why, removal(kind, run, t.engine_id)) for t, why in left]
        for workload, problem in self.damaged.items():
            why = f"whether it is gone cannot be recorded: {problem}"
            found.append(Remaining(workload, None, why, removal(kind, run, None)))
        if self.unproven:
            # A create that was sent twice on its way leaves a workload that only a list can show.
            found.append(Remaining(UNLISTED, None, self.unproven, removal(kind, run, None)))
        return tuple(found)

    async def look(self) -> None:
        """One list call, then whatever it makes necessary."""
        try:
            listing = await self.engine.list(self.scope)
        except EngineError as error:
            self._all_open(f"the engine cannot be asked: {error.message}")
            listing = Listing((), complete=False)
        else:
            self.unproven = self._unproven(listing, (await self.clock.now()).mono)
        shown = {w.id for w in listing.workloads if w.tag in self.tags}
        for workload in listing.workloads:
            if workload.tag in self.tags:
                self._found(workload)
        for key, target in tuple(self.targets.items()):
            if target.engine_id not in shown and not target.gone:
                self.targets[key] = await self._second_source(target, listing.complete)
        await self._record()
        await self._stop()

    def _unproven(self, listing: Listing, mono: float) -> str:
        if not listing.complete:
            return "the engine gave no complete list: what is missing from it may still run"
        if mono < self.young:
            lag = self.engine.capabilities.list_lag
            return f"the engine's lists lag by up to {lag:g} s: what was created just now may be missing"
        return ""

    def _found(self, workload: Workload) -> None:
        key = self._key(workload)
        known = self.targets.get(key) or Target(workload.tag, workload.name, None, workload.id)
        self.targets[key] = seen(known, workload)

    def _key(self, workload: Workload) -> tuple[str, str]:
        """Which target it is: by its id, else by its name. A create that was sent twice on its way makes two of one
        name: the second is a target of its own, or it would hide that the first lives on."""
        for key, target in self.targets.items():
            if target.engine_id == workload.id:
                return key
        named = self.targets.get((workload.tag, workload.name))
        own = named is not None and named.engine_id is not None
        return (workload.tag, workload.id if own else workload.name)

    async def _second_source(self, target: Target, complete: bool) -> Target:
        """Not in the list. A workload with an id is asked for by it: one source that misses it proves nothing."""
        mono, lag = (await self.clock.now()).mono, self.engine.capabilities.list_lag
        if target.engine_id is None:
            unseen = replace(target, why="the engine's list is not complete, and it is not on it")
            return missing(target, mono, lag) if complete else unseen
        try:
            return seen(target, await self.engine.get(target.engine_id))
        except WorkloadNotFound:
            return missing(target, mono, lag)
        except EngineError as error:
            return replace(target, why=f"the engine cannot be asked: {error.message}")

    def _all_open(self, why: str) -> None:
        for key, target in self.targets.items():
            if not target.gone:
                self.targets[key] = replace(target, why=why)

    async def _record(self) -> None:
        """Bring entries to what was seen: an id found by tag, or gone. A failed write never holds up a stop."""
        wall = (await self.clock.now()).wall
        for key, target in tuple(self.targets.items()):
            entry = _next_entry(target, wall)
            if entry is None or self.records is None:
                continue
            try:
                await self.records.record_entry(entry)
            except StoreError as error:
                self.unrecorded[key] = error.message
            else:
                self.unrecorded.pop(key, None)
                self.targets[key] = replace(target, entry=entry)

    async def _stop(self) -> None:
        mono = (await self.clock.now()).mono
        due = [(k, t) for k, t in self.targets.items() if not t.gone and not t.spared(self.kept) and t.wants_stop(mono)]
        limit = anyio.CapacityLimiter(STOPS_AT_ONCE)

        async def stop(key: tuple[str, str], target: Target) -> None:
            assert target.engine_id is not None
            async with limit:
                try:
                    await self.engine.stop(target.engine_id)
                except EngineError as error:
                    self.targets[key] = replace(target, why=f"it could not be stopped: {error.message}")
                else:
                    self.targets[key] = replace(target, stopped_at=mono, why="asked to stop, and not seen gone yet")

        async with anyio.create_task_group() as tasks:
            for key, target in due:
                tasks.start_soon(stop, key, target)


def _next_entry(target: Target, wall: float) -> WorkloadEntry | None:
    """The entry as it should read now, or None where it does or there is none."""
    entry = target.entry
    if entry is None:
        return None
    if target.gone and entry.stage != "seen_gone":
        note = entry.note or ("stopped" if target.engine_id is not None else "never created")
        return replace(entry, stage="seen_gone", engine_id=target.engine_id, at=wall, note=note)
    if not target.gone and entry.stage == "intended" and target.engine_id is not None:
        note = entry.note or "found by its tag"
        return replace(entry, stage="created", engine_id=target.engine_id, at=wall, note=note)
    return None
