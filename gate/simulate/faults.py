"""Faults as decorators around contracts: the code under test awaits the contract and knows nothing of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.contracts import Capabilities, Clock, Engine, Listing, LogChunk, Scope, Workload, WorkloadRequest
from gate.errors import CreateUnclear, EngineAuthError, EngineUnreachable, WorkloadNotFound
from gate.machines.observations import BlindKind

PATIENCE = 30.0
"""Seconds until a call that gets no answer is given up."""


@dataclass(frozen=True, slots=True)
class Blind:
    """From `start` until `end` (the clock's `mono`) every call fails in this way, and has no effect."""

    start: float
    end: float
    kind: BlindKind


class FaultyEngine:
    """An engine that cannot be reached at times, and answers late. `slow`: seconds before each answer."""

    def __init__(self, engine: Engine, clock: Clock, blind: Sequence[Blind] = (), slow: float = 0.0) -> None:
        self._engine = engine
        self._clock = clock
        self._blind = blind
        self._slow = slow

    @property
    def kind(self) -> str:
        return self._engine.kind

    @property
    def capabilities(self) -> Capabilities:
        return self._engine.capabilities

    async def create(self, request: WorkloadRequest) -> str:
        try:
            await self._pass()
        except EngineUnreachable as error:
            raise CreateUnclear(f"{request.name}: {error.message}") from error
        created = await self._engine.create(request)
        await self._clock.sleep(self._slow)
        return created

    async def list(self, scope: Scope) -> Listing:
        await self._pass()
        found = await self._engine.list(scope)
        await self._clock.sleep(self._slow)
        return found

    async def get(self, workload_id: str) -> Workload:
        await self._pass(workload_id)
        found = await self._engine.get(workload_id)
        await self._clock.sleep(self._slow)
        return found

    async def stop(self, workload_id: str) -> None:
        await self._pass()
        await self._engine.stop(workload_id)
        await self._clock.sleep(self._slow)

    async def logs(self, workload_id: str, offset: int, limit: int) -> LogChunk:
        await self._pass(workload_id)
        found = await self._engine.logs(workload_id, offset, limit)
        await self._clock.sleep(self._slow)
        return found

    async def aclose(self) -> None:
        await self._engine.aclose()

    async def _pass(self, workload_id: str | None = None) -> None:
        """Raise what a blind window that is open now says."""
        now = (await self._clock.now()).mono
        for window in self._blind:
            if window.start <= now < window.end:
                await self._fail(window.kind, workload_id)

    async def _fail(self, kind: BlindKind, workload_id: str | None) -> None:
        match kind:
            case "refused":
                raise EngineUnreachable("connection refused")
            case "timed_out":
                await self._clock.sleep(PATIENCE)
                raise EngineUnreachable(f"no answer within {PATIENCE:g} s")
            case "rejected":
                raise EngineAuthError("401: the token was rejected")
            case "gone" if workload_id is not None:
                raise WorkloadNotFound(f"{workload_id}: not found")
            case "gone" | "error":
                raise EngineUnreachable("502: an HTML page from a proxy instead of an answer")
