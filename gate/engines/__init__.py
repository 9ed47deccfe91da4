"""Where workloads run: a closed registry of engines, imported when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path, PurePosixPath

from gate.contracts import Capabilities, Engine
from gate.documents import Json
from gate.engines.offer import Offer
from gate.errors import CapabilityError, ConfigError
from gate.plan.model import EnginePlan, Plan, SecretRef
from gate.plan.problems import did_you_mean, one_of
from gate.plan.secrets import needed, resolve

_OFFERS: Mapping[str, str] = {
    "local": "gate.engines.local.offer",
    "safe": "gate.engines.safe.offer",
    "slurm": "gate.engines.slurm.offer",
}
KINDS = tuple(_OFFERS)
"""What this gate can run on."""
ANNOUNCED = tuple(kind for kind in ("kubernetes", "safe") if kind not in _OFFERS)
"""What gate.yaml may name beside them: a later gate's."""


def offer_of(kind: str) -> Offer:
    """What the engine of this kind offers. Raises CapabilityError for a kind that this gate cannot run on."""
    known = f"This gate runs on: {', '.join(KINDS)}."
    if kind in _OFFERS:
        offer = import_module(_OFFERS[kind]).OFFER
        assert isinstance(offer, Offer)
        return offer
    if kind in ANNOUNCED:
        raise CapabilityError(f"engine {kind!r} is planned and not part of this gate yet", hint=known)
    raise CapabilityError(f"there is no engine {kind!r}", hint=known)


def capabilities_of(kind: str) -> Capabilities:
    """What engines of this kind can do. Raises CapabilityError for a kind that this gate cannot run on."""
    return offer_of(kind).capabilities


def credentials_of(plan: EnginePlan, secrets: Sequence[SecretRef]) -> dict[str, str]:
    """The values of the engine's credentials by parameter, resolved here and now. Raises SecretError, as above."""
    names = _names(plan, offer_of(plan.kind))
    values = resolve(needed(secrets, list(names.values())))
    return {key: values[name] for key, name in names.items()}


def open_engine(plan: EnginePlan, credentials: Mapping[str, str] | None = None) -> Engine:
    """The engine of a plan, given its credentials. Raises CapabilityError (kind), ConfigError (parameters)."""
    offer = offer_of(plan.kind)
    _check_parameters(plan, offer)
    return offer.open(plan.parameters, credentials or {})


def notes_of(plan: EnginePlan) -> tuple[str, ...]:
    """What has to be said aloud before this engine is used. Raises CapabilityError, ConfigError."""
    return tuple(offer_of(plan.kind).notes(plan.parameters))


def seen_by_workloads(plan: Plan, path: Path) -> str:
    """`path` below the plan's root, as workloads see it. Raises CapabilityError, ConfigError."""
    mount = offer_of(plan.engine.kind).mount(plan.engine.parameters)
    return str(path) if mount is None else str(PurePosixPath(mount, *path.relative_to(plan.root).parts))


def check_fit(plan: Plan) -> None:
    """Raises ConfigError (the engine's parameters), CapabilityError: workloads that its engine can never take."""
    kind = plan.engine.kind
    offer = offer_of(kind)
    _check_parameters(plan.engine, offer)
    needed(plan.secrets, list(_names(plan.engine, offer).values()))
    offer.fits(plan)
    found = [
        f"workload {w.id}: {'; '.join(why)}"
        for w in plan.workloads
        if (why := offer.unfit(w.resources, plan.engine.parameters))
    ]
    if found:
        which = f"the {kind} engine{', this machine,' if kind == 'local' else ''} can never take what the plan asks"
        raise CapabilityError(
            "\n  ".join([f"{which}:", *found]), hint="Change the workload's resources, or the engine."
        )


def _check_parameters(plan: EnginePlan, offer: Offer) -> None:
    unknown = sorted(set(plan.parameters) - set(offer.parameters))
    if unknown:
        hint = did_you_mean(unknown[0], offer.parameters)
        said = f" ({hint})" if hint else ""
        raise ConfigError(
            f"engine {plan.kind}: unknown parameter {', '.join(map(repr, unknown))}{said}",
            hint=f"It has {one_of(offer.parameters)}.",
        )


def _names(plan: EnginePlan, offer: Offer) -> dict[str, str]:
    """Credential parameter to the secret that it names."""
    found: dict[str, str] = {}
    for key in offer.credentials:
        name: Json = plan.parameters.get(key)
        if name is None:
            continue
        if not isinstance(name, str):
            raise ConfigError(
                f"engine {plan.kind}: {key} names a secret, found {name!r}", hint="Declare it under `secrets:`."
            )
        found[key] = name
    return found
