"""A run whose legs are all running: its run directory, its records, and state files that can be made to move."""

from __future__ import annotations

import json
from pathlib import Path

from gate import documents
from gate.machines.verdict import Scalar
from gate.plan.identity import tag
from gate.plan.model import (
    ArtifactPlan,
    EnginePlan,
    Judge,
    LegBudgets,
    LegPlan,
    Limit,
    Plan,
    PollBudgets,
    Resources,
    WorkloadPlan,
)
from gate.rundir import layout
from gate.rundir.formats import Attempt, Pointer, WorkloadEntry

RUN = "bench"
TAG = tag("local/bench", "bench", "1.0", RUN, 1)
INCARNATION = "1"
DAY = 86_400.0

FINISHED: dict[str, Scalar] = {"close_sequence_done": True}
JUDGE = Judge(FINISHED, {"stop_reason": ("target_reached",)}, {"crash_count": Limit(None, 0)}, ("gain",))


def leg(name: str) -> LegPlan:
    """A command leg, judged by the reference gate's rules. Its budgets never end during a measurement."""
    return LegPlan(
        id=name,
        blocking=True,
        axes={},
        kind="command",
        command="sleep infinity",
        prompts=None,
        verify=None,
        agent=None,
        files=(),
        state=("session/**/state.json",),
        judge=JUDGE,
        budgets=LegBudgets(60, 1200, 600, 600, 0, 300 * DAY, 600, None, 30),
        env={},
        secrets=(),
        launches=2,
        redrives=5,
        max_turns=100,
        allow_restart=False,
        digest=f"sha256:{name}",
    )


def plan(legs: tuple[str, ...], interval: float) -> Plan:
    """A gate of `legs`, one workload each."""
    return Plan(
        gate="bench",
        repository="local/bench",
        ref="main",
        commit="",
        version="1.0",
        scope="full",
        legs=tuple(leg(name) for name in legs),
        all_legs=legs,
        workloads=tuple(
            WorkloadPlan(name, (name,), False, Resources(0, 0, 0, None, False, {}), 301 * DAY) for name in legs
        ),
        engine=EnginePlan("local", {}),
        root="",
        config="",
        config_digest="",
        artifact=ArtifactPlan("none", "", "", "", 0),
        secrets=(),
        poll=PollBudgets(interval, 4 * 3600, 1200, 300, 310 * DAY, None, 320 * DAY),
        keep_on_fail=0,
        fail_fast=True,
        flaky="show",
        reap="never",
        stage_agent=False,
        reader=(),
    )


def attempt(legs: tuple[str, ...], interval: float) -> Attempt:
    """The first and only attempt."""
    return Attempt(RUN, 1, TAG, 0.0, plan(legs, interval), {}, {}, legs, False, False, {})


def state_file(run_dir: Path, name: str) -> Path:
    """Where one leg's program writes its result."""
    return run_dir / layout.incarnation(name, TAG, INCARNATION) / layout.SESSION / "run" / "state.json"


def publish(path: Path, step: int, *, finished: bool = False) -> None:
    """Write one state as the program under test does: whole, then renamed."""
    reason = "target_reached" if finished else None
    body = {"step": step, "gain": 1.5, "crash_count": 0, "stop_reason": reason, "close_sequence_done": finished}
    new = path.with_suffix(".new")
    new.write_text(json.dumps(body))
    new.replace(path)


def build(run_dir: Path, legs: tuple[str, ...], interval: float) -> Attempt:
    """Lay out the run directory with every leg waiting for its program, and return the attempt."""
    made = attempt(legs, interval)
    files = {layout.attempt(1): documents.dump(made)}
    for name in legs:
        entry = WorkloadEntry(name, TAG, name, (name,), "created", name, 0.0, "")
        files[layout.workload(TAG, name)] = documents.dump(entry)
        relative = f"{layout.SESSION}/run/state.json"
        pointer = Pointer(name, TAG, INCARNATION, 1, "wait", relative, 0, 0, 0, 0, 0.0, None, None, 0.0)
        files[f"{layout.incarnation(name, TAG, INCARNATION)}/{layout.POINTER}"] = documents.dump(pointer)
    for key, data in files.items():
        path = run_dir / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for name in legs:
        path = state_file(run_dir, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        publish(path, 0)
    return made
