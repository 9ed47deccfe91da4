"""A leg's processes in virtual time: its check, its long command, and what agents detach."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import trio

from gate.bootstrap.redact import Redactor
from gate.contracts import CommandResult
from gate.documents import Json
from gate.simulate.home import SimHome


@dataclass(frozen=True, slots=True)
class SimRun:
    """A simulated run of the product.

    After `delay` seconds it writes the state file, then every `every` seconds again, `writes` times in all, with the
    last one `final`. It lives on for `goes_on` seconds after that. `installs`: within `delay` something changes all the
    time, as an install does.
    """

    delay: float = 60.0
    every: float = 30.0
    writes: int = 3
    final: dict[str, Json] = field(default_factory=lambda: {"done": True, "stop_reason": "converged"})
    rel: str = "session/run/state.json"
    exit_code: int = 0
    goes_on: float = 0.0
    installs: bool = False
    name: str = "python run.py"


Program = Callable[[], Awaitable[int]]
"""A simulated program: runs to its end and returns its exit code."""


class SimCommands:
    """`contracts.Commands` in virtual time; simulated processes live in `nursery`.

    `check` answers the leg's own check: exit code and output. `command` is what `start` runs.
    """

    def __init__(self, nursery: trio.Nursery, home: SimHome, redactor: Redactor | None = None) -> None:
        self._nursery = nursery
        self._home = home
        self._redactor = redactor or Redactor({})
        self.check: Callable[[], tuple[int, str]] = lambda: (0, "")
        self.check_seconds = 1.0
        self.command: SimRun | Program = SimRun()
        self.started = 0
        self.stubborn: tuple[str, ...] = ()
        """What `end_all` cannot end."""
        self._alive: dict[int, tuple[str, trio.CancelScope]] = {}
        self._next = 100
        self._long: int | None = None
        self._result: CommandResult | None = None

    def detach(self, run: SimRun | Program) -> int:
        """Start a run that outlives its starter; its pid."""
        return self._spawn(run.name if isinstance(run, SimRun) else "python run.py", self._program(run))

    def _program(self, run: SimRun | Program) -> Program:
        return (lambda: self._run(run)) if isinstance(run, SimRun) else run

    def _spawn(self, name: str, body: Program, *, long: bool = False) -> int:
        self._next += 1
        pid, scope = self._next, trio.CancelScope()
        self._alive[pid] = (name, scope)
        if long:
            self._long = pid
        self._nursery.start_soon(self._live, pid, scope, body)
        return pid

    async def _live(self, pid: int, scope: trio.CancelScope, body: Program) -> None:
        code = -9
        with scope:
            code = await body()
        self._alive.pop(pid, None)
        if pid == self._long:
            self._result = CommandResult(code, "the last words")
            self._home.wake()

    async def _run(self, run: SimRun) -> int:
        if run.installs:
            for _ in range(int(run.delay // 20)):
                await trio.sleep(20)
                self._home.touch("workspace/site-packages")
            await trio.sleep(run.delay % 20)
        else:
            await trio.sleep(run.delay)
        for count in range(run.writes):
            done = count == run.writes - 1
            body = run.final if done else {"done": False, "step": count}
            self._home.write(run.rel, json.dumps(body).encode())
            if not done:
                await trio.sleep(run.every)
        await trio.sleep(run.goes_on)
        return run.exit_code

    # --- the contract --------------------------------------------------------------------------------

    async def run(self, command: str, budget: float) -> CommandResult:
        """The leg's own check."""
        with trio.move_on_after(budget) as scope:
            await trio.sleep(self.check_seconds)
        if scope.cancelled_caught:
            return CommandResult(None, f"{command}: cut off")
        code, output = self.check()
        return CommandResult(code, self._redactor.redact_text(output))

    async def start(self, command: str) -> None:
        """Start the leg's long command."""
        self.started += 1
        self._spawn(command, self._program(self.command), long=True)

    async def poll(self) -> CommandResult | None:
        """The long command's result."""
        return self._result

    async def survivors(self) -> tuple[str, ...]:
        """Detached runs that are alive."""
        return tuple(f"{pid} {name}" for pid, (name, _) in self._alive.items() if pid != self._long)

    async def end_all(self) -> tuple[str, ...]:
        """End every simulated process of the leg."""
        await trio.lowlevel.checkpoint()
        for _, scope in tuple(self._alive.values()):
            scope.cancel()
        self._alive.clear()
        return self.stubborn
