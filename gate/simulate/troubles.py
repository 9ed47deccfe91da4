"""The faults of a scenario, as windows, kill points, skews and things that happen at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import trio

from gate.contracts import EndReason
from gate.errors import WorkloadNotFound
from gate.plan.model import Plan
from gate.simulate.content import Content
from gate.simulate.dice import Dice
from gate.simulate.draw import Drawn, Timed, seconds_of, window_of, workloads_hit
from gate.simulate.engine_items import Course
from gate.simulate.faults import Blind, Blur
from gate.simulate.life import KillPoints
from gate.simulate.menu import Kind
from gate.simulate.outside import ReportWindow
from gate.simulate.played import Role
from gate.simulate.roots import RootWindow
from gate.simulate.scenario import Fault, Scenario, Who
from gate.simulate.truth import Truth
from gate.simulate.views import ViewFault

if TYPE_CHECKING:
    from gate.simulate.world import World

_API: Mapping[Kind, str] = {
    "api_refused": "refused",
    "api_timeout": "timed_out",
    "api_401": "rejected",
    "api_403": "forbidden",
    "api_5xx": "unavailable",
    "api_html": "error",
    "api_slow": "slow",
}
_BLURS: Mapping[Kind, str] = {
    "api_404": "missing",
    "api_incomplete": "incomplete",
    "list_duplicate": "duplicate",
    "phase_backwards": "backwards",
}
_VIEWS: Mapping[Kind, str] = {
    "state_unreadable": "unreadable",
    "state_stale": "stale",
    "state_foreign": "foreign",
    "state_delayed": "delayed",
}
_OTHERS = ("reports_limited", "reports_down", "clock_skew", "clock_jump", "list_lag")
_FROM_THE_START = (
    *("queue", "image_hang", "image_missing", "unschedulable", "agent_missing"),
    *("setup_long", "task_long", "task_late", "state_stray"),
)
_ROOTS = ("disk_full", "root_hangs", "root_gone")
_ENDS: Mapping[Kind, tuple[EndReason, int | None]] = {
    "oom": ("out_of_memory", 137),
    "evict": ("evicted", None),
    "node_lost": ("node_lost", None),
    "timeout": ("timeout", 124),
}
_KILLS: Mapping[Role, Kind] = {
    "dispatcher": "kill_dispatcher",
    "poller": "kill_poller",
    "supervisor": "kill_supervisor",
    "bootstrap": "kill_bootstrap",
}


class Troubles:
    """All faults of one play, sorted by what they do."""

    def __init__(self, plan: Plan, scenario: Scenario, dice: Dice, drawn: Drawn) -> None:
        self._plan = plan
        self._faults = scenario.faults
        self._dice = dice
        self._drawn = drawn
        self._views = tuple(self._view_faults())

    # --- windows -------------------------------------------------------------------------------------

    def api(self) -> tuple[Blind, ...]:
        """When calls to the engine fail."""
        found = [f for f in self._faults if f.kind in _API]
        return tuple(
            Blind(*window_of(f), _API[f.kind], seconds_of(f), _chance(f))  # type: ignore[arg-type]
            for f in found
        )

    def blurs(self, workload_of: Callable[[str], str]) -> tuple[Blur, ...]:
        """When answers of the engine lie, and about which workloads."""
        return tuple(
            Blur(*window_of(f), _BLURS[f.kind], self._about(f, workload_of), _chance(f))  # type: ignore[arg-type]
            for f in self._faults
            if f.kind in _BLURS
        )

    def _about(self, fault: Fault, workload_of: Callable[[str], str]) -> Callable[[str], bool]:
        wanted = set(workloads_hit(fault, self._plan))
        return lambda engine_id: workload_of(engine_id) in wanted

    def views(self) -> tuple[ViewFault, ...]:
        """When the poller sees a leg's files wrongly."""
        return self._views

    def _view_faults(self) -> list[ViewFault]:
        found: list[ViewFault] = []
        for fault, leg in self._drawn.happening:
            if fault.kind in _VIEWS:
                start, end = window_of(fault)
                other = Content(self._plan.leg(leg).judge).final("pass")
                found.append(ViewFault(_VIEWS[fault.kind], leg, start, end, seconds_of(fault), 1.0, other))  # type: ignore[arg-type]
        return found

    def roots(self, who: Who) -> tuple[RootWindow, ...]:
        """When the shared root fails these processes."""
        found = [f for f in self._faults if f.kind in _ROOTS and f.who in (None, who)]
        return tuple(RootWindow(f.kind, *window_of(f)) for f in found)  # type: ignore[arg-type]

    def reports(self) -> tuple[ReportWindow, ...]:
        """When reports fail."""
        found = [f for f in self._faults if f.kind in ("reports_limited", "reports_down")]
        return tuple(ReportWindow(*window_of(f), f.kind == "reports_down", _chance(f)) for f in found)

    def skews(self, who: Who) -> tuple[tuple[float, float], ...]:
        """(from when on, seconds) of these processes' wall clock."""
        return tuple(
            (self._window_start(f, number), seconds_of(f))
            for number, f in enumerate(self._faults)
            if f.kind in ("clock_skew", "clock_jump") and f.who in (None, who)
        )

    def _window_start(self, fault: Fault, number: int) -> float:
        """From when on it holds; a jump without a time happens at some moment."""
        return self._moment(fault, number) if fault.kind == "clock_jump" else window_of(fault)[0]

    def list_lag(self) -> float:
        """Seconds."""
        return max((seconds_of(f) for f in self._faults if f.kind == "list_lag"), default=0.0)

    # --- deaths --------------------------------------------------------------------------------------

    def kill_points(self, role: Role, subject: str) -> KillPoints | None:
        """When processes of this role die at what they do; None: never."""
        found = [
            (fault, self._dice.of(f"kill/{number}/{subject}"))
            for number, fault in enumerate(self._faults)
            if fault.kind == _KILLS.get(role)
            and (fault.step is not None or (fault.probability is not None and fault.at is None))
            and (not subject or subject in workloads_hit(fault, self._plan))
        ]
        return KillPoints(found) if found else None

    async def after_death(self, world: World, engine_id: str, fault: Fault) -> None:
        """What the engine makes of a workload whose supervisor is dead."""
        try:
            if fault.restart is None:
                await world.engine.end(engine_id, "lost")
            else:
                await world.engine.preempt(engine_id, fault.restart)
        except WorkloadNotFound:
            return  # it vanished in the same moment

    # --- things that happen --------------------------------------------------------------------------

    def newer_at(self) -> float | None:
        """When a newer run begins to wait."""
        return next((self._moment(f, n) for n, f in enumerate(self._faults) if f.kind == "newer_run"), None)

    def cancels(self) -> tuple[tuple[float, Fault], ...]:
        """When somebody cancels."""
        return tuple((self._moment(f, n), f) for n, f in enumerate(self._faults) if f.kind == "cancel")

    def begin(self, world: World) -> None:
        """Set up everything that happens at a time of its own."""
        for at, fault, subject in self._windows():
            self._at(world, at, lambda f=fault, s=subject: world.truth.strike(f, s))  # type: ignore[misc]
        for timed in self._drawn.timed:
            if timed.at is not None:
                self._at(world, timed.at, lambda timed=timed: self._befall(world, timed))  # type: ignore[misc]
        for number, fault in enumerate(self._faults):
            role = next((role for role, kind in _KILLS.items() if kind == fault.kind), None)
            if role is None or fault.step is not None or (fault.probability is not None and fault.at is None):
                continue
            if fault.probability is None or self._dice.part(f"whether/{number}") < fault.probability:
                self._at(world, self._moment(fault, number), lambda f=fault, r=role: self._kill(world, f, r))  # type: ignore[misc]

    def _windows(self) -> Iterator[tuple[float, Fault, str]]:
        """When faults begin that nobody else writes down, with the leg, workload or process they are about."""
        for number, fault in enumerate(self._faults):
            if fault.kind in (*_API, *_BLURS, *_ROOTS, *_OTHERS):
                yield self._window_start(fault, number), fault, fault.who or ", ".join(fault.legs)
        for fault, subject in self._drawn.happening:
            if fault.kind in (*_VIEWS, *_FROM_THE_START):
                yield window_of(fault)[0], fault, subject

    def begun(self, world: World, workload: str, engine_id: str) -> None:
        """A workload of the run under test has begun to run for the first time."""
        for timed in self._drawn.timed:
            if timed.workload == workload and timed.at is None:
                world.later(timed.offset, lambda timed=timed: self._befall(world, timed))  # type: ignore[misc]

    def struck(self, truth: Truth, workload: str, course: Course) -> None:
        """Write down that a create went wrong."""
        for fault, subject in self._drawn.happening:
            if subject == workload and fault.kind.startswith("create_"):
                truth.strike(fault, workload, course.create)

    def _at(self, world: World, at: float, what: Callable[[], None]) -> None:
        world.later(max(0.0, at - trio.current_time()), what)

    def _moment(self, fault: Fault, number: int) -> float:
        """When it happens: as it says, or at a moment of the run."""
        if fault.at is not None:
            return fault.at
        return self._dice.part(f"moment/{number}") * self._drawn.span

    def _kill(self, world: World, fault: Fault, role: Role) -> None:
        wanted = set(workloads_hit(fault, self._plan))
        for life in world.lives:
            subject = life.name.removeprefix(f"{role}-").rpartition("-")[0]
            if life.role == role and life.alive and (not subject or subject in wanted):
                life.kill(fault)

    def _befall(self, world: World, timed: Timed) -> None:
        world.nursery.start_soon(self._strike_workload, world, timed)

    async def _strike_workload(self, world: World, timed: Timed) -> None:
        fault = timed.fault
        for known in await world.engine.known():
            request = known.request
            if known.end is not None or not world.tests(request) or request.workload != timed.workload:
                continue
            world.truth.strike(fault, timed.workload, known.id)
            if fault.kind == "vanish":
                await world.engine.vanish(known.id)
            elif fault.kind == "preempt":
                await world.engine.preempt(known.id, seconds_of(fault))
            else:
                await world.engine.end(known.id, *_ENDS[fault.kind])


def _chance(fault: Fault) -> float:
    return 1.0 if fault.probability is None else fault.probability
