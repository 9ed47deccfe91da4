"""One simulated world: an engine, a shared root, a runner, and every process that a gate needs, each with its life."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Generic, TypeVar

import trio
from anyio.abc import TaskGroup

from gate.contracts import LegFiles, NewerRun, Reporter, Store, WorkloadRequest
from gate.errors import GateError
from gate.plan.model import Plan
from gate.rundir.formats import Attempt
from gate.simulate.clock import OwnedClock, SimClock
from gate.simulate.dice import Dice
from gate.simulate.draw import Drawn, draw
from gate.simulate.engine import CAPABILITIES, SimEngine
from gate.simulate.engine_items import Course, SimProcess
from gate.simulate.faults import FaultyEngine
from gate.simulate.handles import OwnedEngine, OwnedLegFiles, OwnedReporter, OwnedStore
from gate.simulate.host import Surroundings
from gate.simulate.legfiles import MemoryLegFiles
from gate.simulate.life import KillPoints, Life, survived
from gate.simulate.outside import SimNotes, SimReporter, SimSupersede
from gate.simulate.played import Process, Role
from gate.simulate.roots import FaultyStore, RootedLegFiles, RootFaults
from gate.simulate.scenario import Fault, Scenario, Who
from gate.simulate.store import MemoryDisk, MemoryStore
from gate.simulate.supervisor import Supervisor
from gate.simulate.troubles import Troubles
from gate.simulate.truth import Truth
from gate.simulate.views import BlurredLegFiles

T = TypeVar("T")
Reporters = Callable[[Attempt], Sequence[Reporter]]

RUN = "simulated"
NEWER = "simulated-newer"
ENGINE_GRACE = 60.0
"""Seconds from an engine's stop to its force: longer than a supervisor needs for its own."""


@dataclass(frozen=True, slots=True)
class RunSpace:
    """One run of the world: what it decides, and its directory."""

    run: str
    plan: Plan
    disk: MemoryDisk


@dataclass(frozen=True, slots=True)
class Ended(Generic[T]):
    """How a process ended: with a value, with a GateError, or killed (neither)."""

    value: T | None
    error: str
    exit_code: int | None
    killed_by: Fault | None
    killed: bool


