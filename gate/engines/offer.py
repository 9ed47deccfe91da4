"""What every kind of engine offers under one name, `OFFER`, in its own `offer` module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gate.contracts import Capabilities, Engine
from gate.documents import Json
from gate.plan.model import Plan, Resources


def _fits(_plan: Plan) -> None:
    """Nothing of the plan as a whole is this engine's business."""


def _nothing_to_say(_parameters: Mapping[str, Json]) -> Sequence[str]:
    return ()


def _same_path(_parameters: Mapping[str, Json]) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Offer:
    """One kind of engine. Nothing here touches a network, a cluster or a disk before the engine's first call."""

    capabilities: Capabilities
    parameters: tuple[str, ...]
    """Keys that `engine:` may have beside `kind`."""
    credentials: tuple[str, ...]
    """Those of them whose values name secrets of gate.yaml; their values reach `open` and nothing else."""
    unfit: Callable[[Resources, Mapping[str, Json]], Sequence[str]]
    """What a workload asks for and will never get, given the parameters, in words. Raises ConfigError (parameters)."""
    open: Callable[[Mapping[str, Json], Mapping[str, str]], Engine]
    """The engine, from its parameters and the values of its credentials (parameter to value). Raises ConfigError."""
    fits: Callable[[Plan], None] = _fits
    """What does not go together with the rest of the plan (its root, its secrets). Raises ConfigError."""
    notes: Callable[[Mapping[str, Json]], Sequence[str]] = _nothing_to_say
    """What has to be said aloud before this engine is used, as that a certificate is not checked."""
    mount: Callable[[Mapping[str, Json]], str | None] = _same_path
    """The shared root as workloads see it; None: at the path that it has here."""
