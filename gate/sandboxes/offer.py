"""What every kind of sandbox backend offers under one name, `OFFER`, in its own `offer` module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gate.contracts import Clock
from gate.contracts.sandbox import Sandboxes
from gate.documents import Json


@dataclass(frozen=True, slots=True)
class Offer:
    """One kind of backend. Nothing here touches a network, a socket or a disk before the backend's first call."""

    parameters: tuple[str, ...]
    """Keys that its section may have beside `kind`."""
    credentials: tuple[str, ...]
    """Those of them whose values name secrets; their values reach `open` and nothing else."""
    open: Callable[[Mapping[str, Json], Mapping[str, str], Clock], Sandboxes]
    """The backend, from its parameters and the values of its credentials. Raises ConfigError, SandboxRefused."""
