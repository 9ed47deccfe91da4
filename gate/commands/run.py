"""`gate run`: plan, dispatch and poll in one process."""

from __future__ import annotations

from typing import Annotated

import anyio
import typer

from gate.commands import options, telling
from gate.commands.closing import close
from gate.commands.cutoff import Interrupted, clean, dispatch_or_cut
from gate.commands.dispatching import Ready, Wanted, opened, prepare
from gate.commands.durations import seconds
from gate.commands.poll import Events, Interval, NoFailFast, Plain, PollOrder, finish, watch
from gate.poll.ending import PollEnd
from gate.poll.world import Show, Showing

KeepOnFail = Annotated[
    str | None,
    typer.Option(
        "--keep-on-fail",
        metavar="TIME",
        help="Keep workloads of failed legs this long, as 2h. Default here: not at all.",
    ),
]


def command(
    config: options.Config = options.CONFIG,
    run: options.NewRun = None,
    legs: options.Legs = None,
    scope: options.ScopeOption = None,
    version: options.Version = None,
    reuse: options.Reuse = None,
    root: options.Root = None,
    fresh: options.Fresh = False,
    new: options.New = False,
    keep_on_fail: KeepOnFail = None,
    interval: Interval = None,
    no_fail_fast: NoFailFast = False,
    events: Events = None,
    plain: Plain = False,
    json: options.Json = False,
) -> int:
    """Plan, dispatch and poll in one go: exit code 0 passed, 1 a blocking leg failed, 3 not measured.

    Ctrl-C stops what was launched. Killed and run again with the same run id (in CI: by itself) it goes on.
    """
    wanted = Wanted(
        config=config,
        legs=tuple(legs or ()),
        scope=scope,
        version=version,
        reuse=reuse,
        root=root,
        run=run,
        new=new,
        fresh=fresh,
        polled_here=True,
        keep_on_fail=0.0 if keep_on_fail is None else seconds("--keep-on-fail", keep_on_fail),
    )
    order = poll_order(interval=interval, no_fail_fast=no_fail_fast, events=Showing(show(json, plain), events))
    return anyio.run(_run, wanted, order, json)


async def _run(wanted: Wanted, order: PollOrder, json: bool) -> int:
    return await dispatch_and_poll(await prepare(wanted), order, json=json)


async def dispatch_and_poll(ready: Ready, order: PollOrder, *, json: bool) -> int:
    """Both, with one engine. The exit code is poll's; what could not be stopped before is named."""
    async with opened(ready) as (engine, secrets):
        done = await dispatch_or_cut(ready, engine, secrets)
        if isinstance(done, Interrupted):
            await clean(ready, engine, done)
            return done.exit_code
        telling.remaining(done.remaining)
        end: PollEnd = await watch(ready.path, done.attempt, engine, order)
    if not json:
        await close(ready.path, end)
    return finish(end, as_json=json)


def poll_order(*, interval: str | None, no_fail_fast: bool, events: Showing) -> PollOrder:
    """The order to poll from the options that `run` and `retry` share with `poll`."""
    return PollOrder(
        interval=None if interval is None else seconds("--interval", interval),
        fail_fast=False if no_fail_fast else None,
        showing=events,
    )


def show(json: bool, plain: bool) -> Show:
    """Where the board or its lines go."""
    return "stderr" if json else "plain" if plain else "auto"
