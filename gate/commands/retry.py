"""`gate retry RUN`: another attempt of a run, with only what did not pass."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import anyio
import typer

from gate.commands import options, telling
from gate.commands.cutoff import Interrupted, dispatch_or_cut, leave
from gate.commands.dispatching import Ready, Wanted, opened, prepare
from gate.commands.durations import seconds
from gate.commands.poll import Events, Interval, NoFailFast, Plain, PollOrder
from gate.commands.run import KeepOnFail, dispatch_and_poll, poll_order, show
from gate.commands.telling import tell
from gate.commands.where import where
from gate.errors import EXIT_PASSED, EXIT_REMAINS, UsageError
from gate.plan.model import ArtifactPlan, Plan
from gate.poll.world import Showing
from gate.rundir import layout
from gate.rundir.runs import RunPlace

Detach = Annotated[bool, typer.Option("--detach", help="Dispatch only; poll it later with `gate poll RUN`.")]


def command(
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="The run; default: the CI's, else the latest.")
    ] = None,
    config: options.Config = options.CONFIG,
    root: options.Root = None,
    fresh: options.Fresh = False,
    detach: Detach = False,
    keep_on_fail: KeepOnFail = None,
    interval: Interval = None,
    no_fail_fast: NoFailFast = False,
    events: Events = None,
    plain: Plain = False,
    json: options.Json = False,
) -> int:
    """Another attempt of a run, on the artifact that it staged: legs that passed with identical digests are carried,
    workloads that still live are adopted, the others are launched anew; then poll it.

    gate.yaml and its prompts are read as they are now.
    """
    keep = 0.0 if keep_on_fail is None else seconds("--keep-on-fail", keep_on_fail)
    order = poll_order(interval=interval, no_fail_fast=no_fail_fast, events=Showing(show(json, plain), events))
    return anyio.run(_retry, run, config, root, fresh, None if detach else order, keep, json)


async def _retry(
    run: str | None, config: Path, root: Path | None, fresh: bool, order: PollOrder | None, keep: float, json: bool
) -> int:
    place = await where(config, root).find(run)
    attempt = await place.open().latest_attempt()
    plan = attempt.plan
    wanted = Wanted(
        config=_config(config, plan),
        legs=tuple(leg.id for leg in plan.legs) if plan.scope == "subset" else (),
        scope=None if plan.scope == "subset" else plan.scope,
        version=plan.version,
        artifact=_artifact(place, plan),
        root=Path(plan.root),
        run=place.run,
        fresh=fresh,
        again=True,
        new=True,
        polled_here=order is not None,
        keep_on_fail=None if order is None else keep,
    )
    ready = await prepare(wanted)
    if (ready.plan.repository, ready.plan.gate) != (plan.repository, plan.gate):
        raise UsageError(
            f"run {place.run} is of gate {plan.gate} of {plan.repository}, and {wanted.config} describes another",
            hint="Name its gate.yaml with --config.",
        )
    if order is not None:
        return await dispatch_and_poll(ready, order, json=json)
    return await _detached(ready)


async def _detached(ready: Ready) -> int:
    async with opened(ready) as (engine, secrets):
        done = await dispatch_or_cut(ready, engine, secrets)
    if isinstance(done, Interrupted):
        await leave(ready)
        return done.exit_code
    attempt = done.attempt
    tell(f"run {attempt.run}, attempt {attempt.attempt}, tag {attempt.tag}")
    tell(f"{len(attempt.carried)} carried, {len(attempt.adopted)} adopted, {len(attempt.launched)} launched")
    tell(f"Next: gate poll {attempt.run}")
    telling.remaining(done.remaining)
    return EXIT_REMAINS if done.remaining else EXIT_PASSED


def _config(config: Path, plan: Plan) -> Path:
    """The gate.yaml that was asked for, else the one the run came from."""
    if config != options.CONFIG or config.exists() or not Path(plan.config).exists():
        return config
    return Path(plan.config)


def _artifact(place: RunPlace, plan: Plan) -> ArtifactPlan:
    """A run decides one artifact: the one that it staged, whatever was built since."""
    if plan.artifact.kind != "file":
        return plan.artifact
    return replace(plan.artifact, source=str(place.path / layout.STAGED_ARTIFACT / plan.artifact.name))
