"""Made-up runs that are looked at: in tests, in a browser, and when the page is worked on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from gate.contracts import TurnEnd
from gate.machines.verdict import Reason, Scalar
from tests.report.html.course import Course
from tests.report.html.made import Made, Watching, agent_leg, command_leg, make_run, plan_of

OK, LATE, CUT = TurnEnd.COMPLETED, TurnEnd.TIMED_OUT, TurnEnd.FAILED
HOSTILE = '</script><img src=x onerror="document.title=1"><!--<script>\u202egnp\x1b[31m{{ 7*7 }}&lt;\u2028"\''
"""Ends a script, loads an image, opens a comment, turns text round, colours it, is a template, is half escaped."""

NAMES = (
    "baremetal-vllm-3h",
    "baremetal-vllm-12h",
    "baremetal-sglang-3h",
    "baremetal-sglang-12h",
    "docker-vllm-3h",
    "docker-vllm-12h",
    "docker-sglang-3h",
    "docker-sglang-12h",
)
HOUR = 3600.0


def eight(watching: Watching | None = None, **courses: Course) -> Made:
    """The reference gate: eight legs of 3 and 12 hours, on a night with an outage."""
    usual: dict[str, Course] = {}
    for index, name in enumerate(NAMES):
        hours = 10.6 if name.endswith("12h") else 2.7
        turns = ((900.0 + 60 * index, OK),) if index % 3 else ((700.0, OK), (1200.0, LATE), (240.0, OK))
        usual[name] = Course(
            queue=120.0 + 400 * index,
            prepare=40.0,
            turns=turns,
            run=hours * HOUR,
            silent=(5000.0, 2400.0 + 300 * index),
        )
    for name, course in courses.items():
        usual[name.replace("_", "-")] = course
    legs = [
        agent_leg(name, budgets=replace(agent_leg(name).budgets, task=13 * HOUR if name.endswith("12h") else 4 * HOUR))
        for name in NAMES
    ]
    plan = plan_of(legs, fail_fast=False, keep_on_fail=4 * HOUR)
    workloads = tuple(replace(each, timeout=(15 if each.id.endswith("12h") else 6) * HOUR) for each in plan.workloads)
    return make_run(replace(plan, workloads=workloads), usual, watching or Watching(engine_blind=((14000.0, 15100.0),)))


def passing() -> Made:
    """GO."""
    return eight()


def failing() -> Made:
    """NO-GO: one leg fails, one never sets up, one never starts; two are kept."""
    return eight(
        Watching(engine_blind=((9000.0, 9900.0),), away=((20000.0, 22000.0),)),
        docker_vllm_3h=Course(
            queue=300.0,
            turns=((800.0, OK), (900.0, OK)),
            run=2.5 * HOUR,
            state={"done": True, "stop_reason": "gave_up", "gain": 0.4},
        ),
        docker_sglang_12h=Course(
            queue=900.0,
            turns=((1000.0, OK), (1200.0, LATE), (400.0, CUT)),
            fails=(
                Reason.SETUP_DEADLINE,
                "Set-up had not converged after 45 min; the last turn: the API was overloaded.",
            ),
            lost=True,
        ),
        baremetal_sglang_12h=Course(never=True),
    )


def running() -> Made:
    """RUNNING, with 3-hour legs that are done."""
    return eight(Watching(until=5.5 * HOUR, root_blind=((9000.0, 9300.0),)))


def crowd(count: int = 1000, interval: float = 600.0) -> Made:
    """A thousand legs, most of which pass."""
    courses: dict[str, Course] = {}
    names = [
        f"model-{index // 20:03d}-{('baremetal', 'docker')[index % 2]}-r{index % 20:02d}" for index in range(count)
    ]
    for index, name in enumerate(names):
        turns = ((500.0 + index % 400, OK),) if index % 7 else ((300.0, OK), (250.0, LATE), (400.0, OK))
        state: dict[str, Scalar] = {"done": True, "stop_reason": "converged", "gain": 1.0 + index % 30 / 10}
        if index % 83 == 5:
            state = {**state, "stop_reason": "gave_up"}
        if index % 97 == 3:
            state = {**state, "gain": 0.5}
        fails = (Reason.SETUP_STALLED, "Set-up made no progress for 15 min.") if index % 61 == 7 else None
        courses[name] = Course(
            queue=30.0 + (index * 37) % 6000, turns=turns, state=state, run=7000.0 + (index * 53) % 5000, fails=fails
        )
    legs = [agent_leg(name, blocking=index % 10 != 9) for index, name in enumerate(names)]
    plan = plan_of(legs, fail_fast=False, keep_on_fail=4 * HOUR)
    return make_run(plan, courses, Watching(interval=interval))


def hostile() -> Made:
    """Strings that would like to be markup wherever a leg or its files can put one."""
    legs = [agent_leg("a"), command_leg("b", blocking=False)]
    bad: dict[str, Scalar] = {"done": True, "stop_reason": HOSTILE, "gain": 2.0}
    courses = {"a": Course(said=HOSTILE, state=bad), "b": Course(state=bad)}
    return make_run(plan_of(legs, keep_on_fail=HOUR), courses)


SCENES: Mapping[str, Callable[[], Made]] = {
    "passing": passing,
    "failing": failing,
    "running": running,
    "crowd": crowd,
    "hostile": hostile,
}
