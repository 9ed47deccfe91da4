"""`gate reap --stale`: stop what older runs of the same gate, repository and ref left, and nothing that is watched."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

import anyio

from gate.contracts import Clock, Engine, Scope, Store, Workload
from gate.errors import DocumentError, StoreError
from gate.reap.leases import leases as leases_of
from gate.reap.report import STRANGE, Held, ReapReport, burning, left_alone
from gate.reap.settle import settle
from gate.rundir.formats import Kept
from gate.rundir.lease import live_holder
from gate.rundir.run import Run


class Runs(Protocol):
    """The runs of one gate below a root."""

    async def open(self, run: str) -> Store | None:
        """The run's directory, or None where it is not below this root. Raises StoreUnavailable."""
        ...


async def reap_stale(
    engine: Engine, clock: Clock, runs: Runs, scope: Scope, *, spare: Collection[str], dry_run: bool, budget: float
) -> ReapReport:
    """Stop what the engine lists in `scope` (which names a ref) under other runs than those in `spare`.

    A run that a live process holds is named and left, and so is one whose directory is not below this root: whether
    somebody watches it cannot be known here. Leases of kept workloads are honoured, save those that a superseded run
    left to itself: the newer run is what they made way for. Raises EngineError where the engine cannot be asked at all.
    """
    assert scope.ref is not None
    by_run: dict[str, list[Workload]] = {}
    for workload in (await engine.list(scope)).workloads:
        if workload.run not in spare and workload.ref == scope.ref and burning(workload):
            by_run.setdefault(workload.run, []).append(workload)
    reports: dict[str, ReapReport] = {}

    async def one(run: str) -> None:
        reports[run] = await _one(engine, clock, runs, run, by_run[run], dry_run=dry_run, budget=budget)

    async with anyio.create_task_group() as tasks:
        for run in by_run:
            tasks.start_soon(one, run)
    return _together(reports)


async def _one(
    engine: Engine, clock: Clock, runs: Runs, run: str, live: list[Workload], *, dry_run: bool, budget: float
) -> ReapReport:
    """One older run. What is wrong with its directory is told of its workloads, and holds up no other run."""
    try:
        store = await runs.open(run)
        if store is None:
            why = "its run directory is not below this root: whether somebody watches it cannot be known"
            return ReapReport(remaining=tuple(left_alone(w, why, engine.kind) for w in live))
        lease = await live_holder(store, clock)
        if lease is not None:
            return ReapReport(held=(Held(run, lease, tuple(w.name for w in live)),))
        return await _reaped(engine, clock, store, run, live, dry_run=dry_run, budget=budget)
    except (StoreError, DocumentError) as error:
        why = f"its run directory cannot be read: {error.message}"
        return ReapReport(remaining=tuple(left_alone(w, why, engine.kind) for w in live))


async def _reaped(
    engine: Engine, clock: Clock, store: Store, run: str, live: list[Workload], *, dry_run: bool, budget: float
) -> ReapReport:
    records = Run(store)
    tags = sorted({w.tag for w in live} & {a.tag for a in await records.attempts()})
    leases = await _honoured(records, run, tags, (await clock.now()).wall)
    names = {(e.tag, e.name): f"{e.tag}/{e.id}" for tag in tags for e in (await records.entries(tag)).values()}
    kept = {f"{lease.tag}/{lease.workload}" for lease in leases}
    stopped = tuple(w for w in live if w.tag in tags and names.get((w.tag, w.name)) not in kept)
    strange = tuple(left_alone(w, STRANGE, engine.kind) for w in live if w.tag not in tags)
    if dry_run or not stopped:
        return ReapReport(stopped, leases, remaining=strange)
    left = await settle(store, engine, clock, tags, kept=kept, budget=budget)
    return ReapReport(stopped, leases, remaining=strange + left)


async def _honoured(records: Run, run: str, tags: Collection[str], wall: float) -> tuple[Kept, ...]:
    """Leases of people and of post-mortems; not what a superseded run left to itself."""
    superseded = {tag for tag in tags if (d := await records.decision(tag)) is not None and d.word == "SUPERSEDED"}
    found = await leases_of(records, tuple(tags), wall)
    return tuple(lease for lease in found if not (lease.tag in superseded and lease.holder == run))


def _together(reports: Mapping[str, ReapReport]) -> ReapReport:
    whole = ReapReport()
    for run in sorted(reports):
        whole = whole.and_(reports[run])
    return whole
