"""`gate plan`: everything resolved and shown, nothing done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.console import Console

from gate import documents
from gate.commands.options import CONFIG, Config, Json, Legs, ScopeOption, Version
from gate.engines import KINDS, capabilities_of, check_fit
from gate.plan.capabilities import check_capabilities
from gate.plan.ladder_view import picture, table
from gate.plan.plan_view import criteria_table, headline, legs_table, prompts
from gate.plan.resolve import Choice, Resolved, resolve_unchecked
from gate.plan.workflow import job_rungs

Workflow = Annotated[
    Optional[Path],  # noqa: UP045 - typer reads it at run time
    typer.Option("--workflow", metavar="FILE", help="A GitHub workflow whose timeout-minutes must fit the ladder too."),
]
Prompts = Annotated[bool, typer.Option("--prompts", help="Show the rendered prompts too.")]


def command(
    config: Config = CONFIG,
    legs: Legs = None,
    scope: ScopeOption = None,
    version: Version = None,
    workflow: Workflow = None,
    show_prompts: Prompts = False,
    as_json: Json = False,
) -> None:
    """Show what would run: legs, prompts, artifact, the ladder of deadlines. Nothing is launched or written.

    Exits 2 when a deadline does not fit, or the engine cannot do what the plan asks.
    """
    jobs, notes = job_rungs(workflow) if workflow else ([], [])
    resolved = resolve_unchecked(config, Choice(tuple(legs or ()), scope, version, jobs=tuple(jobs)))
    kind = resolved.plan.engine.kind
    if kind not in KINDS:
        notes.append(f"this gate cannot run on the {kind} engine: what the plan asks of it was not checked")
    remarks = (*resolved.notes, *notes)
    if as_json:
        shown = {
            "plan": json.loads(documents.dump(resolved.plan)),
            "ladder": resolved.ladder.as_json(),
            "notes": list(remarks),
        }
        typer.echo(json.dumps(shown, indent=1, ensure_ascii=False))
    else:
        _show(resolved, remarks, with_prompts=show_prompts)
    resolved.ladder.check()
    if kind in KINDS:
        known = {one: capabilities_of(one) for one in KINDS}
        check_capabilities(resolved.plan, known[kind], known)
        check_fit(resolved.plan)


def _show(resolved: Resolved, notes: tuple[str, ...], *, with_prompts: bool) -> None:
    console = Console(markup=False, highlight=False, emoji=False)
    plan = resolved.plan
    console.print(headline(plan), soft_wrap=True)
    console.print()
    console.print(legs_table(plan))
    console.print()
    console.print(criteria_table(plan))
    console.print()
    console.print("ladder (* set by hand)", style="bold")
    console.print(table(resolved.ladder))
    console.print()
    console.print(picture(resolved.ladder, console.width), soft_wrap=True)
    for note in notes:
        console.print(f"note: {note}", soft_wrap=True)
    for heading, text in prompts(plan) if with_prompts else ():
        console.print()
        console.rule(heading)
        console.print(text, soft_wrap=True)
