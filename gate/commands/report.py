"""`gate report [RUN]`: what a run came to, as the closing text, as JSON, and as a page."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.text import Text

from gate import documents
from gate.commands.options import CONFIG, Config, Json, Root
from gate.commands.printing import show
from gate.commands.selecting import attempt_of
from gate.commands.telling import say
from gate.commands.where import Where, where
from gate.errors import UsageError
from gate.reap.remaining import Remaining
from gate.report.decision import Closing, closing
from gate.report.html.burning import burning_of
from gate.report.html.from_run import page_of
from gate.report.html.page import Page
from gate.report.html.records import FileRecords
from gate.report.html.render import render
from gate.report.html.words import headline
from gate.report.text import plain
from gate.rundir.formats import Attempt, Decision, Kept
from gate.rundir.run import Run


def command(
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="The run; default: the CI run's, else the latest.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write one self-contained page; also while it runs.")
    ] = None,
    attempt: Annotated[
        int | None, typer.Option("--attempt", metavar="N", help="The attempt; default: the latest.")
    ] = None,
    config: Config = CONFIG,
    root: Root = None,
    json: Json = False,
) -> None:
    """Show what a run came to: the word, the cause, what did not pass, what still burns and what to do next.

    --html writes it as a page that opens from disk and loads nothing: the first screen decides, the rest explains.
    --json prints the decision's document. Asks no engine and changes nothing of the run.
    """
    anyio.run(_report, where(config, root), run, html, attempt, json)


async def _report(place: Where, run_id: str | None, html: Path | None, number: int | None, json: bool) -> None:
    found = await place.find(run_id)
    run = found.open()
    attempt = await attempt_of(run, number)
    decision = await run.decision(attempt.tag)
    if json and decision is None:
        raise UsageError(
            f"run {attempt.run}, attempt {attempt.attempt} is not decided yet",
            hint=f"`gate status {attempt.run} --json` says where it stands; --html writes the page of a running one.",
        )
    if html is not None:
        page = await page_of(run, attempt, FileRecords(found.path), written=time.time())
        _write(html, render(page))
        say(f"{headline(page).word}: the page is {html}")
    if json and decision is not None:
        sys.stdout.write(documents.dump(decision).decode())
    elif html is None and decision is not None:
        show(await _closing(run, attempt, decision))
    elif html is None:
        show(_running(await page_of(run, attempt, FileRecords(found.path), written=time.time())))


async def _closing(run: Run, attempt: Attempt, decision: Decision) -> Text:
    now = time.time()
    burning = await burning_of(run, attempt, now, None)
    verdicts = await run.verdicts(attempt.tag)
    left = tuple(Remaining(each.workload, each.engine_id, each.why, each.stop) for each in burning if not each.kept)
    kept = tuple(
        Kept(e.workload, e.tag, e.until, e.why, attempt.run) for e in burning if e.kept and e.until is not None
    )
    sentences = {leg: verdict.sentence for leg, verdict in verdicts.items()}
    return closing(Closing(decision, sentences, kept=kept, remaining=left, now=now))


def _running(page: Page) -> Text:
    """What can be said of an undecided attempt: the same first words as on its page."""
    said = headline(page)
    text = Text.assemble((f" {said.word} ", "bold black on cyan"), f" {plain(said.cause)}\n")
    text.append(f"  {plain(said.meaning)}\n")
    watched = f"watched by {page.poller}" if page.poller else "nobody watches it: no poller holds this run"
    text.append(f"  {plain(watched)}\n", style="dim" if page.poller else "yellow")
    text.append("next  ", style="dim")
    return text.append("\n      ".join(map(plain, page.next)), style="bold").append("\n")


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a page that somebody has open is replaced, never torn."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            part.write_text(text, encoding="utf-8", newline="\n")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(
            f"--html {path}: cannot be written: {error.strerror or error}", hint="Is the folder there, and yours?"
        ) from error
