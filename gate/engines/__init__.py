"""Where workloads run: a closed registry of engines, imported when asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gate.contracts import Capabilities, Engine
from gate.documents import Json
from gate.errors import CapabilityError, ConfigError
from gate.places import local_registry
from gate.plan.model import EnginePlan, Plan
from gate.plan.problems import did_you_mean

if TYPE_CHECKING:
    from gate.engines.local.offer import Slots

KINDS = ("local",)
"""What this gate can run on."""
ANNOUNCED = ("slurm", "kubernetes", "safe")


def capabilities_of(kind: str) -> Capabilities:
    """What engines of this kind can do. Raises CapabilityError for a kind that this gate cannot run on."""
    _check(kind)
    from gate.engines.local.offer import CAPABILITIES  # noqa: PLC0415 - only the engine that is asked for

    return CAPABILITIES


def open_engine(plan: EnginePlan) -> Engine:
    """The engine of a plan. Raises CapabilityError (kind), ConfigError (parameters)."""
    _check(plan.kind)
    from gate.engines.local.engine import LocalEngine  # noqa: PLC0415 - only the engine that is asked for

    return LocalEngine(local_registry(), _slots(plan))


def check_fit(plan: Plan) -> None:
    """Raises ConfigError (the engine's parameters), CapabilityError: workloads that its engine can never take."""
    _check(plan.engine.kind)
    from gate.engines.local.offer import unfit  # noqa: PLC0415 - only the engine that is asked for

    slots = _slots(plan.engine)
    found = [f"workload {w.id}: {'; '.join(why)}" for w in plan.workloads if (why := unfit(w.resources, slots))]
    if found:
        head = f"the {plan.engine.kind} engine, this machine, can never take what the plan asks"
        raise CapabilityError("\n  ".join([f"{head}:", *found]), hint="Change the workload's resources, or the engine.")


def _slots(plan: EnginePlan) -> Slots:
    from gate.engines.local.offer import Slots  # noqa: PLC0415 - only the engine that is asked for

    known = ("cpus", "gpus")
    unknown = sorted(set(plan.parameters) - set(known))
    if unknown:
        hint = did_you_mean(unknown[0], known)
        said = f" ({hint})" if hint else ""
        raise ConfigError(
            f"engine local: unknown parameter {', '.join(map(repr, unknown))}{said}", hint="It has `cpus` and `gpus`."
        )
    return Slots(
        cpus=_count(plan.parameters, "cpus", os.cpu_count() or 1),
        gpus=_count(plan.parameters, "gpus", 0),
    )


def _check(kind: str) -> None:
    if kind in KINDS:
        return
    known = f"This gate runs on: {', '.join(KINDS)}."
    if kind in ANNOUNCED:
        raise CapabilityError(f"engine {kind!r} is planned and not part of this gate yet", hint=known)
    raise CapabilityError(f"there is no engine {kind!r}", hint=known)


def _count(parameters: Mapping[str, Json], name: str, default: int) -> int:
    value = parameters.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ConfigError(f"engine local: {name} is a number of slots, found {value!r}", hint="For example 8.")
    return value
