"""All legs of one workload, side by side: each with its own directory, environment and GPU, and a result each.

What happens to one leg ends no other, a bug in its driver included.
Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Protocol

import anyio
from anyio.abc import TaskGroup

from gate.adapters.clock import SystemClock
from gate.adapters.signals import SystemSignals
from gate.bootstrap import exits
from gate.bootstrap.driver import LegIdentity, drive
from gate.bootstrap.redact import Redactor
from gate.bootstrap.world import WorkloadContext
from gate.contracts import Clock, LegWorld
from gate.errors import GateError
from gate.machines.verdict import Reason
from gate.rundir.formats import Assignment, LegResult

CRASH_BUDGET = 30.0
"""Seconds for ending and recording a leg whose driver crashed."""


class HostedLeg(LegWorld, Protocol):
    """One leg's world, and what its workload needs to know of it."""

    @property
    def gpu(self) -> int | None: ...

    @property
    def incarnation(self) -> str:
        """Name of this start; "" before the leg's directory is there."""
        ...

    def tidy(self) -> None:
        """Remove what was made outside the leg's directory."""
        ...


class LegHost(Protocol):
    """Where the legs of one workload run: this machine, or a simulated one."""

    @property
    def assignment(self) -> Assignment: ...

    @property
    def clock(self) -> Clock: ...

    def open(self, position: int, tasks: TaskGroup) -> HostedLeg:
        """The world of the leg at `position`; its helpers run in `tasks`."""
        ...

    def say(self, text: str) -> None:
        """A line for the workload's log, redacted."""
        ...


async def run_workload(assignment: Assignment, environ: Mapping[str, str]) -> int:
    """Run every leg of `assignment` to its end; a code of `exits`. `environ` holds the secrets by name."""
    signals = SystemSignals()
    names = {name for leg in assignment.legs for name in leg.secrets}
    redactor = Redactor({name: environ[name] for name in sorted(names) if name in environ})
    context = WorkloadContext(assignment, environ, redactor, SystemClock(), signals)
    async with signals.installed():
        return await run_legs(context)


async def run_legs(host: LegHost) -> int:
    """Run every leg to its end; a code of `exits`."""
    results: list[LegResult] = []
    async with anyio.create_task_group() as tasks:
        for position in range(len(host.assignment.legs)):
            tasks.start_soon(_run_leg, host, position, results)
    return exit_code(results)


def exit_code(results: list[LegResult]) -> int:
    """What the engine is told."""
    if any(result.outcome == "stopped" for result in results):
        return exits.STOPPED
    if any(result.reason is Reason.LEG_CRASHED for result in results):
        return exits.BUG
    return exits.LEG_FAILED if any(result.outcome == "failed" for result in results) else exits.LEGS_FINISHED


async def _run_leg(host: LegHost, position: int, results: list[LegResult]) -> None:
    leg = host.assignment.legs[position]
    world: HostedLeg | None = None
    host.say(f"leg {leg.id}: begins")
    try:
        async with anyio.create_task_group() as tasks:
            world = host.open(position, tasks)
            result = await drive(world, LegIdentity(host.assignment.tag, world.gpu))
            tasks.cancel_scope.cancel()
    except Exception as error:
        if world is None:
            raise
        result = await _crashed(host, world, error)
    finally:
        if world is not None:
            world.tidy()
    results.append(result)
    reason = f" ({result.reason.value})" if result.reason is not None else ""
    host.say(f"leg {leg.id}: {result.outcome}{reason}: {result.sentence}")


async def _crashed(host: LegHost, world: HostedLeg, error: Exception) -> LegResult:
    """End what the leg left, and leave a result that names the bug."""
    trace = "".join(traceback.format_exception(error))
    host.say(f"leg {world.leg.id}: a bug in gate:\n{trace}")
    left: tuple[str, ...] = ()
    with anyio.move_on_after(CRASH_BUDGET):
        left = await world.commands.end_all()
    now = await host.clock.now()
    result = LegResult(
        leg=world.leg.id,
        tag=host.assignment.tag,
        incarnation=world.incarnation,
        outcome="failed",
        reason=Reason.LEG_CRASHED,
        sentence=f"A bug in gate ended the leg: {_innermost(error)!r}. Its journal holds the traceback.",
        state=None,
        turns=0,
        resumes=0,
        recaps=0,
        redrives=0,
        cost_usd=None,
        agent_version=None,
        survivors=left,
        secret_hits=(),
        ended=now.wall,
    )
    try:
        with anyio.move_on_after(CRASH_BUDGET):
            await world.home.publish(result)
            await world.home.record({"at": now.wall, "kind": "crashed", "traceback": trace})
    except GateError as unwritten:
        host.say(f"leg {world.leg.id}: its result could not be written: {unwritten}")
    return result


def _innermost(error: BaseException) -> BaseException:
    """The bug itself, out of the groups that tasks wrap it in."""
    inner = getattr(error, "exceptions", None)
    return _innermost(inner[0]) if inner else error
