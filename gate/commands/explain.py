"""`gate explain LEG`: how a leg's verdict came about."""

from __future__ import annotations

from typing import Annotated

import anyio
import typer
from rich.text import Text

from gate.commands.leaks import leaks
from gate.commands.options import CONFIG, Config, Json, Root, RunOption
from gate.commands.printing import show
from gate.commands.selecting import attempt_of, no_leg
from gate.commands.standing import Standing, standing_of
from gate.commands.telling import plain, tell_json
from gate.commands.where import Where, where
from gate.documents import Json as JsonValue
from gate.machines.gate_sofar import so_far
from gate.machines.rows import row_json, rows
from gate.report.explain import explain_json, explain_text, undecided_json, undecided_text
from gate.rundir.formats import Attempt

Number = Annotated[
    int | None,
    typer.Option("--attempt", metavar="N", help="The attempt; default: the latest. A first failure is kept."),
]


def command(
    leg: Annotated[str, typer.Argument(metavar="LEG", help="The leg.")],
    run: RunOption = None,
    attempt: Number = None,
    config: Config = CONFIG,
    root: Root = None,
    json: Json = False,
) -> None:
    """Show a leg's verdict as a derivation: each rule, what was observed, from which file or call, how old, its hash,
    and what decided. For a leg that is not judged yet: what has been seen so far."""
    anyio.run(_explain, where(config, root), run, attempt, leg, json)


async def _explain(place: Where, run_id: str | None, number: int | None, leg: str, json: bool) -> None:
    found_run = await place.find(run_id)
    run = found_run.open()
    attempt = await attempt_of(run, number)
    _check(attempt, leg)
    found = await standing_of(run, attempt)
    verdict = found.verdicts.get(leg)
    text, body = _undecided(found, leg) if verdict is None else (explain_text(verdict), explain_json(verdict))
    hits = (await leaks(found_run.path, attempt, [leg])).get(leg, ())
    if json:
        tell_json({**body, "secret_hits": list(hits)})
        return
    for hit in hits:
        text.append(f"secrets   in {plain(hit)}\n", "yellow")
    show(text)


def _check(attempt: Attempt, leg: str) -> None:
    known = [each.id for each in attempt.plan.legs]
    if leg in known:
        return
    raise no_leg(attempt, leg)


def _undecided(found: Standing, leg: str) -> tuple[Text, JsonValue]:
    row = next(row for row in rows(found.state, found.now) if row.leg == leg)
    words = found.state.legs[leg].reading.words
    rules = so_far(found.state, leg, found.now)
    observed = found.now.wall if found.observed else None
    text = undecided_text(leg, row.phase, words, rules, observed)
    return text, {**undecided_json(leg, row.phase, words, rules, observed), "row": row_json(row)}
