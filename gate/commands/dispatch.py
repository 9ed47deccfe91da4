"""`gate dispatch`: make or continue a run."""

from __future__ import annotations

import anyio

from gate.commands import telling
from gate.commands.cutoff import Interrupted, dispatch_or_cut, leave
from gate.commands.dispatching import Ready, Wanted, opened, prepare
from gate.commands.options import CONFIG, Config, Fresh, Json, Legs, New, NewRun, Reuse, Root, ScopeOption, Version
from gate.commands.telling import table, tell, tell_json
from gate.dispatch.driver import Dispatched
from gate.errors import EXIT_PASSED, EXIT_REMAINS
from gate.rundir.notes import create_problem


def command(
    config: Config = CONFIG,
    run: NewRun = None,
    legs: Legs = None,
    scope: ScopeOption = None,
    version: Version = None,
    reuse: Reuse = None,
    root: Root = None,
    fresh: Fresh = False,
    new: New = False,
    json: Json = False,
) -> int:
    """Make or continue a run: stage and verify what its workloads need, then launch them.

    The run's id is --run, else the CI run's, else a new one, which is printed. Killed anywhere and run again with the
    same id it goes on. Exit code 6: launched, but something older could not be stopped.
    """
    wanted = Wanted(config, tuple(legs or ()), scope, version, reuse, root, run, new, fresh)
    return anyio.run(_dispatch, wanted, json)


async def _dispatch(wanted: Wanted, json: bool) -> int:
    ready = await prepare(wanted)
    async with opened(ready) as (engine, secrets):
        done = await dispatch_or_cut(ready, engine, secrets)
    if isinstance(done, Interrupted):
        await leave(ready)
        return done.exit_code
    if json:
        _tell_json(ready, done)
    else:
        _tell(ready, done)
    telling.remaining(done.remaining)
    return EXIT_REMAINS if done.remaining else EXIT_PASSED


def _tell_json(ready: Ready, done: Dispatched) -> None:
    attempt = done.attempt
    tell_json(
        {
            "run": attempt.run,
            "attempt": attempt.attempt,
            "tag": attempt.tag,
            "run_dir": str(ready.path),
            "continued": done.continued,
            "carried": attempt.carried,
            "adopted": attempt.adopted,
            "workloads": list(done.entries.values()),
            "decision": done.decision,
            "remaining": list(done.remaining),
        }
    )


def _tell(ready: Ready, done: Dispatched) -> None:
    attempt = done.attempt
    tell(f"run {attempt.run}, attempt {attempt.attempt}, tag {attempt.tag}, version {attempt.plan.version}")
    if done.decision is not None:
        tell(f"Decided already: {done.decision.word}. Another attempt: gate retry {attempt.run}")
        return
    rows = [("WORKLOAD", "LEGS", "ID")]
    for entry in done.entries.values():
        problem, detail = create_problem(entry)
        rows.append((entry.id, ", ".join(entry.legs), f"{problem}: {detail}" if problem else entry.engine_id or ""))
    rows += [(workload, "", f"adopted from {tag}") for workload, tag in attempt.adopted.items()]
    table(rows)
    for leg, tag in attempt.carried.items():
        tell(f"{leg}: passed under {tag}, carried")
    tell(f"Next: gate poll {attempt.run}")
