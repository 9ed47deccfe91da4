"""Dispatch worlds: a run directory in memory or on disk, a folder as engine, virtual or real time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
from trio.testing import MockClock

from gate.contracts import Engine, LegQuery, LegView, Store
from gate.dispatch.world import DispatchWorld, Staged
from gate.plan.model import Plan
from gate.reap.remaining import Remaining
from gate.simulate.clock import SimClock


@dataclass
class NoStaging:
    """Stages nothing, and remembers what it was asked to verify."""

    verified: list[Mapping[str, str]] = field(default_factory=list)

    async def stage(self, plan: Plan) -> Staged:
        return Staged({}, {}, {})

    async def verify(self, files: Mapping[str, str]) -> None:
        self.verified.append(files)


@dataclass
class NoLegs:
    """A run whose legs have left nothing, or what `views` says."""

    views: Mapping[str, LegView] = field(default_factory=dict)

    async def look(self, queries: Sequence[LegQuery]) -> Mapping[str, LegView]:
        return {query.leg: self.views.get(query.leg, LegView()) for query in queries}


async def nothing_stale() -> tuple[Remaining, ...]:
    return ()


def world(store: Store, engine: Engine, **changes: Any) -> DispatchWorld:
    defaults: dict[str, Any] = {
        "clock": SimClock(),
        "store": store,
        "engine": engine,
        "files": NoLegs(),
        "staging": NoStaging(),
        "secrets": {},
        "run_dir": "/nowhere/run",
        "ci": {},
        "say": lambda _: None,
        "reap_stale": nothing_stale,
    }
    return DispatchWorld(**(defaults | changes))


def virtually(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run `main` under trio's mock clock: sleeping costs nothing."""
    return anyio.run(main, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)})
