"""Making a case that breaks a promise as small as it gets while it still breaks the same one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from gate.campaign.case import Case, check
from gate.campaign.violation import Violation
from gate.plan.model import Plan
from gate.simulate.menu import MENU
from gate.simulate.scenario import Fault, Scenario

PLAYS = 300
"""Candidates that are tried at the most."""

Checker = Callable[[Case], tuple[Violation, ...]]


def shrink(case: Case, invariant: str, *, checker: Checker | None = None, plays: int = PLAYS) -> Case:
    """The smallest case found that still breaks `invariant`; `said` holds what it says. Deterministic."""
    tell = checker or (lambda candidate: check(candidate).violations)
    left = plays
    smallest = replace(case, said=_said(tell(case), invariant))
    again = True
    while again and left > 0:
        again = False
        for candidate in _smaller(smallest):
            left -= 1
            said = _said(tell(candidate), invariant)
            if said:
                smallest, again = replace(candidate, said=said), True
                break
            if left <= 0:
                break
    return smallest


def _said(found: tuple[Violation, ...], invariant: str) -> tuple[str, ...]:
    return tuple(str(violation) for violation in found if violation.invariant == invariant)


def _smaller(case: Case) -> Iterator[Case]:
    """Candidates, the boldest first."""
    for scenario in _scenarios(case.scenario):
        yield replace(case, scenario=scenario)
    for leg in case.plan.legs if len(case.plan.legs) > 1 else ():
        yield replace(case, plan=_without(case.plan, leg.id), scenario=_unnamed(case.scenario, leg.id))
    for plan in _plans(case.plan):
        yield replace(case, plan=plan)


def _scenarios(scenario: Scenario) -> Iterator[Scenario]:
    faults = scenario.faults
    half = len(faults) // 2
    if half > 1:
        yield replace(scenario, faults=faults[:half])
        yield replace(scenario, faults=faults[half:])
    for at in range(len(faults)):
        yield replace(scenario, faults=faults[:at] + faults[at + 1 :])
    for at in range(len(scenario.reruns)):
        yield replace(scenario, reruns=scenario.reruns[:at] + scenario.reruns[at + 1 :])
    if scenario.neighbours:
        yield replace(scenario, neighbours=False)
    for leg, course in scenario.legs.items():
        if course.result != "pass":
            yield replace(scenario, legs={**scenario.legs, leg: replace(course, result="pass")})
    for at, fault in enumerate(faults):
        for plainer in _plainer(fault):
            yield replace(scenario, faults=(*faults[:at], plainer, *faults[at + 1 :]))


def _plainer(fault: Fault) -> Iterator[Fault]:
    """The same fault with a field as the menu has it."""
    default = Fault(fault.kind)
    for name in MENU[fault.kind].fields:
        value, plain = getattr(fault, name), getattr(default, name)
        if value != plain and name not in ("at", "step", "legs"):
            yield replace(fault, **{name: plain})
    if fault.at is not None and fault.at != round(fault.at, -1):
        yield replace(fault, at=round(fault.at, -1))


def _unnamed(scenario: Scenario, leg: str) -> Scenario:
    """The scenario without a word of this leg."""
    return replace(
        scenario,
        legs={name: course for name, course in scenario.legs.items() if name != leg},
        faults=tuple(fault for fault in scenario.faults if fault.legs != (leg,)),
    )


def _without(plan: Plan, leg: str) -> Plan:
    workloads = [replace(w, legs=tuple(one for one in w.legs if one != leg)) for w in plan.workloads]
    return replace(
        plan,
        legs=tuple(one for one in plan.legs if one.id != leg),
        all_legs=tuple(one for one in plan.all_legs if one != leg),
        workloads=tuple(w for w in workloads if w.legs),
    )


def _plans(plan: Plan) -> Iterator[Plan]:
    plainest = {"scope": "full", "keep_on_fail": 0.0, "fail_fast": True, "flaky": "show", "reap": "before"}
    for name, value in plainest.items():
        if getattr(plan, name) != value:
            yield replace(plan, **{name: value})  # type: ignore[arg-type]  # values of the fields' own types
