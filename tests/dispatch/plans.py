"""Plans for tests of dispatch and reap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gate.plan.model import (
    ArtifactPlan,
    EnginePlan,
    Judge,
    LegBudgets,
    LegPlan,
    Plan,
    PollBudgets,
    Resources,
    SecretRef,
    WorkloadPlan,
)

BUDGETS = LegBudgets(
    startup_probe=0, turn=60, stall=60, prepare=60, setup=0, task=60, wait_margin=5, silence=None, evidence=5
)
JUDGE = Judge(finished={"done": True}, passes={"ok": (True,)}, limits={}, show=())
NOTHING = Resources(cpus=0, memory=0, gpus=0, image=None, privileged=False, options={})


def leg(leg_id: str, *, digest: str = "", secrets: Sequence[str] = (), files: Sequence[str] = ()) -> LegPlan:
    return LegPlan(
        id=leg_id,
        blocking=True,
        axes={},
        kind="command",
        command="true",
        prompts=None,
        verify=None,
        agent=None,
        files=tuple(files),
        state=("session/**/state.json",),
        judge=JUDGE,
        budgets=BUDGETS,
        env={},
        secrets=tuple(secrets),
        launches=0,
        redrives=0,
        max_turns=2,
        allow_restart=False,
        digest=digest or f"sha256:{leg_id}",
    )


def plan(
    legs: Sequence[LegPlan | str] = ("a", "b"),
    *,
    shared: Mapping[str, Sequence[str]] | None = None,
    version: str = "1.0",
    config: str = "/nowhere/gate.yaml",
    artifact: ArtifactPlan | None = None,
    secrets: Sequence[SecretRef] = (),
    reap: str = "never",
    root: str = "/nowhere/root",
) -> Plan:
    """A plan of one workload a leg; `shared` maps a workload id to the legs it carries instead."""
    chosen = tuple(leg(one) if isinstance(one, str) else one for one in legs)
    together = {name for names in (shared or {}).values() for name in names}
    workloads = [WorkloadPlan(one.id, (one.id,), False, NOTHING, 300.0) for one in chosen if one.id not in together]
    workloads += [WorkloadPlan(name, tuple(names), True, NOTHING, 300.0) for name, names in (shared or {}).items()]
    assert reap in ("before", "never", "when-refused")
    return Plan(
        gate="demo",
        repository="local/demo",
        ref="main",
        commit="c0ffee",
        version=version,
        scope="full",
        legs=chosen,
        all_legs=tuple(one.id for one in chosen),
        workloads=tuple(workloads),
        engine=EnginePlan("local", {}),
        root=root,
        config=config,
        config_digest="sha256:0",
        artifact=artifact or ArtifactPlan("none", "", "", "", 0),
        secrets=tuple(secrets),
        poll=PollBudgets(interval=1, queue=60, outage=60, skew=5, deadline=600, job=None, token_life=86400),
        keep_on_fail=0,
        fail_fast=True,
        flaky="show",
        reap=reap,  # type: ignore[arg-type]  # checked above
        stage_agent=False,
        reader=(),
    )
