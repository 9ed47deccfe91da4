"""Where the legs of one simulated workload run: `gate.bootstrap.workload.LegHost` over virtual time."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import trio
from anyio.abc import TaskGroup

from gate.bootstrap.redact import Redactor
from gate.plan.model import LegPlan
from gate.rundir.formats import Assignment
from gate.simulate.actor import Actor
from gate.simulate.agent import SimAgent
from gate.simulate.clock import OwnedClock
from gate.simulate.commands import SimCommands
from gate.simulate.draw import LegDraw
from gate.simulate.engine_items import SimProcess
from gate.simulate.home import SimHome
from gate.simulate.inner_handles import OwnedAgent, OwnedCommands, OwnedHome
from gate.simulate.legworld import SimSignals
from gate.simulate.life import Life
from gate.simulate.product import Later, Product
from gate.simulate.roots import RootFaults
from gate.simulate.scenario import Fault
from gate.simulate.store import MemoryDisk
from gate.simulate.truth import LegTrace, Truth


@dataclass(frozen=True)
class Surroundings:
    """The world around one workload."""

    disk: MemoryDisk
    truth: Truth
    roots: RootFaults
    legs: Mapping[str, LegDraw]
    clock: Callable[[Life], OwnedClock]
    bootstrap: Callable[[SimProcess, Life], Life]
    """The life of a bootstrap below its supervisor's."""
    later: Later
    """Something that happens so many seconds from now, whoever has ended by then."""
    ended: Callable[[Life, int | None], None]
    """A bootstrap has ended."""


@dataclass(frozen=True)
class SimHostedLeg:
    """`gate.bootstrap.workload.HostedLeg`."""

    leg: LegPlan
    clock: OwnedClock
    home: OwnedHome
    commands: OwnedCommands
    agent: OwnedAgent | None
    signals: SimSignals
    gpu: int | None
    trace: LegTrace

    @property
    def incarnation(self) -> str:
        """Name of this start."""
        return self.trace.incarnation

    def tidy(self) -> None:
        """Note when it ended: nothing lies outside the leg's directory."""
        self.trace.ended = trio.current_time()


@functools.lru_cache(maxsize=64)
def _redactor(secrets: tuple[tuple[str, str], ...]) -> Redactor:
    """Made once for the same secrets: a campaign starts a hundred thousand bootstraps."""
    return Redactor(dict(secrets))


class SimHost:
    """All legs of one start of one workload. What they launch runs in `programs`."""

    def __init__(
        self,
        assignment: Assignment,
        given: SimProcess,
        life: Life,
        around: Surroundings,
        signals: SimSignals,
        programs: trio.Nursery,
    ) -> None:
        self.assignment = assignment
        self.clock = around.clock(life)
        self._given = given
        self._life = life
        self._around = around
        self._signals = signals
        self._programs = programs
        self._redactor = _redactor(tuple(given.request.secrets.items()))

    def say(self, text: str) -> None:
        """A line for the workload's log, redacted."""
        self._given.log.extend(self._redactor.redact_text(text).encode() + b"\n")

    def open(self, position: int, tasks: TaskGroup) -> SimHostedLeg:
        """The world of the leg at `position`."""
        leg, tag = self.assignment.legs[position], self.assignment.tag
        around, life, truth = self._around, self._life, self._around.truth
        trace = LegTrace(leg.id, tag, truth.now())
        truth.legs.append(trace)
        draw = around.legs[leg.id]
        home = SimHome(around.disk, leg, tag, prepare=self._prepare(leg, draw))
        home.on_write = lambda path, data: truth.states.append(
            (truth.now(), leg.id, tag, trace.incarnation, path, data, False)
        )
        product = Product(leg, draw, home, around.roots, self._strike(leg.id), around.later)
        secrets = tuple(self._given.request.secrets[name] for name in leg.secrets)
        if "leak" in draw.faults and secrets:
            home.secrets = tuple(f"workspace/run.log: {name}" for name in leg.secrets)
        commands = SimCommands(self._programs, home, self._redactor)
        commands.command = product
        commands.check_seconds = draw.verify
        agent: SimAgent | None = None
        if leg.prompts is not None:
            actor = Actor(leg, draw, product, self._strike(leg.id), secrets)
            commands.check = actor.check
            missing = draw.faults.get("agent_missing")
            agent = SimAgent(leg.prompts, actor, home, commands, missing="claude: not found" if missing else "")
            agent.redactor = self._redactor
            agent.trace = trace
        return SimHostedLeg(
            leg,
            self.clock,
            OwnedHome(home, life, truth, trace, around.roots),
            OwnedCommands(commands, life),
            OwnedAgent(agent, life) if agent is not None else None,
            self._signals,
            position if self.assignment.resources.gpus > 0 else None,
            trace,
        )

    def _prepare(self, leg: LegPlan, draw: LegDraw) -> float:
        fault = draw.faults.get("prepare_fails")
        if fault is None:
            return draw.prepare
        self._around.truth.strike(fault, leg.id)
        return leg.budgets.prepare * 10

    def _strike(self, leg: str) -> Callable[[Fault, str], None]:
        return lambda fault, detail: self._around.truth.strike(fault, leg, detail)
