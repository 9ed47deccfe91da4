"""A leg's own commands as real processes, and finding and ending everything of the leg.

Each command runs in a session of its own with a word in its environment that names it; what stays behind is found by
that word, by the leg's name, and, where the workload carries one leg only, by everything that marks the workload.
Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup

from gate.adapters.threads import Lane
from gate.agents.process import CommandLine, Ended, run_command
from gate.bootstrap import containment_process as proc
from gate.bootstrap.containment import Census, Process, end
from gate.bootstrap.prompts import fill
from gate.bootstrap.redact import Redactor
from gate.bootstrap.transcript import Transcript
from gate.contracts import CommandResult
from gate.plan.identity import ENV_LEG

ENV_COMMAND = "GATE_COMMAND_ID"
TAIL = 64 << 10
"""Bytes of a command's output that are kept for its result; the transcript has it all."""
GRACE = 1.0
"""Seconds between SIGTERM and SIGKILL for what a command or a leg leaves behind."""
ENDING = 15.0
LOOKING = 10.0


class LegPlace(Protocol):
    """Where a leg's commands run; known once its directory is there."""

    @property
    def cwd(self) -> str: ...
    @property
    def env(self) -> Mapping[str, str]: ...
    @property
    def slots(self) -> Mapping[str, str]: ...
    @property
    def transcript(self) -> Transcript: ...
    @property
    def scratch(self) -> str: ...


@dataclass(frozen=True, slots=True)
class LegProcesses:
    """How a leg's processes are known. `alone`: its workload carries no other leg."""

    tag: str
    workload: str
    leg: str
    alone: bool

    def find(self) -> tuple[Process, ...]:
        """Every live process of the leg, but for this one, its group and its ancestors."""
        found = Census().workload(self.tag, self.workload)
        return found if self.alone else tuple(one for one in found if _has(one.pid, ENV_LEG, self.leg))


class LegCommands:
    """`contracts.Commands`. The long command runs in a task of `tasks`."""

    def __init__(self, tasks: TaskGroup, place: LegPlace, processes: LegProcesses, redactor: Redactor) -> None:
        self._tasks = tasks
        self._place = place
        self._processes = processes
        self._redactor = redactor
        self._lane = Lane("leg-processes", limit=3)
        self._running: set[str] = set()
        self._long = anyio.CancelScope()
        self._long_ended = anyio.Event()
        self._long_ended.set()
        self._result: CommandResult | None = None

    async def run(self, command: str, budget: float) -> CommandResult:
        """Run `sh -c command` in the workspace."""
        word = secrets.token_hex(8)
        self._running.add(word)
        try:
            result = await self._run(command, budget, word)
        finally:
            self._running.discard(word)
        await self._end_named(word)
        return result

    async def start(self, command: str) -> None:
        """Start the long command; whatever goes wrong with it is its result."""
        self._long_ended = anyio.Event()
        self._tasks.start_soon(self._run_long, command)
        await anyio.lowlevel.checkpoint()

    async def poll(self) -> CommandResult | None:
        """The long command's result."""
        return self._result

    async def survivors(self) -> tuple[str, ...]:
        """What is alive of the leg beside running commands."""
        try:
            return await self._lane.call(LOOKING, lambda: tuple(map(str, self._unaccounted())))
        except TimeoutError:
            return ("(the process table could not be read in time)",)

    async def end_all(self) -> tuple[str, ...]:
        """End the long command and everything else of the leg."""
        self._long.cancel()
        with anyio.move_on_after(ENDING):
            await self._long_ended.wait()
        try:
            left = await self._lane.call(ENDING + 10, lambda: _end_until_none(self._processes))
        except TimeoutError:
            return ("(the process table could not be read in time)",)
        return tuple(map(str, left))

    # --- running -------------------------------------------------------------------------------------

    async def _run_long(self, command: str) -> None:
        word = secrets.token_hex(8)
        self._running.add(word)
        try:
            with self._long:
                self._result = await self._run(command, float("inf"), word)
        finally:
            self._running.discard(word)
            self._long_ended.set()

    async def _run(self, command: str, budget: float, word: str) -> CommandResult:
        place = self._place
        output = _Output(self._redactor, place.transcript)
        filled = fill(command, place.slots)
        await place.transcript.note(f"$ {filled}")
        line = CommandLine(
            argv=("/bin/sh", "-c", filled),
            stdin=b"",
            cwd=place.cwd,
            env={**place.env, ENV_COMMAND: word},
            scratch=place.scratch,
        )
        ended = await run_command(line, budget, 0.0, output.out, output.err)
        await output.finish()
        await place.transcript.note(_said(ended))
        if ended.how == "unavailable":
            return CommandResult(127, ended.why)
        return CommandResult(ended.exit_code if ended.how == "exited" else None, output.tail())

    async def _end_named(self, word: str) -> None:
        try:
            await self._lane.call(ENDING, lambda: _end_word(self._processes, word))
        except TimeoutError:
            await self._place.transcript.note("what the command left behind could not be ended in time")

    def _unaccounted(self) -> tuple[Process, ...]:
        words = tuple(self._running)
        return tuple(
            one for one in self._processes.find() if not any(_has(one.pid, ENV_COMMAND, word) for word in words)
        )


class _Output:
    """Output of one command: redacted, mirrored as it comes, its tail kept."""

    def __init__(self, redactor: Redactor, transcript: Transcript) -> None:
        self._streams = {"out": redactor.stream(), "err": redactor.stream()}
        self._transcript = transcript
        self._tail = b""

    async def out(self, chunk: bytes) -> None:
        await self._transcript.write(chunk, "out")
        self._keep(self._streams["out"].feed(chunk))

    async def err(self, chunk: bytes) -> None:
        await self._transcript.write(chunk, "err")
        self._keep(self._streams["err"].feed(chunk))

    async def finish(self) -> None:
        for stream in self._streams.values():
            self._keep(stream.finish())

    def tail(self) -> str:
        return self._tail.decode(errors="replace")

    def _keep(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-TAIL:]


def _said(ended: Ended) -> str:
    if ended.how == "exited":
        return f"exit code {ended.exit_code}"
    return ended.why or ended.how.replace("_", " ")


def _has(pid: int, name: str, value: str) -> bool:
    return f"\0{name}={value}\0".encode() in proc.environment(pid)


def _end_word(processes: LegProcesses, word: str) -> None:
    """End what carries the word of a command that is over, and what that starts meanwhile."""
    deadline = time.monotonic() + ENDING / 2
    grace = GRACE
    while time.monotonic() < deadline:
        found = tuple(one for one in processes.find() if _has(one.pid, ENV_COMMAND, word))
        if not found:
            return
        end(found, grace)
        grace = 0.0


def _end_until_none(processes: LegProcesses) -> tuple[Process, ...]:
    """End a leg's processes and what they start meanwhile; those that remain."""
    deadline = time.monotonic() + ENDING
    grace = GRACE
    while found := processes.find():
        stuck = end(found, grace)
        grace = 0.0
        if time.monotonic() >= deadline or (stuck and set(stuck) == set(found)):
            return processes.find()
    return ()
