"""`gate keep LEG --for 2h`: keep a leg's workload for a look inside."""

from __future__ import annotations

import time
from typing import Annotated

import anyio
import typer

from gate.commands.durations import seconds
from gate.commands.identity import me
from gate.commands.options import CONFIG, Config, Json, Root, RunOption
from gate.commands.selecting import Chosen, choose
from gate.commands.telling import moment, tell, tell_json
from gate.commands.where import Where, where
from gate.documents import dump
from gate.errors import UsageError
from gate.rundir import layout
from gate.rundir.formats import Attempt, Kept


def command(
    leg: Annotated[str, typer.Argument(metavar="LEG", help="The leg.")],
    for_: Annotated[str, typer.Option("--for", metavar="TIME", help="How long from now, as 2h.")],
    run: RunOption = None,
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="Shown to others who wonder.")] = "a look inside",
    config: Config = CONFIG,
    root: Root = None,
    json: Json = False,
) -> None:
    """Keep a leg's workload alive until then, whatever becomes of the leg; never past the workload's time-out."""
    anyio.run(_keep, where(config, root), run, leg, seconds("--for", for_), why, json)


async def _keep(place: Where, run_id: str | None, leg: str, length: float, why: str, json: bool) -> None:
    run = (await place.find(run_id)).open()
    attempt = await run.latest_attempt()
    chosen = await choose(run, attempt, leg)
    asked = time.time() + length
    lease = Kept(chosen.workload, chosen.tag, _until(attempt, chosen, length), why, me())
    await run.store.replace(layout.kept(lease.tag, lease.workload), dump(lease))
    if json:
        tell_json(lease)
        return
    short = lease.until < asked - 1
    tell(
        f"{leg}: its workload {lease.workload} is kept until {moment(lease.until)}{', its time-out' if short else ''}."
    )
    tell(f"Stop it earlier: gate stop {leg} --run {attempt.run}")


def _until(attempt: Attempt, chosen: Chosen, length: float) -> float:
    """Wall time of the end. The engine ends the workload at its time-out in any case, from its start on."""
    entry = chosen.entry
    if length <= 0:
        raise UsageError("--for: expected more than 0", hint="`gate stop` stops it now.")
    if entry is None or entry.stage == "intended":
        raise UsageError(f"{chosen.leg}: its workload {chosen.workload} was never created")
    if entry.stage == "seen_gone":
        raise UsageError(f"{chosen.leg}: its workload {chosen.workload} is gone", hint=f"`gate retry {attempt.run}`")
    timeout = next(w.timeout for w in attempt.plan.workloads if w.id == chosen.workload)
    return min(time.time() + length, entry.at + timeout + attempt.plan.poll.queue)
