"""Random scenarios: how the world behaves and what goes wrong when, sized after the plan's own budgets."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from gate.plan.model import Plan
from gate.simulate.menu import MENU, Kind
from gate.simulate.scenario import Durations, Fault, LegCourse, Rerun, Result, Scenario, Span

WEIGHTS: Mapping[str, int] = {
    "kill_poller": 10,
    "kill_dispatcher": 4,
    "kill_supervisor": 2,
    "kill_bootstrap": 2,
    "cancel": 4,
    "newer_run": 4,
    "leak": 3,
    "task_stall": 4,
    "launch_nothing": 3,
    "root_hangs": 4,
    "create_unclear": 3,
    "preempt": 3,
    "state_torn": 3,
    "state_foreign": 3,
    "api_timeout": 2,
    "api_401": 3,
    "api_refused": 2,
    "list_lag": 3,
    "api_incomplete": 3,
    "root_gone": 3,
}
"""How often a kind is drawn, where not once: what the two promises hang on comes more often."""

RESULTS: tuple[tuple[Result, int], ...] = (
    ("pass", 60),
    ("fail", 14),
    ("over_limit", 10),
    ("missing", 6),
    ("never", 10),
)
TOGETHER: Mapping[str, tuple[Kind, ...]] = {
    "list_lag": ("kill_dispatcher",),
    "create_unclear": ("list_lag",),
    "kill_poller": ("root_hangs", "disk_full", "kill_poller"),
    "cancel": ("root_hangs", "api_timeout"),
}
"""What is worst in company: a second fault that every other time comes with the first."""
COUNTS = (0, 1, 1, 1, 2, 2, 3, 5)
"""How many faults a gate meets."""


def random_scenario(rng: Random, plan: Plan) -> Scenario:
    """A scenario for `plan`. The same `rng` state gives the same scenario."""
    kinds = list(MENU)
    weights = [WEIGHTS.get(kind, 1) for kind in kinds]
    drawn = rng.choices(kinds, weights, k=rng.choice(COUNTS))
    drawn += [rng.choice(TOGETHER[kind]) for kind in drawn if kind in TOGETHER and rng.random() < 0.5]
    faults = [_fault(rng, plan, kind) for kind in drawn]
    return Scenario(
        name="",
        durations=_durations(rng),
        legs={leg.id: LegCourse(result=_result(rng)) for leg in plan.legs},
        faults=tuple(faults),
        reruns=tuple(Rerun(after=rng.choice((30.0, 600.0)), fresh=rng.random() < 0.3) for _ in range(_reruns(rng))),
        neighbours=rng.random() < 0.3,
    )


def _reruns(rng: Random) -> int:
    return rng.choices((0, 1, 2), (85, 12, 3))[0]


def _result(rng: Random) -> Result:
    return rng.choices([result for result, _ in RESULTS], [weight for _, weight in RESULTS])[0]


def _durations(rng: Random) -> Durations:
    """A world whose set-up and task fit their budgets in the ordinary case."""
    return Durations(
        queue=Span(0, 120),
        pull=Span(60, 240),
        install=Span(0.1, 0.6, of_budget=True),
        launch=Span(30, 120),
        first_state=Span(60, 300),
        every=Span(120, 300),
        task=Span(0.3, 0.92, of_budget=True),
    )


def _fault(rng: Random, plan: Plan, kind: Kind) -> Fault:
    item = MENU[kind]
    horizon = _horizon(plan)
    at = rng.choice((rng.uniform(0, horizon), rng.uniform(0, horizon / 3), None))
    probability = rng.choice((None, 0.1, 0.5)) if item.each or "turn" in item.fields else None
    if probability is not None and rng.random() < 0.5:
        at = None
    kill = kind.startswith("kill_")
    step = _step(rng, plan, kind) if kill and "step" in item.fields else None
    if kill:
        probability, at = None, at if step is None else None
    return Fault(
        kind=kind,
        at=None if at is None or "at" not in item.fields else round(at, 1),
        probability=probability if "probability" in item.fields else None,
        lasts=_lasts(rng, plan) if "lasts" in item.fields else None,
        legs=_legs(rng, plan) if "legs" in item.fields else (),
        seconds=_seconds(rng, plan, kind) if "seconds" in item.fields else None,
        turn=rng.choice((None, 1, 2, 3)) if "turn" in item.fields else None,
        who=rng.choice((None, "poller", "workload", "dispatcher")) if "who" in item.fields else None,
        step=step,
        side=rng.choice(("before", "after")) if kill else "before",
        restart=rng.choice((1.0, 5.0, 30.0, 300.0, 1200.0)) if "restart" in item.fields else 30.0,
        signal=rng.choice((2, 15)) if "signal" in item.fields else 15,
    )


def _step(rng: Random, plan: Plan, kind: Kind) -> int | None:
    """At which change: a dispatcher makes few, and the worst moments are around its creates."""
    if kind == "kill_dispatcher":
        count = len(plan.workloads)
        creating = rng.randint(count + 6, 4 * count + 7)
        return rng.choice((None, creating, creating, creating, rng.randint(1, 40)))
    return rng.choice((None, rng.randint(1, 12), rng.randint(1, 60), rng.randint(1, 200)))


def _horizon(plan: Plan) -> float:
    """About how long the gate takes."""
    return max(workload.timeout for workload in plan.workloads) * 0.8


def _legs(rng: Random, plan: Plan) -> tuple[str, ...]:
    return () if rng.random() < 0.3 else (rng.choice(plan.legs).id,)


def _lasts(rng: Random, plan: Plan) -> float | None:
    """Short of a budget, about as long, or far longer."""
    return rng.choice((None, 45.0, 200.0, plan.poll.outage * 0.6, plan.poll.outage * 1.5, plan.poll.outage * 3, 7200.0))


def _seconds(rng: Random, plan: Plan, kind: Kind) -> float:
    if kind.startswith("clock_"):
        return rng.choice((-900.0, -200.0, 200.0, 900.0))
    if kind == "api_slow":
        return rng.choice((2.0, 20.0, 100.0))
    if kind == "list_lag":
        return rng.choice((10.0, 30.0, 90.0))
    if kind == "queue":
        return rng.choice((120.0, plan.poll.queue * 1.5))
    if kind == "state_delayed":
        return rng.choice((10.0, 45.0))
    return rng.choice((60.0, 300.0, 1200.0))
