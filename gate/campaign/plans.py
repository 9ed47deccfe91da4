"""Random plans: gates of up to three legs and about an hour, whose ladder holds; now and then a full-size one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from random import Random

from gate.plan.budgets import body, derived_above
from gate.plan.identity import marker
from gate.plan.ladder import ladder_of
from gate.plan.model import (
    ArtifactPlan,
    EnginePlan,
    Judge,
    LegBudgets,
    LegPlan,
    Limit,
    Plan,
    PollBudgets,
    Prompts,
    Resources,
    SecretRef,
    WorkloadPlan,
)

MINUTE = 60.0
HOUR = 3600.0

GATE = "campaign"
SECRET = "API_TOKEN"  # noqa: S105 - a name, and its value exists in simulations only
NOTHING = Resources(cpus=0, memory=0, gpus=0, image=None, privileged=False, options={})
JUDGE = Judge(
    finished={"done": True},
    passes={"stop_reason": ("converged", "target_reached")},
    limits={"gain": Limit(min=1.0, max=None)},
    show=("step",),
)
"""What every leg of a campaign is judged by: a condition, a success set, a limit."""


@dataclass(frozen=True, slots=True)
class Size:
    """How large a gate is: legs, and the seconds that set-up and task may take."""

    legs: tuple[int, int]
    setup: tuple[float, float]
    task: tuple[float, float]
    interval: tuple[float, ...]


SMALL = Size((1, 3), (10 * MINUTE, 20 * MINUTE), (15 * MINUTE, 35 * MINUTE), (60.0, 120.0, 180.0))
FULL = Size((4, 8), (30 * MINUTE, 45 * MINUTE), (3 * HOUR, 12 * HOUR), (60.0, 120.0))


def random_plan(rng: Random, *, full: bool = False) -> Plan:
    """A plan whose ladder holds, and for which no file has to exist. The same `rng` state gives the same plan."""
    size = FULL if full else SMALL
    names = [f"leg-{letter}" for letter in "abcdefgh"[: rng.randint(*size.legs)]]
    secret = rng.random() < 0.5
    legs = tuple(_leg(rng, name, size, first=name == names[0], secret=secret) for name in names)
    workloads = _workloads(rng, legs)
    plan = Plan(
        gate=GATE,
        repository="local/campaign",
        ref="main",
        commit="c0ffee0000",
        version="1.0",
        scope=rng.choice(("full", "full", "full", "fast", "subset")),
        legs=legs,
        all_legs=tuple(names),
        workloads=workloads,
        engine=EnginePlan(rng.choice(("local", "slurm")), {}),
        root="/simulated",
        config="/simulated/gate.yaml",
        config_digest="sha256:0",
        artifact=ArtifactPlan("none", "", "", "", 0),
        secrets=(SecretRef(SECRET, "env", SECRET),) if secret else (),
        poll=_poll(rng, size, max(workload.timeout for workload in workloads)),
        keep_on_fail=rng.choice((0.0, 0.0, 20 * MINUTE)),
        fail_fast=rng.random() < 0.7,
        flaky=rng.choice(("show", "fail")),
        reap=rng.choice(("before", "before", "when-refused", "never")),
        stage_agent=False,
        reader=(),
    )
    ladder_of(plan).check()
    return plan


def _leg(rng: Random, name: str, size: Size, *, first: bool, secret: bool) -> LegPlan:
    agent = rng.random() < 0.65
    budgets = _budgets(rng, size, agent=agent)
    return LegPlan(
        id=name,
        blocking=first or rng.random() < 0.7,
        axes={},
        kind="agent" if agent else "command",
        command=None if agent else "python run.py",
        prompts=_prompts(name) if agent else None,
        verify="./check" if agent and rng.random() < 0.7 else None,
        agent=None,
        files=(),
        state=("session/**/state.json",),
        judge=JUDGE,
        budgets=budgets,
        env={},
        secrets=(SECRET,) if secret and rng.random() < 0.8 else (),
        launches=rng.randint(0, 2),
        redrives=rng.randint(0, 3),
        max_turns=rng.choice((6, 20, 60)),
        allow_restart=rng.random() < 0.2,
        digest=f"sha256:{hashlib.sha256(f'{name}{budgets}'.encode()).hexdigest()}",
    )


def _prompts(name: str) -> Prompts:
    return Prompts(
        setup=f"Set {name} up.",
        task=f"Run {name}.",
        nudge="Go on with the set-up.",
        finish_launch="Finish the launch.",
        redrive="The run stands still: move it on.",
        recap="An earlier conversation was lost.",
        marker=marker(GATE, name),
    )


def _budgets(rng: Random, size: Size, *, agent: bool) -> LegBudgets:
    setup = _minutes(rng, size.setup) if agent else 0.0
    task = _minutes(rng, size.task)
    wait_margin = 2 * MINUTE
    return LegBudgets(
        startup_probe=60.0 if agent else 0.0,
        turn=min(_minutes(rng, (4 * MINUTE, 8 * MINUTE)), setup / 2) if agent else 0.0,
        stall=_minutes(rng, (3 * MINUTE, 8 * MINUTE)) if agent else task + wait_margin,
        prepare=3 * MINUTE,
        setup=setup,
        task=task,
        wait_margin=wait_margin,
        silence=rng.choice((None, 4 * MINUTE, 10 * MINUTE)),
        evidence=rng.choice((5.0, 30.0, 90.0)),
    )


def _workloads(rng: Random, legs: tuple[LegPlan, ...]) -> tuple[WorkloadPlan, ...]:
    together = legs[: rng.randint(2, len(legs))] if len(legs) > 1 and rng.random() < 0.3 else ()
    alone = [leg for leg in legs if leg not in together]
    workloads = [_workload(leg.id, (leg,), shared=False) for leg in alone]
    if together:
        workloads.append(_workload("pair", together, shared=True))
    return tuple(workloads)


def _workload(name: str, legs: tuple[LegPlan, ...], *, shared: bool) -> WorkloadPlan:
    timeout = derived_above(max(body(leg.budgets) for leg in legs))
    return WorkloadPlan(name, tuple(leg.id for leg in legs), shared, NOTHING, timeout)


def _poll(rng: Random, size: Size, longest: float) -> PollBudgets:
    queue, skew = _minutes(rng, (10 * MINUTE, 20 * MINUTE)), 5 * MINUTE
    return PollBudgets(
        interval=rng.choice(size.interval),
        queue=queue,
        outage=_minutes(rng, (8 * MINUTE, 20 * MINUTE)),
        skew=skew,
        deadline=derived_above(queue + longest + skew),
        job=None,
        token_life=24 * HOUR,
    )


def _minutes(rng: Random, between: tuple[float, float]) -> float:
    return float(rng.randint(int(between[0] // MINUTE), int(between[1] // MINUTE))) * MINUTE
