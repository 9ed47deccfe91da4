"""`gate reap`: stop what a run, or older runs, left behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import anyio
import typer

from gate import places
from gate.adapters.clock import SystemClock
from gate.commands import telling
from gate.commands.gateruns import GateRuns
from gate.commands.opening import engine_of
from gate.commands.options import CONFIG, Config, DryRun, Json, Root, RunOption
from gate.commands.telling import moment, say, tell, tell_json
from gate.commands.where import Where, needs_gate, where
from gate.contracts import Scope
from gate.errors import EXIT_PASSED, EXIT_REMAINS, DocumentError, GateError, RunNotFound, StoreError, UsageError
from gate.plan.model import ArtifactPlan, Plan
from gate.plan.resolve import Choice, resolve_unchecked
from gate.reap.report import ReapReport
from gate.reap.run import name_orphans, reap_orphans, reap_run
from gate.reap.stale import reap_stale
from gate.rundir.cancels import FileCancelNotes
from gate.rundir.files import FileStore
from gate.rundir.runs import Runs

BUDGET = 120.0


def command(
    run: RunOption = None,
    stale: Annotated[bool, typer.Option("--stale", help="Older runs of the same gate, repository and ref.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="Kept workloads too.")] = False,
    config: Config = CONFIG,
    root: Root = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Stop what a run (--run) or older runs (--stale) left behind, and wait until each workload is seen gone.

    Leases of kept workloads are honoured. A run that a live process watches is named and left alone. Exit code 6:
    something may still run; it is listed with how to remove it.
    """
    if stale and all_:
        raise UsageError("--stale and --all do not go together", hint="`--run RUN --all` takes one run whole.")
    place = where(config, root)
    if stale:
        report = anyio.run(_stale, place, config, run, dry_run)
    else:
        report = anyio.run(_run, place, config, run, all_, dry_run)
    if json:
        tell_json(report)
    else:
        _tell(report, dry_run=dry_run)
    telling.remaining(report.remaining)
    return EXIT_REMAINS if report.remaining else EXIT_PASSED


async def _run(place: Where, config: Path, run: str | None, all_: bool, dry_run: bool) -> ReapReport:
    clock = SystemClock()
    try:
        found = await place.find(run)
    except RunNotFound:
        if run is None or not all_ or place.gate is None:
            raise
        plan = _gate_alone(config)
        async with engine_of(plan) as engine:
            scope = Scope(plan.repository, plan.gate)
            return await reap_orphans(engine, clock, scope, run, dry_run=dry_run, budget=BUDGET)
    try:
        attempt = await found.open().latest_attempt()
        notes = FileCancelNotes(places.cancel_notes())
        async with engine_of(attempt.plan) as engine:
            store = FileStore(found.path)
            return await reap_run(store, engine, clock, notes, all_=all_, dry_run=dry_run, budget=BUDGET)
    except (StoreError, DocumentError, RunNotFound) as error:
        report = await _damaged(place, config, found.run, error, all_=all_, dry_run=dry_run)
        if report == ReapReport():
            raise
        return report


async def _damaged(place: Where, config: Path, run: str, why: GateError, *, all_: bool, dry_run: bool) -> ReapReport:
    """What the engine knows of a run whose own records cannot be read: named, and stopped where all is to go."""
    if place.gate is None:
        return ReapReport()
    plan = _gate_alone(config)
    async with engine_of(plan) as engine:
        scope = Scope(plan.repository, plan.gate)
        if all_:
            return await reap_orphans(engine, SystemClock(), scope, run, dry_run=dry_run, budget=BUDGET)
        return await name_orphans(engine, scope, run, f"its run directory cannot be read: {why.message}")


async def _stale(place: Where, config: Path, run: str | None, dry_run: bool) -> ReapReport:
    repository, gate, ref = needs_gate(place)
    runs = Runs(place.root)
    spare = await _newest(place, runs, run)
    async with engine_of(_gate_alone(config)) as engine:
        scope = Scope(repository, gate, ref=ref)
        known = GateRuns(runs, repository, gate)
        return await reap_stale(engine, SystemClock(), known, scope, spare=spare, dry_run=dry_run, budget=BUDGET)


async def _newest(place: Where, runs: Runs, run: str | None) -> set[str]:
    """The run that the others are older than: the one given, the CI's, else the latest while it is undecided."""
    named = run or os.environ.get("GITHUB_RUN_ID")
    if named:
        return {named}
    try:
        latest = await runs.latest(place.repository, place.gate)
    except RunNotFound:
        return set()
    try:
        attempt = await latest.open().latest_attempt()
        return set() if await latest.open().decision(attempt.tag) else {latest.run}
    except (StoreError, DocumentError, RunNotFound):
        return set()  # nothing of a run that cannot be read is stopped: what lives of it is named


def _gate_alone(config: Path) -> Plan:
    """The plan of no leg at all: what names the gate and its engine, and needs no artifact."""
    nothing = ArtifactPlan("none", "", "", "", 0)
    return resolve_unchecked(config, Choice(scope="none", version="0", artifact=nothing)).plan


def _tell(report: ReapReport, *, dry_run: bool) -> None:
    left = {one.engine_id for one in report.remaining}
    for workload in report.stopped:
        if dry_run or workload.id not in left:
            tell(f"{'would stop' if dry_run else 'stopped'}  {workload.name}  {workload.id}  run {workload.run}")
    for lease in report.kept:
        tell(f"kept     {lease.workload}  until {moment(lease.until)}  ({lease.why}, {lease.holder})")
    for held in report.held:
        who = f"{held.lease.command!r}, pid {held.lease.pid} on {held.lease.host}"
        say(f"run {held.run} is watched by {who}: left alone ({', '.join(held.workloads)})")
    if not (report.stopped or report.kept or report.held or report.remaining):
        tell("Nothing is left to reap.")