@dataclass
class World:
    """Made by `build`, inside a trio run."""

    plan: Plan
    scenario: Scenario
    dice: Dice
    drawn: Drawn
    troubles: Troubles
    truth: Truth
    tasks: TaskGroup
    nursery: trio.Nursery
    reporters: Reporters | None
    engine: SimEngine = field(init=False)
    runs: dict[str, RunSpace] = field(default_factory=dict)
    notes: SimNotes = field(default_factory=SimNotes)
    lives: list[Life] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)
    run: str = RUN
    """The run under test."""
    foreign: set[str] = field(default_factory=set)
    """Engine ids of workloads that were there before."""
    stale: set[str] = field(default_factory=set)
    """Of those, the ones that may be reaped."""
    _counts: dict[str, int] = field(default_factory=dict)
    _points: dict[str, KillPoints | None] = field(default_factory=dict)

    # --- processes -----------------------------------------------------------------------------------

    def life(self, role: Role, subject: str = "", parent: Life | None = None) -> Life:
        """The next incarnation of a process. `subject`: the workload it belongs to."""
        name = f"{role}-{subject}" if subject else role
        count = self._counts[name] = self._counts.get(name, 0) + 1
        if name not in self._points:
            self._points[name] = self.troubles.kill_points(role, subject)
        life = Life(f"{name}-{count}", role, self._points[name], self.truth.died, parent)
        self.lives.append(life)
        return life

    def clock(self, life: Life) -> OwnedClock:
        """Its clocks."""
        who: Who = "dispatcher" if life.role == "dispatcher" else "workload" if _inside(life) else "poller"
        return OwnedClock(life, 1000.0 * len(self.lives), self.troubles.skews(who))

    async def process(self, role: Role, body: Callable[[Life], Awaitable[T]]) -> Ended[T]:
        """Run one incarnation of a runner's process to its end."""
        life = self.life(role)
        value, error, code, killed = None, "", None, False
        try:
            with life.scope:
                value = await body(life)
                code = getattr(value, "exit_code", 0)
        except BaseException as raised:  # noqa: BLE001 - sorted out below, and what is no expected end goes on
            rest = survived(raised)
            expected = _expected(rest) if rest is not None else []
            if rest is not None and not expected:
                raise rest from None
            error, code = (
                "; ".join(dict.fromkeys(map(str, expected))),
                max((e.exit_code for e in expected), default=None),
            )
        killed = not life.alive
        self.ended(life, None if killed else code, "" if killed else error)
        return Ended(None if killed else value, error, code, life.killed_by, killed)

    def ended(self, life: Life, code: int | None, error: str) -> None:
        """Write down the end of a process."""
        now, killed = trio.current_time(), not life.alive
        life.end()
        self.truth.processes.append(
            Process(life.name, life.role, life.began, now, killed, code, error, tuple(life.steps))
        )

    # --- what a process is given ---------------------------------------------------------------------

    def engine_of(self, life: Life) -> OwnedEngine:
        """The engine, as that process may use it."""
        blind, blurs = self.troubles.api(), self.troubles.blurs(self._workload_of)
        if not blind and not blurs:
            return OwnedEngine(self.engine, life, self.truth)

        def dice(call: str) -> Random:
            return self.dice.of(f"api/{life.name}/{call}")

        faulty = FaultyEngine(self.engine, SimClock(), blind, 0.0, blurs, dice)
        return OwnedEngine(faulty, life, self.truth)

    def store_of(self, life: Life, run: str) -> OwnedStore:
        """A run's directory."""
        store: Store = MemoryStore(self.runs[run].disk)
        roots = self.roots(life)
        return OwnedStore(FaultyStore(store, roots) if roots else store, life, self.truth, run)

    def files_of(self, life: Life, run: str) -> OwnedLegFiles:
        """The look at its legs."""
        files: LegFiles = MemoryLegFiles(self.runs[run].disk)
        views = self.troubles.views() if run == RUN else ()
        if views:
            files = BlurredLegFiles(files, views, self.dice.of(f"views/{life.name}"))
        roots = self.roots(life)
        return OwnedLegFiles(RootedLegFiles(files, roots) if roots else files, life, self.truth)

    def roots(self, life: Life) -> RootFaults:
        """When the shared root fails it."""
        who: Who = "dispatcher" if life.role == "dispatcher" else "workload" if _inside(life) else "poller"
        return RootFaults(self.troubles.roots(who))

    def reporters_of(self, life: Life, attempt: Attempt) -> tuple[OwnedReporter, ...]:
        """Where its reports go."""
        own: list[Reporter] = [SimReporter(self.troubles.reports(), self.dice.of(f"reports/{life.name}"))]
        if self.reporters is not None:
            own += self.reporters(attempt)
        return tuple(OwnedReporter(each, life, self.truth) for each in own)

    def supersede_of(self, run: str) -> SimSupersede:
        """Whether a newer run waits behind this one."""
        at = self.troubles.newer_at() if run == RUN else None
        return SimSupersede(at, NewerRun(NEWER, "n" * 40, ""))

    def _workload_of(self, engine_id: str) -> str:
        request = self.engine.request(engine_id)
        return request.workload if request is not None and self.tests(request) else ""

    def owns(self, request: WorkloadRequest) -> bool:
        """Is it a workload of a run that is played here, and not a neighbour's?"""
        ours = (request.repository, request.gate, request.ref) == (self.plan.repository, self.plan.gate, self.plan.ref)
        return ours and request.run in (RUN, NEWER)

    def tests(self, request: WorkloadRequest) -> bool:
        """Is it of the run under test?"""
        return request.run == RUN and self.owns(request)

    # --- workloads -----------------------------------------------------------------------------------

    def course(self, request: WorkloadRequest) -> Course:
        """What a workload that is asked for will go through."""
        ours = (request.repository, request.gate) == (self.plan.repository, self.plan.gate)
        if request.run not in self.runs or not ours:
            return Course()
        base = self.drawn.courses[request.workload]
        if request.run != RUN:
            base = replace(base, create="answered")
        if base.create != "answered":
            self.troubles.struck(self.truth, request.workload, base)
        return replace(base, process=self._workload, grace=ENGINE_GRACE)

    async def _workload(self, given: SimProcess) -> int:
        """The life of one start of a workload, as its engine runs it."""
        request = given.request
        space = self.runs[request.run]
        life = self.life("supervisor", request.workload)
        given.deaths.append(life.die)
        around = Surroundings(
            disk=space.disk,
            truth=self.truth,
            roots=self.roots(life),
            legs=self.drawn.legs,
            clock=self.clock,
            bootstrap=lambda _given, parent: self.life("bootstrap", request.workload, parent),
            later=self.later,
            ended=lambda life, status: self.ended(life, status, ""),
        )
        if given.restarts == 0 and request.run == RUN:
            self.troubles.begun(self, request.workload, given.id)
        code: int | None = None
        try:
            with life.scope:
                code = await Supervisor(given, life, around, self.store_of(life, request.run)).run()
        finally:
            self.ended(life, code, "")
            if life.killed_by is not None:
                await self.troubles.after_death(self, given.id, life.killed_by)  # answers without leaving the loop
        return 137 if code is None else code

    def later(self, seconds: float, what: Callable[[], None]) -> None:
        """Do something so many seconds from now."""

        async def wait() -> None:
            await trio.sleep(seconds)
            what()

        self.nursery.start_soon(wait)


def build(
    plan: Plan, scenario: Scenario, seed: int, tasks: TaskGroup, nursery: trio.Nursery, reporters: Reporters | None
) -> World:
    """The world before anything happens."""
    dice = Dice(seed)
    drawn = draw(plan, scenario, dice)
    troubles = Troubles(plan, scenario, dice, drawn)
    world = World(plan, scenario, dice, drawn, troubles, Truth(), tasks, nursery, reporters)
    world.secrets = {
        ref.name: f"sim-{ref.name}-{dice.of(f'secret/{ref.name}').getrandbits(64):016x}" for ref in plan.secrets
    }
    capabilities = replace(CAPABILITIES, list_lag=troubles.list_lag())
    world.engine = SimEngine(SimClock(), tasks, world.course, capabilities)
    world.runs[RUN] = RunSpace(RUN, plan, MemoryDisk())
    return world


def _inside(life: Life) -> bool:
    return life.role in ("supervisor", "bootstrap")


def _expected(error: BaseException) -> list[GateError]:
    """The GateErrors it is made of; empty where it is anything else too."""
    if isinstance(error, GateError):
        return [error]
    if isinstance(error, ExceptionGroup):  # noqa: F821 - simulations run at the runner, on Python 3.11 or newer
        inner = [_expected(each) for each in error.exceptions]
        return [e for each in inner for e in each] if all(inner) else []
    return []
