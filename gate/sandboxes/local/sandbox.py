"""One sandbox on this machine: a folder of its own, and processes that bear its mark."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio

from gate.adapters.threads import Lane
from gate.contracts import Clock
from gate.contracts.sandbox import TIMED_OUT, Command, ExecResult, NetworkPolicy, SandboxCapabilities
from gate.errors import SandboxFileError, SandboxGone, SandboxRefused, SandboxUnavailable
from gate.sandboxes.fit import check_command
from gate.sandboxes.local.process import Process
from gate.sandboxes.local.reaper import Reaper
from gate.sandboxes.local.space import Space
from gate.sandboxes.local.sweep import group_lives, orphans, sweep

MARK = "GATE_SANDBOX"
COMMAND_MARK = "GATE_SANDBOX_COMMAND"
KILL_BOUND = 10.0
"""Seconds for which the end of killed processes is waited for; longer means stuck in the kernel."""
T = TypeVar("T")
FILES = 60.0
"""Seconds for reading, writing or removing files."""


class LocalSandbox:
    """A folder and what runs for it; `space` None: plain processes."""

    def __init__(
        self,
        name: str,
        home: Path,
        env: Mapping[str, str],
        tools: tuple[Reaper, Lane, Clock, SandboxCapabilities],
        space: Space | None,
        gone: Callable[[str], None],
    ) -> None:
        self.name = name
        self.home = home
        self.space = space
        self._env = env
        self._reaper, self._lane, self._clock, self._capabilities = tools
        self._gone = gone
        self._mark = env[MARK]
        self._running: dict[int, Process] = {}
        self._background: set[int] = set()
        self._started = 0
        self._stopped = False

    async def exec(self, command: Command) -> ExecResult:
        """Run to its end, or to its time-out."""
        self._alive()
        check_command("local", self._capabilities, command)
        began = (await self._clock.now()).mono
        process, mark = self._begin(command)
        try:
            with anyio.move_on_after(command.timeout):
                await self._reaper.wait(process.ended)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._end(process, mark)
            raise
        finally:
            self._running.pop(process.pid, None)
        timed_out = not process.ended.done
        if timed_out:
            with anyio.CancelScope(shield=True):
                await self._end(process, mark)
        elif group_lives(process.pid):
            self._background.add(process.pid)
        output = process.output.taken()
        took = (await self._clock.now()).mono - began
        code = TIMED_OUT if timed_out else process.exit_code
        return ExecResult(code, output, took, process.output.dropped, timed_out)

    async def upload(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file below the sandbox's folder."""
        self._alive()
        await self._files(path, partial(_write, self._path(path), data, mode))

    async def download(self, path: str, limit: int) -> bytes:
        """Read one."""
        self._alive()
        data: bytes = await self._files(path, partial(_read, self._path(path), limit))
        if len(data) > limit:
            raise SandboxFileError(f"{path} in {self.name} is longer than {limit} bytes")
        return data

    async def switch(self, network: NetworkPolicy) -> None:
        """Not to be had on a machine that is shared."""
        raise SandboxRefused(f"the local backend cannot switch {self.name} to network {network.mode!r}")

    async def suspend(self) -> None:
        """Not to be had for plain processes: what they hold stays held."""
        raise SandboxRefused(f"the local backend cannot suspend {self.name}", hint="Park with delete or none.")

    async def stop(self) -> None:
        """End its processes and remove its folder."""
        if self._stopped:
            return
        self._stopped = True
        with anyio.CancelScope(shield=True):
            for process in tuple(self._running.values()):
                process.kill()
                await self._reaper.wait(process.ended)
            if self.space is not None:
                self.space.holder.kill()
                await self._reaper.wait(self.space.holder.ended)
            if self._started and self._left():
                await self._sweep(tuple(self._background), f"{MARK}={self._mark}")
            await self._remove()
        self._gone(self.name)

    def _begin(self, command: Command) -> tuple[Process, str]:
        self._started += 1
        mark = f"{self._mark}.{self._started}"
        inside = os.path.join(self.home, command.cwd) if command.cwd else self.home  # noqa: PTH118 - absolute ones win
        script = f"cd {shlex.quote(str(inside))} || exit 126\n{command.script}"
        argv = [*(self.space.entering() if self.space is not None else ()), "/bin/sh", "-c", script]
        process = Process(self._reaper, argv, {**self._env, **command.env, COMMAND_MARK: mark})
        self._running[process.pid] = process
        return process, mark

    async def _end(self, process: Process, mark: str) -> None:
        process.kill()
        await self._reaper.wait(process.ended)
        await self._sweep((process.pid,), f"{COMMAND_MARK}={mark}")

    async def _sweep(self, groups: tuple[int, ...], mark: str) -> None:
        known = tuple(self._running)
        run = partial(sweep, groups, self._root, mark.encode(), known, KILL_BOUND)
        left = await self._lane.call(KILL_BOUND + 5, run)
        if left:
            raise SandboxUnavailable(f"{self.name}: processes {', '.join(map(str, left))} cannot be killed")

    def _left(self) -> bool:
        mark = f"{MARK}={self._mark}".encode()
        return any(map(group_lives, self._background)) or bool(orphans(self._root, mark, ()))

    @property
    def _root(self) -> int:
        """The process that adopts orphans: this one, or process 1 of the namespace (gone once it is stopped)."""
        if self.space is None or self.space.holder.ended.done:
            return os.getpid()
        return self.space.init

    async def _remove(self) -> None:
        try:
            self.home.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            await self._files(str(self.home), partial(shutil.rmtree, self.home))

    def _alive(self) -> None:
        if self._stopped:
            raise SandboxGone(f"sandbox {self.name} was stopped")

    def _path(self, path: str) -> Path:
        return self.home / path

    async def _files(self, path: str, run: Callable[[], T]) -> T:
        try:
            return await self._lane.call(FILES, run)
        except TimeoutError as error:
            raise SandboxUnavailable(f"{path} in {self.name}: {error}") from error
        except OSError as error:
            raise SandboxFileError(f"{path} in {self.name}: {error.strerror}") from error


def _write(path: Path, data: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def _read(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        return file.read(limit + 1)
