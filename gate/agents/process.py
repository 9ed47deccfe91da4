"""One bounded turn of a command line: a session of its own, prompt on stdin, output streamed, an end by time.

Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Literal

import anyio

from gate.adapters.threads import Lane
from gate.agents.pipes import Pipe, Sink
from gate.agents.processes import KILL_WAIT, TurnProcesses

GRACE = 5.0
"""Seconds between SIGTERM and SIGKILL at the end of a budget: the CLI writes its conversation down first."""
CANCEL_GRACE = 1.0
"""The same when the whole leg is being stopped: a CI runner gives a cancelled job few seconds."""
SPAWN_DEADLINE = 60.0
"""Seconds for starting a process: longer means that the share with its directory or program hangs."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What to run. `stdin` is all that it can read there; `env` is its whole environment."""

    argv: tuple[str, ...]
    stdin: bytes
    cwd: str
    env: Mapping[str, str]
    scratch: str
    """Where `stdin` lies while it is read, as a file without a name."""
    tool_sessions: bool = False
    """It runs each tool command in a session of its own (see `processes`)."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How it came to an end. `exit_code` is negative for a signal; None: never started, or not ended."""

    how: Literal["exited", "timed_out", "no_start", "unavailable"]
    exit_code: int | None
    why: str = ""
    """For `unavailable`: what the operating system said."""
    left: tuple[str, ...] = ()
    """Processes of the turn that could not be ended, as `pid command`."""


async def run_command(line: CommandLine, budget: float, probe: float, out: Sink, err: Sink) -> Ended:
    """Run `line` to its end, at most `budget` seconds, and end it where no byte comes within `probe` (0: no probe).

    Returns when the command line itself has ended, whatever it left running. An end by time, or by cancelling this
    call, ends every process of the turn. Raises what a sink raises.
    """
    lane = Lane("turn", limit=3)  # of its own: a call that hangs for ever must not take a later turn's thread
    start = _Start(line)
    try:
        child = await lane.call(SPAWN_DEADLINE, start.run)
    except OSError as error:  # TimeoutError included
        start.give_up()
        said = f"no start within {SPAWN_DEADLINE:g} s" if isinstance(error, TimeoutError) else error.strerror
        return Ended("unavailable", None, f"{line.argv[0]}: {said or error}")
    except BaseException:  # cancelled: the process that may still come to life has an owner
        start.give_up()
        raise
    turn = _Turn(lane, child, line)
    try:
        return await turn.run(budget, probe, out, err)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await turn.end(CANCEL_GRACE)
        raise
    finally:
        turn.release()


@dataclass(frozen=True, slots=True)
class _Child:
    """A started command line and the reading ends of its two outputs."""

    process: subprocess.Popen[bytes]
    out: int
    err: int


class _Start:
    """Starting the process in a thread that may be abandoned: what comes to life too late is ended at once."""

    def __init__(self, line: CommandLine) -> None:
        self._line = line
        self._lock = threading.Lock()
        self._given_up = False
        self._child: _Child | None = None

    def run(self) -> _Child:
        """Raises OSError."""
        with tempfile.TemporaryFile(dir=self._line.scratch) as prompt:
            prompt.write(self._line.stdin)
            prompt.seek(0)
            child = self._spawn(prompt.fileno())
        with self._lock:
            self._child = child
            given_up = self._given_up
        if given_up:
            _discard(child)
        return child

    def give_up(self) -> None:
        with self._lock:
            self._given_up = True
            child = self._child
        if child is not None:
            threading.Thread(target=_discard, args=(child,), name="gate-discard", daemon=True).start()

    def _spawn(self, stdin: int) -> _Child:
        line = self._line
        with ExitStack() as ours, ExitStack() as theirs:
            pipes = [os.pipe(), os.pipe()]
            for reading, writing in pipes:
                ours.callback(os.close, reading)
                theirs.callback(os.close, writing)
            process = subprocess.Popen(
                line.argv,
                stdin=stdin,
                stdout=pipes[0][1],
                stderr=pipes[1][1],
                cwd=line.cwd,
                env=dict(line.env),
                start_new_session=True,
            )
            ours.pop_all()
        return _Child(process, pipes[0][0], pipes[1][0])


class _Turn:
    """A running command line and its readers."""

    def __init__(self, lane: Lane, child: _Child, line: CommandLine) -> None:
        self._lane = lane
        self._process = child.process
        self._members = TurnProcesses(child.process.pid, tool_sessions=line.tool_sessions)
        self._pipes = (Pipe(child.out), Pipe(child.err))
        self._heard = anyio.Event()
        self._exited = anyio.Event()

    async def run(self, budget: float, probe: float, out: Sink, err: Sink) -> Ended:
        left: tuple[str, ...] = ()
        async with anyio.create_task_group() as watching:
            watching.start_soon(self._await_exit)
            async with anyio.create_task_group() as reading:
                for pipe, sink in zip(self._pipes, (out, err), strict=True):
                    reading.start_soon(pipe.pump, partial(self._hear, sink))
                how = await self._await_end(budget, probe)
                if how != "exited":
                    left = await self.end(GRACE)
                for pipe in self._pipes:
                    pipe.over()
            watching.cancel_scope.cancel()
        return Ended(how, self._process.poll(), left=left)

    async def end(self, grace: float) -> tuple[str, ...]:
        """End every process of the turn; those that could not be."""
        left = await self._lane.call(grace + 2 * KILL_WAIT, partial(self._members.end, grace))
        with anyio.move_on_after(KILL_WAIT):
            await self._lane.call(KILL_WAIT, self._process.wait)
        return left

    def release(self) -> None:
        for pipe in self._pipes:
            pipe.release()

    async def _hear(self, sink: Sink, chunk: bytes) -> None:
        self._heard.set()
        await sink(chunk)

    async def _await_exit(self) -> None:
        # Not the end of its output: what it left running may hold that open for hours.
        await self._lane.call(float("inf"), self._process.wait)
        self._exited.set()
        self._heard.set()

    async def _await_end(self, budget: float, probe: float) -> Literal["exited", "timed_out", "no_start"]:
        with anyio.move_on_after(budget):
            if 0 < probe < budget:
                with anyio.move_on_after(probe):
                    await self._heard.wait()
                if not self._heard.is_set():
                    return "no_start"
            await self._exited.wait()
        return "exited" if self._exited.is_set() else "timed_out"


def _discard(child: _Child) -> None:
    """End a process that nobody waits for any more."""
    TurnProcesses(child.process.pid, tool_sessions=False).end(0)
    child.process.wait()
    os.close(child.out)
    os.close(child.err)
