"""From plan, scenario and seed to what each leg and workload will go through: every die is cast here, by name."""

from __future__ import annotations

import fnmatch
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gate.plan.model import LegPlan, Plan, WorkloadPlan
from gate.simulate.dice import Dice
from gate.simulate.engine_items import Course
from gate.simulate.menu import MENU
from gate.simulate.scenario import Durations, Fault, LegCourse, Result, Scenario, Span

SCRIPTED_INSTALL = Span(0.2, 0.5, of_budget=True)
LOCAL_WAKE = Span(0.2, 1.0)

TURNS = frozenset(kind for kind in MENU if kind.startswith("turn_"))
TIMED = frozenset({"vanish", "oom", "evict", "node_lost", "timeout", "preempt"})


@dataclass(frozen=True, slots=True)
class LegDraw:
    """One leg's course, in seconds. `faults` are those that happen to it, by kind; `turns` those of its turns."""

    prepare: float
    install: float
    verify: float
    launch: float
    first_state: float
    writes: int
    """Progress before the last word."""
    gap: float
    result: Result
    faults: Mapping[str, Fault]
    turns: tuple[tuple[Fault, random.Random], ...]

    @property
    def task(self) -> float:
        """From the launch to the last word."""
        return self.first_state + self.writes * self.gap


@dataclass(frozen=True, slots=True)
class Timed:
    """A fault that befalls the workload at a time; `offset`: seconds after it began to run, where no time is given."""

    fault: Fault
    workload: str
    at: float | None
    offset: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """Everything that was drawn. `span`: about how long the whole takes, in seconds."""

    legs: Mapping[str, LegDraw]
    courses: Mapping[str, Course]
    """By workload; without a process."""
    timed: tuple[Timed, ...]
    span: float
    happening: tuple[tuple[Fault, str], ...]
    """Faults that happen once and were drawn to happen, each with its leg or workload."""


def draw(plan: Plan, scenario: Scenario, dice: Dice) -> Drawn:
    """Cast every die for this plan."""
    happening = tuple(_happening(plan, scenario, dice))
    legs = {leg.id: _leg(leg, scenario, happening, dice) for leg in plan.legs}
    courses = {w.id: _course(plan, w, scenario.durations, happening, dice) for w in plan.workloads}
    spans = {w.id: _span(w, legs) for w in plan.workloads}
    timed = tuple(
        Timed(fault, subject, fault.at, dice.part(f"when/{number}/{subject}") * spans[subject])
        for number, (fault, subject) in enumerate(happening)
        if fault.kind in TIMED
    )
    longest = max((spans[w.id] + _finite(courses[w.id].queue) for w in plan.workloads), default=60.0)
    return Drawn(legs, courses, timed, longest, happening)


def hit(fault: Fault, plan: Plan) -> tuple[str, ...]:
    """The legs that the fault's globs name."""
    if not fault.legs:
        return tuple(leg.id for leg in plan.legs)
    return tuple(leg.id for leg in plan.legs if any(fnmatch.fnmatchcase(leg.id, glob) for glob in fault.legs))


def workloads_hit(fault: Fault, plan: Plan) -> tuple[str, ...]:
    """The workloads that carry those legs."""
    legs = set(hit(fault, plan))
    return tuple(w.id for w in plan.workloads if legs & set(w.legs))


def seconds_of(fault: Fault) -> float:
    """Its `seconds`, or the menu's."""
    found = fault.seconds if fault.seconds is not None else MENU[fault.kind].seconds
    return 0.0 if found is None else found


def window_of(fault: Fault) -> tuple[float, float]:
    """From when until when it holds. One with a probability for each call holds on unless it says otherwise."""
    start = fault.at or 0.0
    if fault.lasts is not None:
        return start, start + fault.lasts
    if fault.at is None and fault.probability is not None:
        return start, math.inf
    return start, start + (MENU[fault.kind].lasts or math.inf)


WORKLOAD_KINDS = TIMED | {
    "create_refused",
    "create_unclear",
    "create_lost",
    "create_twice",
    "queue",
    "image_hang",
    "image_missing",
    "unschedulable",
}
LEG_KINDS = frozenset(
    kind
    for kind, item in MENU.items()
    if "legs" in item.fields and not item.each and kind not in WORKLOAD_KINDS and kind not in TURNS
)


