"""Which workload carries which legs, with what, and for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gate.plan.budgets import Deriver
from gate.plan.config import Resources as ResourcesConfig
from gate.plan.config import Workload
from gate.plan.draft import WorkloadSource
from gate.plan.legs import matching
from gate.plan.load import Gate
from gate.plan.model import LegBudgets, Resources, WorkloadPlan


def place(gate: Gate, chosen: Sequence[str], budgets: Mapping[str, LegBudgets], deriver: Deriver) -> list[WorkloadPlan]:
    """The workloads of the `chosen` legs, shared ones first; a leg without an entry gets one that asks for nothing."""
    shared: list[WorkloadPlan] = []
    single: dict[str, WorkloadPlan] = {}
    for source in gate.workloads:
        config = source.config
        assert config is not None
        members = [leg for leg in chosen if any(matching(pattern, [leg]) for pattern in config.legs)]
        groups = [members] if config.shared and members else [] if config.shared else [[leg] for leg in members]
        for legs in groups:
            workload = _workload(source, config, legs, budgets, deriver)
            if config.shared:
                shared.append(workload)
            else:
                single[legs[0]] = workload
    taken = {leg for workload in shared for leg in workload.legs}
    for leg in chosen:
        if leg not in taken and leg not in single:
            timeout = deriver.workload(leg, None, None, [budgets[leg]])
            single[leg] = WorkloadPlan(leg, (leg,), False, resources_of(ResourcesConfig()), timeout)
    return shared + [single[leg] for leg in chosen if leg in single]


def _workload(
    source: WorkloadSource, config: Workload, legs: list[str], budgets: Mapping[str, LegBudgets], deriver: Deriver
) -> WorkloadPlan:
    name = source.id if config.shared else legs[0]
    timeout = deriver.workload(name, source.node, config.timeout, [budgets[leg] for leg in legs])
    return WorkloadPlan(name, tuple(legs), config.shared, resources_of(config.resources), timeout)


def resources_of(config: ResourcesConfig) -> Resources:
    """The same as a plan holds it."""
    return Resources(config.cpus, config.memory, config.gpus, config.image, config.privileged, dict(config.options))
