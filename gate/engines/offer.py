"""What every kind of engine offers under one name, `OFFER`, in its own `offer` module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gate.contracts import Capabilities, Engine
from gate.documents import Json
from gate.plan.model import Resources


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
