"""`gate prune`: remove run directories by leg, age or worth."""

from __future__ import annotations

import time
from typing import Annotated

import anyio
import typer

from gate.adapters.clock import SystemClock
from gate.commands.asking import ask
from gate.commands.durations import seconds
from gate.commands.identity import my_lease
from gate.commands.options import CONFIG, Config, DryRun, Json, Root, Yes
from gate.commands.telling import say, table, tell, tell_json
from gate.commands.where import Where, where
from gate.errors import EXIT_PASSED, EXIT_REMAINS, UsageError
from gate.machines.duration import spell
from gate.plan.size import rough_size
from gate.reap.prune import Found, Pruned, Wish, look, prune
from gate.reap.tree import Tree
from gate.rundir import holding
from gate.rundir.runs import RunPlace, Runs


def command(
    older_than: Annotated[
        str | None, typer.Option("--older-than", metavar="TIME", help="Only runs older than this, as 30d.")
    ] = None,
    invalid: Annotated[bool, typer.Option("--invalid", help="Only runs that measured nothing, or unreadable.")] = False,
    leg: Annotated[
        str | None, typer.Option("--leg", metavar="LEG", help="Only the directories of this leg (or glob).")
    ] = None,
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Only this run.")] = None,
    config: Config = CONFIG,
    root: Root = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Remove run directories. Refused: runs that are held, and runs whose workloads were not seen gone."""
    wish = Wish(None if older_than is None else seconds("--older-than", older_than), invalid, leg, run)
    if wish == Wish():
        raise UsageError("prune what?", hint="Say which: --older-than 30d, --invalid, --leg LEG or --run RUN.")
    return anyio.run(_prune, where(config, root), wish, yes, dry_run, json)


async def _prune(place: Where, wish: Wish, yes: bool, dry_run: bool, json: bool) -> int:
    found = await _look(place, wish)
    free = [(one, at) for one, at in found if not one.refused]
    if not json:
        _list([one for one, _ in found])
    if dry_run or not free:
        if json:
            tell_json([one for one, _ in found])
        elif not found:
            tell("Nothing to prune.")
        return EXIT_PASSED
    size = rough_size(sum(one.size for one, _ in free))
    ask(f"Remove {len(free)} of these, {size}?", yes=yes)
    done = [
        await prune(at.open(), one, Tree(place.root, at), SystemClock(), my_lease(holding.PERIOD)) for one, at in free
    ]
    return _told(done, [one for one, _ in free], json=json)


async def _look(place: Where, wish: Wish) -> list[tuple[Found, RunPlace]]:
    found: list[tuple[Found, RunPlace]] = []
    for at in await Runs(place.root).all(place.repository, place.gate):
        one = await look(at.open(), at.run, Tree(place.root, at), wish, time.time())
        if one is not None:
            found.append((one, at))
    return sorted(found, key=lambda each: -each[0].age)


def _list(found: list[Found]) -> None:
    rows = [("RUN", "AGE", "SIZE", "DECISION", "LEGS", "")]
    for one in found:
        legs = ", ".join(one.legs) or "all"
        rows.append((one.run, spell(one.age), rough_size(one.size), one.decision, legs, one.refused))
    table(rows)


def _told(done: list[Pruned], found: list[Found], *, json: bool) -> int:
    whole = {one.run for one in found if not one.legs}
    left = [one for one in done if one.left]
    if json:
        tell_json(done)
    else:
        runs = sum(one.gone for one in done)
        legs = sum(not one.left and one.run not in whole for one in done)
        what = f"{runs} run{'s' if runs != 1 else ''}" + (f", legs of {legs} more" if legs else "")
        tell(f"Removed {what}; {rough_size(sum(one.freed for one in done))} freed.")
    for one in left:
        for line in one.left:
            say(f"{one.run}: not removed: {line}")
    return EXIT_REMAINS if left else EXIT_PASSED
