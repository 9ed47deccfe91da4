"""Faults of an engine, as a decorator around its contract: the code under test awaits the contract and knows nothing.

`Blind` is the general one: a window in which calls fail. What only shows in answers (duplicates, incomplete lists,
phases that go backwards, a workload that is not found) is a `Blur`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gate.contracts import Capabilities, Clock, Engine, Listing, LogChunk, Phase, Scope, Workload, WorkloadRequest
from gate.errors import CreateUnclear, EngineAuthError, EngineUnreachable, WorkloadNotFound
from gate.machines.observations import BlindKind

PATIENCE = 30.0
"""Seconds until a call that gets no answer is given up."""


@dataclass(frozen=True, slots=True)
class Blind:
    """From `start` until `end` (the clock's `mono`) every call fails in this way, and has no effect."""

    start: float
    end: float
    kind: BlindKind | Literal["forbidden", "unavailable", "slow"]
    seconds: float = 0.0
    """slow: how long each answer takes."""
    chance: float = 1.0
    """Of each call."""


@dataclass(frozen=True, slots=True)
class Blur:
    """In the window answers lie about the workloads for which `whose` holds (it gets engine ids)."""

    start: float
    end: float
    kind: Literal["missing", "incomplete", "duplicate", "backwards"]
    whose: Callable[[str], bool] = lambda _id: True
    chance: float = 1.0


class FaultyEngine:
    """An engine that cannot be reached at times, and answers late. `slow`: seconds before each answer."""

    def __init__(
        self,
        engine: Engine,
        clock: Clock,
        blind: Sequence[Blind] = (),
        slow: float = 0.0,
        blurs: Sequence[Blur] = (),
        dice: Callable[[str], random.Random] | None = None,
    ) -> None:
        self._engine = engine
        self._clock = clock
        self._blind = blind
        self._slow = slow
        self._blurs = blurs
        self._dice: Callable[[str], random.Random] = dice or random.Random
        self._streams: dict[str, random.Random] = {}

    @property
    def kind(self) -> str:
        return self._engine.kind

    @property
    def capabilities(self) -> Capabilities:
        return self._engine.capabilities

    async def create(self, request: WorkloadRequest) -> str:
        try:
            await self._pass(f"create {request.name}")
        except EngineUnreachable as error:
            raise CreateUnclear(f"{request.name}: {error.message}") from error
        created = await self._engine.create(request)
        await self._answer()
        return created

    async def list(self, scope: Scope) -> Listing:
        await self._pass("list")
        found = await self._engine.list(scope)
        await self._answer()
        return await self._blurred(found) if self._blurs else found

    async def get(self, workload_id: str) -> Workload:
        await self._pass(f"get {workload_id}", workload_id)
        await self._known(workload_id)
        found = await self._engine.get(workload_id)
        await self._answer()
        return (await self._blurred(Listing((found,), complete=True), single=True)).workloads[0]

    async def stop(self, workload_id: str) -> None:
        await self._pass(f"stop {workload_id}")
        await self._engine.stop(workload_id)
        await self._answer()

    async def logs(self, workload_id: str, offset: int, limit: int) -> LogChunk:
        await self._pass(f"logs {workload_id}", workload_id)
        await self._known(workload_id)
        found = await self._engine.logs(workload_id, offset, limit)
        await self._answer()
        return found

    async def aclose(self) -> None:
        await self._engine.aclose()

    # --- calls that fail -----------------------------------------------------------------------------

    async def _answer(self) -> None:
        if self._slow:
            await self._clock.sleep(self._slow)

    async def _pass(self, call: str, workload_id: str | None = None) -> None:
        """Raise what a blind window that is open now says."""
        if not self._blind:
            return
        now = (await self._clock.now()).mono
        for window in self._blind:
            if window.start <= now < window.end and self._strikes(call, window.chance):
                await self._fail(window, workload_id)

    def _strikes(self, call: str, chance: float) -> bool:
        """Each call has dice of its own: the order of calls side by side must not change what befalls one of them."""
        if chance >= 1.0:
            return True
        stream = self._streams.get(call)
        if stream is None:
            stream = self._streams[call] = self._dice(call)
        return stream.random() < chance

    async def _fail(self, window: Blind, workload_id: str | None) -> None:
        match window.kind:
            case "refused":
                raise EngineUnreachable("connection refused", kind="refused")
            case "timed_out":
                await self._clock.sleep(PATIENCE)
                raise EngineUnreachable(f"no answer within {PATIENCE:g} s: timed out", kind="timed_out")
            case "rejected":
                raise EngineAuthError("401: the token was rejected")
            case "forbidden":
                raise EngineAuthError("403: the token lacks a permission")
            case "unavailable":
                raise EngineUnreachable("503: service unavailable")
            case "slow":
                await self._clock.sleep(window.seconds)
            case "gone" if workload_id is not None:
                raise WorkloadNotFound(f"{workload_id}: not found")
            case "gone" | "error":
                raise EngineUnreachable("502: an HTML page from a proxy instead of an answer")

    # --- answers that lie ----------------------------------------------------------------------------

    async def _open(self, call: str) -> tuple[Blur, ...]:
        if not self._blurs:
            return ()
        now = (await self._clock.now()).mono
        return tuple(b for b in self._blurs if b.start <= now < b.end and self._strikes(f"{call} {b.kind}", b.chance))

    async def _known(self, workload_id: str) -> None:
        if any(blur.kind == "missing" and blur.whose(workload_id) for blur in await self._open(f"known {workload_id}")):
            raise WorkloadNotFound(f"{workload_id}: not found")

    async def _blurred(self, listing: Listing, *, single: bool = False) -> Listing:
        workloads, complete = listing.workloads, listing.complete
        call = f"get {listing.workloads[0].id}" if single else "list"
        for blur in await self._open(call):
            match blur.kind:
                case "missing" | "incomplete" if not single:
                    left = tuple(w for w in workloads if not blur.whose(w.id))
                    complete = complete and (blur.kind == "missing" or len(left) == len(workloads))
                    workloads = left
                case "duplicate" if not single:
                    workloads = tuple(
                        w for each in workloads for w in ((each, each) if blur.whose(each.id) else (each,))
                    )
                case "backwards":
                    workloads = tuple(_backwards(w) if blur.whose(w.id) else w for w in workloads)
                case _:
                    continue
        return Listing(workloads, complete)


def _backwards(workload: Workload) -> Workload:
    """Running shown as Pending."""
    return replace(workload, phase=Phase.PENDING) if workload.phase is Phase.RUNNING else workload
