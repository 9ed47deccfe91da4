"""`gate poll`: watch a run until every leg is judged, say so, stop what is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import anyio
import typer

from gate.commands import options
from gate.commands.closing import close
from gate.commands.durations import seconds
from gate.commands.identity import my_lease
from gate.commands.opening import engine_of
from gate.commands.telling import remaining, tell_json, unwatched
from gate.commands.where import where
from gate.contracts import Engine
from gate.poll.driver import poll
from gate.poll.ending import PollEnd
from gate.poll.given import Identity
from gate.poll.world import Show, Showing, open_world
from gate.rundir.formats import Attempt

Interval = Annotated[
    str | None,
    typer.Option("--interval", metavar="TIME", help="Time between two polls, as 30s, instead of gate.yaml's."),
]
Once = Annotated[bool, typer.Option("--once", help="One poll, then say whether it is decided (exit 5: not yet).")]
TakeOver = Annotated[bool, typer.Option("--take-over", help="Depose another poller of this run.")]
NoFailFast = Annotated[
    bool, typer.Option("--no-fail-fast", help="Go on after the first loss until every leg has its own verdict.")
]
Events = Annotated[Path | None, typer.Option("--events", metavar="FILE", help="Append every event as a line of JSON.")]
Plain = Annotated[bool, typer.Option("--plain", help="Plain lines, also on a terminal.")]


def command(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="The run, or the beginning of its id.")] = None,
    root: options.Root = None,
    config: options.Config = options.CONFIG,
    interval: Interval = None,
    once: Once = False,
    take_over: TakeOver = False,
    no_fail_fast: NoFailFast = False,
    events: Events = None,
    json: options.Json = False,
    plain: Plain = False,
) -> int:
    """Watch a run until every leg is judged, then stop what is not kept. Default: the CI's run, else the latest.

    Killed and started again, here or on any machine that sees the root, it goes on where it was.
    """
    show: Show = "stderr" if json else "plain" if plain else "auto"
    order = PollOrder(
        once=once,
        take_over=take_over,
        interval=None if interval is None else seconds("--interval", interval),
        fail_fast=False if no_fail_fast else None,
        showing=Showing(show, events),
    )

    async def main() -> PollEnd:
        place = await where(config, root).find(run)
        attempt = await place.open().latest_attempt()
        async with engine_of(attempt.plan) as engine:
            end = await watch(place.path, attempt, engine, order)
        if not json:
            await close(place.path, end)
        return end

    return finish(anyio.run(main), as_json=json)


@dataclass(frozen=True, slots=True)
class PollOrder:
    """How to poll; `interval` (seconds) and `fail_fast` override the plan's."""

    once: bool = False
    take_over: bool = False
    interval: float | None = None
    fail_fast: bool | None = None
    showing: Showing = field(default=Showing())


async def watch(run_dir: Path, attempt: Attempt, engine: Engine, order: PollOrder) -> PollEnd:
    """Poll an attempt in the real world, with this process's signals. Raises as `gate.poll.driver.poll` does."""
    mine = my_lease(1.0)
    me = Identity(mine.holder, mine.host, mine.pid, mine.command)
    with unwatched(attempt.run):
        async with open_world(run_dir, attempt, engine, me, order.showing) as world:
            return await poll(
                world,
                attempt,
                once=order.once,
                takeover=order.take_over,
                interval=order.interval,
                fail_fast=order.fail_fast,
            )


def finish(end: PollEnd, *, as_json: bool) -> int:
    """Print how the poll ended, and return its exit code. What may still run is named on stderr, always."""
    if as_json:
        tell_json(end)
    remaining(end.remaining)
    return end.exit_code
