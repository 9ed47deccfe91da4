"""Where sandboxes run: a closed registry of backends, imported when asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from gate.contracts import Clock
from gate.contracts.sandbox import Sandboxes
from gate.documents import Json
from gate.errors import CapabilityError, ConfigError
from gate.plan.problems import did_you_mean, one_of
from gate.sandboxes.offer import Offer

_OFFERS: Mapping[str, str] = {
    "local": "gate.sandboxes.local.offer",
}
KINDS = tuple(_OFFERS)
"""What this gate can run sandboxes on."""
EXTRAS: Mapping[str, str] = {"daytona": "daytona", "substrate": "substrate"}
"""Kinds that need libraries of their own: the extra of release-gate that brings them."""


def offer_of(kind: str) -> Offer:
    """What the backend of this kind offers. Raises CapabilityError: no such kind, or its libraries are missing."""
    if kind not in _OFFERS:
        hint = did_you_mean(kind, KINDS)
        said = f" ({hint})" if hint else ""
        raise CapabilityError(f"there is no sandbox backend {kind!r}{said}", hint=f"There is {one_of(KINDS)}.")
    try:
        offer = import_module(_OFFERS[kind]).OFFER
    except ModuleNotFoundError as error:
        if kind not in EXTRAS or (error.name or "").startswith("gate"):
            raise
        raise CapabilityError(
            f"sandbox backend {kind!r} needs {error.name}, which is not installed",
            hint=f"pip install 'release-gate[{EXTRAS[kind]}]'",
        ) from None
    assert isinstance(offer, Offer)
    return offer


def open_sandboxes(
    kind: str, parameters: Mapping[str, Json], clock: Clock, credentials: Mapping[str, str] | None = None
) -> Sandboxes:
    """A backend, given its parameters and credentials. Raises CapabilityError (kind), ConfigError (parameters)."""
    offer = offer_of(kind)
    known = (*offer.parameters, *offer.credentials)
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        hint = did_you_mean(unknown[0], known)
        said = f" ({hint})" if hint else ""
        raise ConfigError(
            f"sandbox backend {kind}: unknown parameter {', '.join(map(repr, unknown))}{said}",
            hint=f"It has {one_of(known)}." if known else "It has none.",
        )
    return offer.open(parameters, credentials or {}, clock)