def _happening(plan: Plan, scenario: Scenario, dice: Dice) -> Iterator[tuple[Fault, str]]:
    for number, fault in enumerate(scenario.faults):
        if fault.kind in WORKLOAD_KINDS:
            subjects = workloads_hit(fault, plan)
        elif fault.kind in LEG_KINDS:
            subjects = hit(fault, plan)
        else:
            continue
        for subject in subjects:
            if fault.probability is None or dice.part(f"whether/{number}/{subject}") < fault.probability:
                yield fault, subject


def _leg(leg: LegPlan, scenario: Scenario, happening: tuple[tuple[Fault, str], ...], dice: Dice) -> LegDraw:
    course = LegCourse()
    for glob, found in scenario.legs.items():
        if fnmatch.fnmatchcase(leg.id, glob):
            course = found
    usual, budgets, name = scenario.durations, leg.budgets, f"leg/{leg.id}"
    faults: dict[str, Fault] = {
        fault.kind: fault for fault, subject in happening if subject == leg.id and fault.kind in LEG_KINDS
    }

    def more(kind: str) -> float:
        return seconds_of(faults[kind]) if kind in faults else 0.0

    def span(what: str, own: Span | None, other: Span, budget: float) -> float:
        return dice.span(f"{name}/{what}", own or other, budget)

    scripted = leg.agent is not None and leg.agent.kind == "scripted"
    task = span("task", course.task, usual.task, budgets.task)
    first = span("first_state", course.first_state, usual.first_state, task)
    first = (first if course.first_state else min(first, task / 5)) + more("task_late")
    every = span("every", course.every, usual.every, task)
    every = every if course.every else min(every, task / 8)
    task = max(task, first) + more("task_long")
    writes = max(1, round((task - first) / max(every, 1.0)))
    return LegDraw(
        prepare=span("prepare", course.prepare, usual.prepare, budgets.prepare),
        install=span("install", course.install, SCRIPTED_INSTALL if scripted else usual.install, budgets.setup)
        + more("setup_long"),
        verify=min(span("verify", course.verify, usual.verify, budgets.turn), budgets.turn / 4),
        launch=min(span("launch", course.launch, usual.launch, budgets.turn), budgets.turn / 2),
        first_state=first,
        writes=writes,
        gap=max((task - first) / writes, 0.001),
        result=course.result,
        faults=faults,
        turns=tuple(_turns(leg, scenario, dice)),
    )


def _turns(leg: LegPlan, scenario: Scenario, dice: Dice) -> Iterator[tuple[Fault, random.Random]]:
    for number, fault in enumerate(scenario.faults):
        if fault.kind in TURNS and (not fault.legs or any(fnmatch.fnmatchcase(leg.id, g) for g in fault.legs)):
            yield fault, dice.of(f"turns/{number}/{leg.id}")


def _course(
    plan: Plan, workload: WorkloadPlan, usual: Durations, happening: tuple[tuple[Fault, str], ...], dice: Dice
) -> Course:
    faults = {fault.kind: fault for fault, subject in happening if subject == workload.id}
    name, local = f"workload/{workload.id}", plan.engine.kind == "local"
    queue = dice.span(f"{name}/wake", LOCAL_WAKE if local else usual.wake)
    if not local:
        queue += dice.span(f"{name}/queue", usual.queue) + dice.span(f"{name}/pull", usual.pull)
    if "queue" in faults:
        queue += seconds_of(faults["queue"])
    for kind, create in (
        ("create_refused", "refused"),
        ("create_unclear", "unclear"),
        ("create_lost", "unclear_lost"),
        ("create_twice", "twice"),
    ):
        if kind in faults:
            return Course(queue=queue, create=create, create_time=10.0 if "unclear" in create else 0.5)  # type: ignore[arg-type]
    if "image_hang" in faults:
        return Course(queue=math.inf, waits="pulling the image")
    if "image_missing" in faults:
        return Course(queue=math.inf, waits_for="image_unavailable", waits="manifest unknown")
    if "unschedulable" in faults:
        return Course(queue=math.inf, waits_for="unschedulable", waits="no node fits")
    return Course(queue=queue, waits="waiting for a place" if "queue" in faults else "")


def _span(workload: WorkloadPlan, legs: Mapping[str, LegDraw]) -> float:
    mine = [legs[leg] for leg in workload.legs]
    return min(workload.timeout, max((d.prepare + d.install + d.launch + d.task for d in mine), default=60.0))


def _finite(seconds: float) -> float:
    return seconds if seconds < math.inf else 0.0
