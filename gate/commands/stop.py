"""`gate stop [LEG]`: stop a leg's workload, or all of a run's, and see them gone."""

from __future__ import annotations

from typing import Annotated

import anyio
import typer

from gate.adapters.clock import SystemClock
from gate.commands import telling
from gate.commands.asking import ask
from gate.commands.opening import engine_of
from gate.commands.options import CONFIG, Config, DryRun, Json, Root, RunOption, Yes
from gate.commands.selecting import choose
from gate.commands.telling import tell, tell_json
from gate.commands.where import Where, where
from gate.errors import EXIT_PASSED, EXIT_REMAINS
from gate.reap.settle import settle
from gate.rundir import layout
from gate.rundir.formats import Attempt
from gate.rundir.notes import may_live
from gate.rundir.run import Run

BUDGET = 120.0


def command(
    leg: Annotated[
        str | None, typer.Argument(metavar="LEG", help="Only this leg's workload; default: all of the run.")
    ] = None,
    run: RunOption = None,
    config: Config = CONFIG,
    root: Root = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Stop a leg's workload, or all of the run's, kept ones too, and wait until each is seen gone.

    A leg that has no verdict yet becomes ERROR. Exit code 6: something may still run.
    """
    return anyio.run(_stop, where(config, root), run, leg, yes, dry_run, json)


async def _stop(place: Where, run_id: str | None, leg: str | None, yes: bool, dry_run: bool, json: bool) -> int:
    run = (await place.find(run_id)).open()
    attempts = await run.attempts()
    attempt = await run.latest_attempt()
    only = None if leg is None else await choose(run, attempt, leg)
    meant = {f"{only.tag}/{only.workload}"} if only else None
    live = await _not_gone(run, attempts, meant)
    if json and dry_run:
        tell_json(sorted(live))
        return EXIT_PASSED
    if not live:
        tell(f"run {attempt.run}: nothing of it is left to stop.")
        return EXIT_PASSED
    named = ", ".join(sorted(key.partition("/")[2] for key in live))
    if dry_run:
        tell(f"run {attempt.run}: would stop {named}")
        return EXIT_PASSED
    undecided = "" if await run.decision(attempt.tag) else " It is not decided: its legs become ERROR."
    ask(f"Stop {named} of run {attempt.run}?{undecided}", yes=yes)
    return await _carry_out(run, attempts, live, meant, json=json)


async def _not_gone(run: Run, attempts: tuple[Attempt, ...], meant: set[str] | None) -> set[str]:
    """`TAG/ID` of the workloads that were not seen gone."""
    found: set[str] = set()
    for attempt in attempts:
        for entry in (await run.entries(attempt.tag)).values():
            if may_live(entry) and (meant is None or f"{entry.tag}/{entry.id}" in meant):
                found.add(f"{entry.tag}/{entry.id}")
    return found


async def _carry_out(
    run: Run, attempts: tuple[Attempt, ...], live: set[str], meant: set[str] | None, *, json: bool
) -> int:
    for key in live:
        tag, _, workload = key.partition("/")
        await run.store.remove(layout.kept(tag, workload))  # stopping is asked for: no lease stands against it
    tags = sorted({key.partition("/")[0] for key in live})
    others: set[str] = set()
    if meant is not None:
        everything = await _not_gone(run, attempts, None)
        others = everything - meant
    async with engine_of(attempts[-1].plan) as engine:
        left = await settle(run.store, engine, SystemClock(), tags, kept=others, budget=BUDGET)
    if json:
        tell_json({"stopped": sorted(live), "remaining": list(left)})
    else:
        tell(f"{len(live) - len(left)} stopped and seen gone.")
    telling.remaining(left)
    return EXIT_REMAINS if left else EXIT_PASSED
