"""Worlds for the sandboxes' conformance suite: one a backend. Another backend is another world here."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol

import anyio

from gate.adapters.clock import SystemClock
from gate.bootstrap.containment import Census
from gate.contracts import Clock
from gate.contracts.sandbox import PUBLIC, Labels, NetworkPolicy, Sandboxes, SandboxRequest
from gate.sandboxes.local.backend import LocalSandboxes

_numbers = itertools.count(1)


class World(Protocol):
    """One backend with all it needs."""

    clock: Clock
    backend: Sandboxes
    image: str | None

    def words(self, marker: str) -> list[str]:
        """Processes with `marker` in their command line, looked up without the backend."""
        ...


Scenario = Callable[[World], Awaitable[None]]
Run = Callable[[Scenario], None]


def request(
    world: World, *, name: str = "", network: NetworkPolicy = PUBLIC, env: Mapping[str, str] | None = None
) -> SandboxRequest:
    """A sandbox that any backend can give."""
    return SandboxRequest(
        name=name or f"t-{next(_numbers)}",
        image=world.image,
        network=network,
        labels=Labels("leg", "task", "trial", "work"),
        env=env or {},
        deadline=60.0,
    )


class HostWorld:
    """Sandboxes whose processes this machine sees."""

    image: str | None = None

    def __init__(self, backend: Sandboxes, clock: Clock) -> None:
        self.backend = backend
        self.clock = clock

    def words(self, marker: str) -> list[str]:
        return [str(process) for process in Census().started_with("sleep", marker)]


def local(scenario: Scenario, path: Path, *, namespaces: bool, loop: Literal["asyncio", "trio"]) -> None:
    async def play() -> None:
        clock = SystemClock()
        backend = LocalSandboxes(clock, namespaces=namespaces, root=path)
        try:
            await scenario(HostWorld(backend, clock))
        finally:
            with anyio.CancelScope(shield=True):
                await backend.aclose()

    anyio.run(play, backend=loop)
    assert list(path.iterdir()) == []


RUN: dict[str, Callable[[Scenario, Path], None]] = {
    "local": lambda scenario, path: local(scenario, path, namespaces=True, loop="asyncio"),
    "local-plain": lambda scenario, path: local(scenario, path, namespaces=False, loop="asyncio"),
    "local-plain-trio": lambda scenario, path: local(scenario, path, namespaces=False, loop="trio"),
}
"""Backends that are held to the suite, by name."""
