"""`gate logs LEG`: the workload's log, the agent's transcript, or the leg's journal; also while it runs."""

from __future__ import annotations

import codecs
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Literal

import anyio
import typer

from gate.adapters.threads import Lane
from gate.commands.opening import engine_of
from gate.commands.options import CONFIG, Config, Root, RunOption
from gate.commands.selecting import Chosen, choose
from gate.commands.telling import plain
from gate.commands.where import Where, where
from gate.contracts import LegQuery
from gate.errors import StoreUnavailable, UsageError, WorkloadNotFound
from gate.rundir import layout
from gate.rundir.formats import Attempt
from gate.rundir.legfiles import FileLegFiles
from gate.rundir.runs import RunPlace

Which = Literal["workload", "transcript", "journal"]
CHUNK = 65536
PAUSE = 1.0
"""Seconds between two looks at a log that grows on another machine, which tells of nothing."""
DEADLINE = 10.0


def command(
    leg: Annotated[str, typer.Argument(metavar="LEG", help="The leg.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the leg has ended.")] = False,
    which: Annotated[
        Which,
        typer.Option("--which", help="transcript: what the leg's command or agent says; workload: gate's own log."),
    ] = "transcript",
    tail: Annotated[
        int, typer.Option("--tail", metavar="KIB", min=0, help="Only the last so many KiB; 0 for all.")
    ] = 0,
    run: RunOption = None,
    config: Config = CONFIG,
    root: Root = None,
) -> None:
    """Show a leg's log, transcript or journal. Characters that could steer the terminal are shown as text."""
    anyio.run(_logs, where(config, root), run, leg, follow, which, tail * 1024)


async def _logs(place: Where, run_id: str | None, leg: str, follow: bool, which: Which, tail: int) -> None:
    found = await place.find(run_id)
    run = found.open()
    attempt = await run.latest_attempt()
    chosen = await choose(run, attempt, leg)
    source = (
        _workload(attempt, chosen, follow=follow, tail=tail)
        if which == "workload"
        else _file(found, chosen, layout.TRANSCRIPT if which == "transcript" else layout.JOURNAL, follow, tail)
    )
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    async for chunk in source:
        _write(decoder.decode(chunk))
    _write(decoder.decode(b"", final=True))


async def _workload(attempt: Attempt, chosen: Chosen, *, follow: bool, tail: int) -> AsyncIterator[bytes]:
    """The log as the engine has it."""
    if chosen.entry is None or chosen.entry.engine_id is None:
        raise UsageError(f"{chosen.leg}: its workload {chosen.workload} was never created, so it has no log")
    offset = -tail if tail else 0
    async with engine_of(attempt.plan) as engine:
        while True:
            try:
                chunk = await engine.logs(chosen.entry.engine_id, offset, CHUNK)
            except WorkloadNotFound as error:
                raise UsageError(f"{chosen.leg}: the engine no longer knows its workload: {error.message}") from error
            if chunk.data:
                yield chunk.data
            if not chunk.data and (chunk.ended or not follow):
                return
            offset = chunk.next_offset
            if not chunk.data:
                await anyio.sleep(PAUSE)


async def _file(place: RunPlace, chosen: Chosen, name: str, follow: bool, tail: int) -> AsyncIterator[bytes]:
    """A file of the leg's last incarnation, in the run directory."""
    files, lane = FileLegFiles(place.path), Lane("logs", limit=1)
    offset, path = -tail if tail else 0, None
    while True:
        view = (await files.look([LegQuery(chosen.leg, chosen.tag, (), ())]))[chosen.leg]
        if view.incarnations:
            path = place.path / layout.incarnation(chosen.leg, chosen.tag, view.incarnations[-1]) / name
        ended = view.result is not None
        data, offset = await _read(lane, path, offset) if path is not None else (b"", offset)
        if data:
            yield data
        elif ended or not follow:
            if path is None:
                raise UsageError(
                    f"{chosen.leg}: it has not begun, so it has no {name} yet",
                    hint="-f waits for it; --which workload shows what its workload says.",
                )
            return
        else:
            await anyio.sleep(PAUSE)


async def _read(lane: Lane, path: Path, offset: int) -> tuple[bytes, int]:
    """At most CHUNK bytes from `offset` (negative: from the end), and where to go on."""

    def read() -> tuple[bytes, int]:
        try:
            with path.open("rb") as stream:
                size = stream.seek(0, 2)
                start = max(0, size + offset) if offset < 0 else min(offset, size)
                stream.seek(start)
                data = stream.read(CHUNK)
                return data, start + len(data)
        except FileNotFoundError:
            return b"", offset
        except PermissionError as error:
            raise UsageError(f"{path}: closed to you", hint="It belongs to the user of the workload.") from error

    try:
        return await lane.call(DEADLINE, read)
    except TimeoutError as error:
        raise StoreUnavailable(f"{path}: no answer within {DEADLINE:g} s") from error


def _write(text: str) -> None:
    sys.stdout.write("\n".join(plain(line) for line in text.replace("\r\n", "\n").split("\n")))
    sys.stdout.flush()
