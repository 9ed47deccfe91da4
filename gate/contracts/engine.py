"""Where workloads run.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal, Protocol

from gate.plan.model import Resources


class Phase(str, Enum):
    """A workload's phase in the engine's eyes. UNKNOWN is never terminal."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    STOPPED = "Stopped"
    UNKNOWN = "Unknown"

    @property
    def terminal(self) -> bool:
        """True where nothing of the workload runs any more."""
        return self in (Phase.SUCCEEDED, Phase.FAILED, Phase.STOPPED)


EndReason = Literal[
    "",
    "exit",
    "out_of_memory",
    "evicted",
    "node_lost",
    "timeout",
    "stopped",
    "image_unavailable",
    "unschedulable",
    "preempted",
    "lost",
]
"""Why a workload is in its phase, where the engine says; "lost": its supervisor is gone and left no exit code."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do; the plan refuses what needs more."""

    list_lag: float
    """Seconds for which a created workload may be missing from lists."""
    max_name: int
    name_pattern: str
    """Regular expression that a whole workload name matches."""
    privileged: bool
    shared: bool
    images: bool
    timeouts: bool
    """Enforces the workload time-out itself, beside the supervisor."""
    logs_after_end: bool
    shell: bool
    queue_position: bool
    gpus: bool
    protects_gate: bool
    """Mounts `legs/` alone writable."""
    options: tuple[str, ...] = ()
    """Keys that `resources.options` may have."""


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """Everything an engine needs to start one workload."""

    name: str
    workload: str
    tag: str
    gate: str
    repository: str
    ref: str
    run: str
    legs: tuple[str, ...]
    run_dir: str
    assignment: str
    """Store key of the assignment that bootstrap reads."""
    resources: Resources
    timeout: float
    keep_on_fail: float
    env: Mapping[str, str]
    """Plain environment, no secret in it."""
    secrets: Mapping[str, str]
    """Secret name to value: handed over by whatever means the engine has that shows in no list, record or argv."""
    withheld: tuple[str, ...] = ()
    """Environment variables of the dispatcher that hold secrets: an engine that passes its environment on leaves them
    out, or a leg would get (and print, unredacted) what only another leg was given."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload as the engine reports it."""

    id: str
    name: str
    tag: str
    run: str
    ref: str
    phase: Phase
    reason: EndReason = ""
    exit_code: int | None = None
    message: str = ""
    queue_position: int | None = None
    restarts: int = 0
    kept_until: float | None = None
    """Wall time, where the engine itself holds a lease (the local supervisor)."""


@dataclass(frozen=True, slots=True)
class Listing:
    """One list round. Absence from a listing that is not complete means nothing."""

    workloads: tuple[Workload, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose workloads to list: one gate of one repository, narrowed to a ref or a tag."""

    repository: str
    gate: str
    ref: str | None = None
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class LogChunk:
    """A piece of a workload's log; read on from `next_offset`. `ended`: no more will come."""

    data: bytes
    next_offset: int
    ended: bool


class Engine(Protocol):
    """Where workloads run. Errors: EngineUnreachable, EngineAuthError (any method), and those named below."""

    @property
    def kind(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def create(self, request: WorkloadRequest) -> str:
        """Start a workload and return its id. Never retried.

        Raises EngineRefused (nothing was created) or CreateUnclear (it may have been: look it up by tag and name).
        """
        ...

    async def list(self, scope: Scope) -> Listing:
        """All workloads of `scope`, ended ones too for as long as the engine remembers them."""
        ...

    async def get(self, workload_id: str) -> Workload:
        """One workload. Raises WorkloadNotFound."""
        ...

    async def stop(self, workload_id: str) -> None:
        """End the workload and every process of it. Idempotent: an unknown or ended one is no error.

        Returns when the engine has taken the request; whether it is gone is seen in `list` or `get`.
        """
        ...

    async def logs(self, workload_id: str, offset: int, limit: int) -> LogChunk:
        """At most `limit` bytes of the log from `offset` (negative: from the end). Raises WorkloadNotFound."""
        ...

    async def aclose(self) -> None: ...
