"""`gate simulate`: the whole gate played through in virtual time, with faults, before anybody spends a GPU on it."""

from __future__ import annotations

import json as jsonlib
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.text import Text

from gate import documents
from gate.commands import options
from gate.contracts import Reporter
from gate.errors import (
    EXIT_PASSED,
    EXIT_REMAINS,
    ArtifactError,
    ConfigError,
    DocumentError,
    UsageError,
)
from gate.plan.model import ArtifactPlan, Plan
from gate.plan.resolve import Choice, Resolved, resolve
from gate.report.events import heading_of
from gate.report.lines import PlainLines
from gate.rundir.formats import Attempt
from gate.simulate.menu import MENU
from gate.simulate.outcome import as_json
from gate.simulate.play import play
from gate.simulate.played import Played
from gate.simulate.scenario import Scenario
from gate.simulate.scenario_file import check_legs, read_scenario
from gate.simulate.scenario_text import parse_fault
from gate.simulate.view import show

STAND_IN = ArtifactPlan("file", "simulated", "simulated-0.0.0-py3-none-any.whl", "sha256:" + "0" * 64, 0)
"""For a gate whose artifact is not built yet."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is played."""

    plan: Plan
    scenario: Scenario
    seed: int


Faults = Annotated[
    list[str] | None,
    typer.Option("--fault", metavar="NAME[@TIME][:key=value,…]", help="Something that goes wrong; may be repeated."),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Another seed, other durations. Default: 0.")]
Rate = Annotated[
    float | None, typer.Option("--rate", metavar="R", help="Watch it: R seconds of the gate in one of yours, as 600.")
]


def command(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[GATE.YAML]", help="The gate's file (default gate.yaml), or a campaign's."),
    ] = None,
    scenario: Annotated[
        Path | None, typer.Option("--scenario", metavar="FILE", help="The world around it, and what goes wrong.")
    ] = None,
    fault: Faults = None,
    legs: options.Legs = None,
    scope: options.ScopeOption = None,
    version: options.Version = None,
    seed: Seed = None,
    rate: Rate = None,
    html: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the picture as one page.")] = None,
    menu: Annotated[bool, typer.Option("--menu", help="List what can go wrong.")] = False,
    json: options.Json = False,
) -> int:
    """Play the gate through in virtual time: who queues, sets up, runs and is judged when, and which deadline is close.

    Nothing is launched, and no network, GPU, secret or artifact is needed. Exit code 0: it passed; 6: it did not.
    """
    if menu:
        _menu()
        return EXIT_PASSED
    wanted = _wanted(file, Choice(tuple(legs or ()), scope, version))
    world = read_scenario(scenario) if scenario is not None else wanted.scenario
    world = replace(world, faults=(*world.faults, *map(parse_fault, fault or ())))
    check_legs(world, wanted.plan)
    wanted = replace(wanted, scenario=world, seed=wanted.seed if seed is None else seed)
    if rate is not None and rate <= 0:
        raise UsageError("--rate: expected more than 0 seconds of the gate in one of yours, as 600")
    began = time.monotonic()
    played = _watched(wanted, rate) if rate is not None else play(wanted.plan, wanted.scenario, wanted.seed)
    took = time.monotonic() - began
    if html is not None:
        _page(played, html)
    _tell(played, took, json=json)
    return EXIT_PASSED if _passed(played) else EXIT_REMAINS


# --- what is played ----------------------------------------------------------------------------------


def _wanted(file: Path | None, choice: Choice) -> Wanted:
    """A gate.yaml with the usual world around it, or a whole case that a campaign has written down."""
    path = file or options.CONFIG
    if path.suffix == ".json":
        if choice != Choice():
            raise UsageError(f"{path} is a gate that was played before: its legs and version stand in it")
        return _case(path)
    resolved = _resolved(path, choice)
    for note in resolved.notes:
        sys.stderr.write(f"note: {note}\n")
    return Wanted(resolved.plan, Scenario(), 0)


def _case(path: Path) -> Wanted:
    from gate.campaign.case import Case  # noqa: PLC0415 - only for what a campaign wrote

    try:
        raw = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read: {error.strerror}", hint="Is the name right?") from None
    case = documents.load(Case, raw, str(path))
    return Wanted(case.plan, case.scenario, case.seed)


def _resolved(path: Path, choice: Choice) -> Resolved:
    """The plan; where the artifact is not built, something stands in for it."""
    try:
        return resolve(path, choice)
    except (ArtifactError, ConfigError):
        stand_in = replace(choice, artifact=STAND_IN, version=choice.version or "0.0.0")
        found = resolve(path, stand_in)
        return replace(found, notes=(*found.notes, "the artifact is not there: something stands in for it"))


# --- playing and telling -----------------------------------------------------------------------------


@dataclass
class _Boards:
    """The reporters of a gate that is watched while it is played."""

    rate: float
    opened: list[Reporter]

    def __call__(self, attempt: Attempt) -> Sequence[Reporter]:
        from gate.report.board import Board  # noqa: PLC0415 - only for those who watch

        heading = heading_of(attempt)
        new: Reporter = Board(heading, rate=self.rate) if sys.stdout.isatty() else PlainLines(heading)
        self.opened.append(new)
        return (new,)

    async def close(self) -> None:
        for reporter in self.opened:
            await reporter.aclose()


def _watched(wanted: Wanted, rate: float) -> Played:
    boards = _Boards(rate, [])
    try:
        return play(wanted.plan, wanted.scenario, wanted.seed, reporters=boards, rate=rate)
    finally:
        anyio.run(boards.close)


def _tell(played: Played, took: float, *, json: bool) -> None:
    if json:
        sys.stdout.write(jsonlib.dumps(as_json(played), ensure_ascii=False, indent=1) + "\n")
        return
    console = Console(markup=False, highlight=False, emoji=False)
    for line in show(played, took, min(console.width, 140)):
        console.print(line, soft_wrap=True)


def _passed(played: Played) -> bool:
    return bool(played.exit_codes) and played.exit_codes[-1] == EXIT_PASSED and not played.remaining


def _menu() -> None:
    console = Console(markup=False, highlight=False, emoji=False)
    width = max(map(len, MENU))
    for kind, item in MENU.items():
        keys = " ".join({"lasts": "for", "seconds": "by"}.get(field, field) for field in item.fields)
        console.print(Text.assemble((f"{kind:<{width}}  ", "bold"), item.what, (f"  {keys}", "dim")), soft_wrap=True)


def _page(played: Played, path: Path) -> None:
    from gate.report.html.from_run import page_of, simulated  # noqa: PLC0415 - only where a page is asked for
    from gate.report.html.records import StoredRecords  # noqa: PLC0415
    from gate.report.html.render import render  # noqa: PLC0415
    from gate.rundir.run import Run  # noqa: PLC0415
    from gate.simulate.store import MemoryDisk, MemoryStore  # noqa: PLC0415

    attempt = played.attempt
    if attempt is None:
        raise UsageError("--html: nothing was dispatched, so there is nothing to draw")
    disk = MemoryDisk()
    for key, data in played.files[attempt.attempt.run].items():
        disk.write(key, data)
    store = MemoryStore(disk)

    async def draw() -> str:
        page = await page_of(Run(store), attempt.attempt, StoredRecords(store), written=time.time())
        facts = (("seed", str(played.seed)), ("scenario", played.scenario.name or "the usual"))
        again = " ".join(["gate", *map(shlex.quote, sys.argv[1:])])
        return render(simulated(page, facts, (again, "gate plan", "gate run")))

    path.write_text(anyio.run(draw), encoding="utf-8")
    sys.stderr.write(f"the page is {path}\n")
