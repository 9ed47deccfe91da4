"""One gate of a campaign: its plan, its scenario, and the seed of its world; and the file that plays it again."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import ClassVar

from gate.campaign.faults import random_scenario
from gate.campaign.invariants import restarts, violations
from gate.campaign.plans import random_plan
from gate.campaign.violation import Violation
from gate.campaign.watchdog import Endless, watched
from gate.documents import Document
from gate.plan.model import Plan
from gate.simulate.play import play
from gate.simulate.played import Played
from gate.simulate.scenario import Fault, Scenario

NEVER = 1e9
"""Seconds: a time that no play reaches."""
FULL_SIZE = 100
"""Of so many gates one is full-size."""


@dataclass(frozen=True, slots=True)
class Case(Document):
    """A gate that can be played again: `gate simulate FILE` reads it."""

    FORMAT: ClassVar[str] = "gate.case"
    VERSION: ClassVar[int] = 1

    plan: Plan
    scenario: Scenario
    seed: int
    said: tuple[str, ...]
    """The violations for which it was written down; empty for none."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of a case. `second`: a second play, without deaths, was needed to check it."""

    violations: tuple[Violation, ...]
    played: Played | None
    """None: the play crashed, or never ended."""
    second: bool = False


def case_of(seed: int, number: int) -> Case:
    """The gate number `number` (from 0) of the campaign `seed`, whatever the others are."""
    rng = Random(f"{seed}/{number}")  # noqa: S311 - a simulation
    plan = random_plan(rng, full=number % FULL_SIZE == FULL_SIZE - 1)
    return Case(plan, random_scenario(rng, plan), rng.randrange(1 << 32), ())


def check(case: Case) -> Checked:
    """Play it, and check every promise. A core that crashes or goes round in circles breaks one too."""
    try:
        with watched():
            return _check(case)
    except Endless as endless:
        return Checked((Violation("ends", str(endless)),), None)
    except Exception as error:  # noqa: BLE001 - whatever a core did not expect is what a campaign looks for
        return Checked((Violation("no-crash", _innermost(error)),), None)
    except BaseExceptionGroup as group:  # noqa: F821 - simulations run at the runner, on Python 3.11 or newer
        if group.subgroup(Endless) is None:
            raise
        return Checked((Violation("ends", _innermost(group)),), None)


def _check(case: Case) -> Checked:
    played = play(case.plan, case.scenario, case.seed)
    found = violations(played)
    second = not found and restarts.comparable(played)
    if second:
        calm = play(case.plan, without_deaths(case.scenario), case.seed)
        found = tuple(Violation("restart", said) for said in restarts.compare(played, calm))
    return Checked(found, played, second)


def _innermost(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):  # noqa: F821 - as above
        error = error.exceptions[0]
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(where.filename).name}, {where.name})"


def without_deaths(scenario: Scenario) -> Scenario:
    """The same world, in which no poller dies. Faults keep their places: dice are cast by them."""
    return replace(scenario, faults=tuple(_never(f) if f.kind in restarts.DEATHS else f for f in scenario.faults))


def _never(fault: Fault) -> Fault:
    """The same death at a time or step that no play reaches: one that waits differently changes the order of tasks."""
    return replace(fault, step=round(NEVER)) if fault.step is not None else replace(fault, at=NEVER)
