"""The last lines of `gate run`, `gate retry` and `gate poll`: what did not pass, what still burns, what to do next."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import anyio

from gate.commands.leaks import leaks
from gate.commands.printing import show
from gate.commands.standing import closing_of
from gate.commands.telling import say
from gate.errors import DocumentError, StoreError
from gate.poll.ending import PollEnd
from gate.report.decision import Closing, closing
from gate.rundir.files import FileStore
from gate.rundir.run import Run

PATIENCE = 5.0
"""Seconds for the run directory to answer …"""
HURRIED = 0.3
"""… and after a cancel, whose process has to be gone soon."""


async def close(run_dir: Path, end: PollEnd) -> None:
    """Print them; nothing of an undecided run. The word and the cause were the last that the poll told."""
    if end.decision is None:
        return
    what = Closing(end.decision, remaining=end.remaining, now=time.time())
    with anyio.move_on_after(HURRIED if end.decision.word == "CANCELLED" else PATIENCE):
        try:
            run = Run(FileStore(run_dir))
            what = await closing_of(run, end.decision, end.remaining, what.now)
            attempt = await run.latest_attempt()
            what = replace(what, leaks=await leaks(run_dir, attempt, [leg.id for leg in attempt.plan.legs]))
        except (StoreError, DocumentError) as error:
            say(f"the run's records cannot be read any more: {error.message}")
    show(closing(what, headed=False))
