"""From options to a dispatched run: what `dispatch`, `run` and `retry` share."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gate.adapters.clock import SystemClock
from gate.commands.gateruns import GateRuns
from gate.commands.identity import my_lease
from gate.commands.opening import engine_of, leg_secrets
from gate.commands.telling import say
from gate.commands.where import where
from gate.contracts import Engine, Scope
from gate.dispatch.ci import ci
from gate.dispatch.driver import Dispatched, dispatch
from gate.dispatch.reuse import Reused, reuse
from gate.dispatch.runid import run_id
from gate.dispatch.staging import FileStaging
from gate.dispatch.twin import refuse, twins
from gate.dispatch.world import DispatchWorld, Order
from gate.engines import KINDS, capabilities_of, check_fit, seen_by_workloads
from gate.plan.capabilities import check_capabilities
from gate.plan.model import ArtifactPlan, Plan
from gate.plan.resolve import Choice, resolve
from gate.reap.remaining import Remaining
from gate.reap.stale import reap_stale
from gate.rundir import holding, layout
from gate.rundir.files import FileStore
from gate.rundir.legfiles import FileLegFiles
from gate.rundir.runs import RunPlace, Runs

STALE = 120.0
"""Seconds that stale workloads get to be seen gone before new ones are launched."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line asks for."""

    config: Path
    legs: tuple[str, ...] = ()
    scope: Literal["full", "fast", "none"] | None = None
    version: str | None = None
    reuse: str | None = None
    root: Path | None = None
    run: str | None = None
    new: bool = False
    fresh: bool = False
    again: bool = False
    polled_here: bool = False
    artifact: ArtifactPlan | None = None
    """Stands in for the one of gate.yaml."""
    keep_on_fail: float | None = None
    """Overrides gate.yaml's."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A plan that can be dispatched: its run, where it lies, and everything that was resolved."""

    plan: Plan
    wanted: Wanted
    run: str
    path: Path
    reused: Reused | None
    made: bool = False
    """The run's id is a new one, and nobody has been told it."""


async def prepare(wanted: Wanted) -> Ready:
    """Resolve the plan and the run. Touches nothing. Raises what is wrong with gate.yaml, artifact or engine."""
    reused = await _reused(wanted) if wanted.reuse is not None else None
    choice = Choice(wanted.legs, wanted.scope, wanted.version, wanted.artifact)
    if reused is not None:
        choice = replace(choice, version=reused.version, artifact=reused.artifact)
        say(reused.sentence())
    resolved = resolve(wanted.config, choice)
    for note in resolved.notes:
        say(f"note: {note}")
    plan = _overridden(resolved.plan, wanted)
    known = {kind: capabilities_of(kind) for kind in KINDS}
    check_capabilities(plan, capabilities_of(plan.engine.kind), known)
    check_fit(plan)
    run, made = run_id(wanted.run, ci(os.environ))
    return Ready(plan, wanted, run, layout.run(Path(plan.root), plan.repository, plan.gate, run), reused, made)


async def carry_out(ready: Ready, engine: Engine, secrets: Mapping[str, str]) -> Dispatched:
    """Dispatch it, holding its run. Raises GateErrors."""
    plan, clock, wanted = ready.plan, SystemClock(), ready.wanted
    twin_runs = await _refuse_twin(ready, engine, clock)
    if ready.made:
        say(f"run {ready.run}")
    store = FileStore(ready.path)
    await store.make_root()
    world = DispatchWorld(
        clock=clock,
        store=store,
        engine=engine,
        files=FileLegFiles(ready.path),
        staging=FileStaging(ready.path, ready.reused.origin if ready.reused else {}),
        secrets=secrets,
        run_dir=seen_by_workloads(plan, ready.path),
        ci=ci(os.environ),
        say=say,
        reap_stale=lambda: _reap_stale(ready, engine, clock, twin_runs),
    )
    order = Order(ready.run, fresh=wanted.fresh, again=wanted.again, polled_here=wanted.polled_here)
    async with holding.held(store, clock, ready.run, my_lease(holding.PERIOD), say):
        return await dispatch(world, plan, order)


@asynccontextmanager
async def opened(ready: Ready) -> AsyncIterator[tuple[Engine, Mapping[str, str]]]:
    """The engine and all secrets, resolved before anything is changed."""
    secrets = leg_secrets(ready.plan)
    async with engine_of(ready.plan) as engine:
        yield engine, secrets


def _overridden(plan: Plan, wanted: Wanted) -> Plan:
    if wanted.root is not None:
        plan = replace(plan, root=str(wanted.root.absolute()))
    if wanted.keep_on_fail is not None:
        plan = replace(plan, keep_on_fail=wanted.keep_on_fail)
    return plan


async def _reused(wanted: Wanted) -> Reused:
    place = where(wanted.config, wanted.root)
    return await reuse(await Runs(place.root).all(place.repository, place.gate), wanted.reuse or "")


async def _others(ready: Ready) -> dict[str, RunPlace]:
    places = await Runs(Path(ready.plan.root)).all(ready.plan.repository, ready.plan.gate)
    return {place.run: place for place in places if place.run != ready.run}


async def _refuse_twin(ready: Ready, engine: Engine, clock: SystemClock) -> frozenset[str]:
    """The live twins that were allowed by --new, so that no reaping touches them. Raises LiveTwin."""
    others = await _others(ready)
    found = await twins(engine, clock, ready.plan, {run: place.open() for run, place in others.items()}, list(others))
    if found and not ready.wanted.new:
        raise refuse(found[0], ready.plan)
    for twin in found:
        say(f"run {twin.run} of the same version lives on beside this one (--new)")
    return frozenset(twin.run for twin in found)


async def _reap_stale(
    ready: Ready, engine: Engine, clock: SystemClock, twin_runs: frozenset[str]
) -> tuple[Remaining, ...]:
    plan = ready.plan
    runs = GateRuns(Runs(Path(plan.root)), plan.repository, plan.gate)
    scope = Scope(plan.repository, plan.gate, ref=plan.ref)
    spare = {ready.run, *twin_runs}
    report = await reap_stale(engine, clock, runs, scope, spare=spare, dry_run=False, budget=STALE)
    for workload in report.stopped:
        say(f"{workload.name} of run {workload.run}: stale, stopped")
    for held in report.held:
        who = f"{held.lease.command!r} (pid {held.lease.pid} on {held.lease.host})"
        say(f"run {held.run} is watched by {who}: left alone")
    for lease in report.kept:
        say(f"{lease.workload} of {lease.tag}: kept ({lease.why}), left alone")
    return report.remaining
