"""Everything the dispatcher is given. It awaits these contracts and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from gate.contracts import Clock, Engine, LegFiles, Store
from gate.plan.model import Plan
from gate.reap.remaining import Remaining


@dataclass(frozen=True, slots=True)
class Staged:
    """What lies under `staged/` for every workload of the run."""

    files: Mapping[str, str]
    """Path below `staged/` to `sha256:<hex>`."""
    tools: Mapping[str, str]
    """Tool name to version."""
    origin: Mapping[str, str]
    """Whose artifact it is where an earlier run staged it: version, run, commit, url; empty where staged here."""


class Staging(Protocol):
    """Puts what workloads need where they can read it. Staging the same again changes nothing."""

    async def stage(self, plan: Plan) -> Staged:
        """Raises ArtifactError (missing, or not what its digest says), StoreError."""
        ...

    async def verify(self, files: Mapping[str, str]) -> None:
        """Hash again what was staged, as a workload will read it. Raises ArtifactError, StoreError."""
        ...


@dataclass(frozen=True, slots=True)
class DispatchWorld:
    """The contracts of one dispatch. `secrets` holds name to value and is never written anywhere."""

    clock: Clock
    store: Store
    engine: Engine
    files: LegFiles
    staging: Staging
    secrets: Mapping[str, str]
    run_dir: str
    """Absolute path of the run directory as workloads see it."""
    ci: Mapping[str, str]
    say: Callable[[str], None]
    """Tells people what is going on, one line at a time."""
    reap_stale: Callable[[], Awaitable[tuple[Remaining, ...]]]
    """Stops what older runs of the same gate, repository and ref left; returns what may still run."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked for. `again`: attempt n+1 even where the latest attempt could be continued."""

    run: str
    fresh: bool = False
    again: bool = False
    polled_here: bool = False
