"""`gate scope`: what a change costs, before anything is claimed for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from gate.commands.options import CONFIG, Config, Json, Legs, ScopeOption
from gate.commands.telling import say, tell, tell_json
from gate.errors import ScopeError
from gate.github.outputs import write_outputs
from gate.plan.load import load
from gate.scope.costs import costs
from gate.scope.event import occasion_of
from gate.scope.history import History
from gate.scope.model import Scoped
from gate.scope.span import Asked, Occasion, Proposed, Pushed

Base = Annotated[
    str | None,
    typer.Option("--base", metavar="COMMIT", help="Compare with this. Default: as the event says, else origin's main."),
]
Head = Annotated[str | None, typer.Option("--head", metavar="COMMIT", help="The change's end. Default: the event's.")]


def command(
    config: Config = CONFIG,
    base: Base = None,
    head: Head = None,
    scope: ScopeOption = None,
    legs: Legs = None,
    json: Json = False,
) -> None:
    """Say what a change costs: a new version every leg, a change of the gate itself the fast ones, else none.

    In a GitHub workflow the event says which commits are compared; the outputs are scope, legs, reason and version.
    With --scope or --legs, and where somebody started the workflow by hand, it is what was asked for.
    """
    gate = load(config)
    history = History.of(gate.folder)
    found = costs(gate, history, _occasion(history, base, head), scope, legs or ())
    if json:
        tell_json(found)
    else:
        _tell(found, len(gate.legs), config)
    written = write_outputs(
        {
            "scope": found.scope,
            "legs": ",".join(found.legs),
            "reason": found.reason,
            "version": found.version or "",
        },
        os.environ,
    )
    if not written and not json:
        say("not in a GitHub workflow: no outputs were written")


def _occasion(history: History, base: str | None, head: str | None) -> Occasion:
    """What the options say, else the event, else what HEAD has that origin's default branch has not."""
    event = occasion_of(os.environ) if base is None else None
    match event:
        case None:
            start = base or history.default_branch()
            if start is None:
                hint = "Name a commit to compare with: --base."
                raise ScopeError("there is no event, and origin has no default branch here", hint=hint)
            return Proposed(start, head or "HEAD")
        case Proposed():
            return event if head is None else Proposed(event.base, head)
        case Pushed():
            return event if head is None else Pushed(event.before, head, event.branch)
        case Asked():
            return event if head is None else Asked(head, event.why)


def _tell(found: Scoped, every: int, config: Path) -> None:
    legs = {"full": f"every leg ({every})", "none": "no leg"}.get(found.scope, f"{len(found.legs)} of {every} legs")
    tell(f"scope     {found.scope}: {legs}")
    tell(f"because   {found.reason}")
    tell(f"version   {found.version or 'not known'}")
    if found.head is not None:
        tell(f"compared  {found.head[:10]} with {found.base[:10] if found.base else 'nothing'} ({found.since})")
    where = "" if config == CONFIG else f" -c {config}"
    if found.scope == "none":
        tell(f"Next: nothing to decide. What earlier runs left: gate reap --stale{where}")
    elif found.scope == "subset":
        tell(f"Next: gate run{where} --legs {','.join(found.legs)}")
    else:
        tell(f"Next: gate run{where} --scope {found.scope}")
