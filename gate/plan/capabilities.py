"""Whether an engine can do what a plan asks, told before anything is launched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from gate.contracts import Capabilities
from gate.errors import CapabilityError
from gate.plan.model import Plan, WorkloadPlan
from gate.plan.problems import did_you_mean, one_of


@dataclass(frozen=True, slots=True)
class _Need:
    """Something a workload needs, and whether an engine has it."""

    workload: WorkloadPlan
    what: str
    met: Callable[[Capabilities], bool]
    hint: str = ""


def check_capabilities(plan: Plan, capabilities: Capabilities, others: Mapping[str, Capabilities]) -> None:
    """Raises CapabilityError with everything that `plan.engine` cannot do, and which of `others` (kind to its
    capabilities) can."""
    missing = [
        need for workload in plan.workloads for need in _needs(workload, capabilities) if not need.met(capabilities)
    ]
    if not missing:
        return
    lines = []
    for need in missing:
        able = [kind for kind, known in others.items() if kind != plan.engine.kind and need.met(known)]
        which = f"; {', '.join(able)} can" if able else "; no engine can"
        hint = f" ({need.hint})" if need.hint else ""
        lines.append(
            f"workload {need.workload.id} ({', '.join(need.workload.legs[:4])}) needs {need.what}{which}{hint}"
        )
    head = f"the {plan.engine.kind} engine cannot do what the plan asks"
    raise CapabilityError("\n  ".join([f"{head}:", *lines]), hint="Change the workload's resources, or the engine.")


def _needs(workload: WorkloadPlan, capabilities: Capabilities) -> Iterator[_Need]:
    asked = workload.resources
    if asked.privileged:
        yield _Need(workload, "a privileged container (resources.privileged)", lambda known: known.privileged)
    if workload.shared:
        yield _Need(workload, "several legs in one workload (shared)", lambda known: known.shared)
    if asked.image is not None:
        yield _Need(workload, f"the image {asked.image} (resources.image)", lambda known: known.images)
    if asked.gpus:
        yield _Need(workload, f"{asked.gpus} GPUs (resources.gpus)", lambda known: known.gpus)
    for key in asked.options:
        hint = did_you_mean(key, capabilities.options) or f"it has {one_of(capabilities.options)}"
        yield _Need(workload, f"the option {key!r} (resources.options)", _has_option(key), hint)


def _has_option(key: str) -> Callable[[Capabilities], bool]:
    return lambda known: key in known.options
