"""`gate status [RUN]`: a run's legs, workloads and decision, from its directory alone."""

from __future__ import annotations

import io
import time
from typing import Annotated

import anyio
import typer
from rich.console import Console

from gate.commands.options import CONFIG, Config, Json, Root
from gate.commands.standing import Standing, standing_of
from gate.commands.telling import tell, tell_json
from gate.commands.where import Where, where
from gate.documents import Json as JsonValue
from gate.documents import encode
from gate.machines.rows import row_json, rows
from gate.report.events import heading_of
from gate.report.status import Status, status_text, word_of

WIDEST = 160


def command(
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="The run; default: the CI run's, else the latest.")
    ] = None,
    config: Config = CONFIG,
    root: Root = None,
    json: Json = False,
) -> None:
    """Show a run's legs, workloads and decision, as last observed. Asks no engine and changes nothing."""
    anyio.run(_status, where(config, root), run, json)


async def _status(place: Where, run_id: str | None, json: bool) -> None:
    run = (await place.find(run_id)).open()
    found = await standing_of(run, await run.latest_attempt())
    status = _status_of(found)
    if json:
        tell_json(_json(status, found))
        return
    console = Console(markup=False, highlight=False, emoji=False)
    if console.is_terminal:
        console.print(status_text(status, console.width))
        return
    # Nobody is harmed by a long line in a pipe, but what is cut off there is lost.
    page = Console(file=io.StringIO(), markup=False, highlight=False, emoji=False, width=WIDEST)
    with page.capture() as drawn:
        page.print(status_text(status, WIDEST))
    for line in drawn.get().splitlines():
        tell(line.rstrip())


def _status_of(found: Standing) -> Status:
    return Status(
        heading=heading_of(found.attempt),
        rows=rows(found.state, found.now),
        elapsed=found.decision.elapsed if found.decision is not None else found.now.boot,
        decision=found.decision,
        entries=found.entries,
        kept=found.kept,
        poller=found.poller,
        observed=found.now.wall if found.observed else None,
        now=time.time(),
    )


def _json(status: Status, found: Standing) -> dict[str, JsonValue]:
    return {
        "run": status.heading.run,
        "gate": status.heading.gate,
        "version": status.heading.version,
        "ref": status.heading.ref,
        "commit": status.heading.commit,
        "scope": status.heading.scope,
        "attempt": status.heading.attempt,
        "tag": status.heading.tag,
        "word": word_of(status),
        "decision": encode(status.decision),
        "elapsed": status.elapsed,
        "observed": status.observed,
        "legs": [{**row_json(row), "sentence": _sentence(found, row.leg)} for row in status.rows],
        "workloads": encode(status.entries),
        "kept": encode(status.kept),
        "poller": encode(status.poller),
    }


def _sentence(found: Standing, leg: str) -> str | None:
    verdict = found.verdicts.get(leg)
    return None if verdict is None else verdict.sentence
