"""What can be set: how slow, how strict and how broken the server is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Role = Literal["member", "manager", "admin"]
What = Literal["reset", "reset_after", "html", "empty", "slow", "unauthorized", "forbidden", "conflict", "internal"]
"""`reset`: the connection breaks before anything is done; `reset_after`: after it was done."""
KEY = "ak-" + "k" * 43


@dataclass(slots=True)
class Fault:
    """The next `times` requests whose method and path begin so go wrong. `seconds`: of `slow`."""

    what: What
    method: str = ""
    path: str = "/api/v1/"
    times: int = 1
    seconds: float = 0.0
    code: int = 502
    """Status of `html`."""


@dataclass(slots=True)
class Switches:
    """Everything can be changed while the server runs. Durations in seconds of its clock."""

    keys: dict[str, Role] = field(default_factory=lambda: {KEY: "manager"})
    workspace: str = "ws"
    scopes_train: bool = True
    """The workspace allows training."""
    lag: float = 0.0
    """Between what is done and what GET and LIST show."""
    queue: float = 0.0
    """At least, before a workload is placed."""
    pull: float = 0.0
    """Between placing and running."""
    unpullable: frozenset[str] = frozenset()
    """Images for which a pod waits for ever; the phase stays Pending, and no time-out counts."""
    late_code: float = 0.0
    """Between the phase and the exit code in the pod's row."""
    codes: bool = True
    """Conditions hold the details of a failure."""
    nodes: int = 4
    node_cpu: int = 228
    node_memory: int = 2 << 40
    gpus: int = 8
    """Of the whole workspace."""
    logs: bool = True
    """There is a store for logs."""
    database: bool = True
    kinds: frozenset[str] = frozenset({"PyTorchJob", "Authoring"})
    latency: float = 0.0
    """Of every answer, in real seconds."""
    faults: list[Fault] = field(default_factory=list)
