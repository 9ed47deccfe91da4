"""The engine's word on the attempt's workloads: one list call, and a second source for what it lacks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from gate.contracts import Engine, Scope, Workload
from gate.errors import EngineAuthError, EngineError, EngineRefused, EngineUnreachable, WorkloadNotFound
from gate.machines.observations import BlindKind, EngineBlind, EngineSeen
from gate.plan.identity import workload_name
from gate.rundir.formats import Attempt, WorkloadEntry

LIST_DEADLINE = 120.0
"""Seconds for one round; engines have shorter time-outs of their own, this one ends what they forgot."""
LATE = EngineBlind("timed_out", f"no answer within {LIST_DEADLINE:g} s")
SECOND_SOURCE = 8
"""Workloads asked for by their ids in one round."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One workload of the attempt as the engine may know it. `engine_id` None: only by tag and name."""

    id: str
    engine_id: str | None
    tag: str
    name: str


def wanted(attempt: Attempt, entries: Mapping[str, Mapping[str, WorkloadEntry]], engine: Engine) -> tuple[Wanted, ...]:
    """The workloads to look for. `entries` holds tag to workload id to entry."""
    found: list[Wanted] = []
    for workload in attempt.plan.workloads:
        if all(leg in attempt.carried for leg in workload.legs):
            continue
        tag = attempt.adopted.get(workload.id, attempt.tag)
        entry = entries.get(tag, {}).get(workload.id)
        if entry is None:
            name = workload_name(attempt.plan.gate, workload.id, tag, engine.capabilities.max_name)
            found.append(Wanted(workload.id, None, tag, name))
        else:
            found.append(Wanted(workload.id, entry.engine_id, tag, entry.name))
    return tuple(found)


class EngineEye:
    """Looks at the engine for the poller. `settled` names workloads that have ended: those are asked for no more."""

    def __init__(
        self, engine: Engine, attempt: Attempt, targets: tuple[Wanted, ...], settled: Callable[[], Collection[str]]
    ) -> None:
        self._engine = engine
        self._targets = targets
        self._settled = settled
        only = None if attempt.adopted else attempt.tag
        self._scope = Scope(attempt.plan.repository, attempt.plan.gate, tag=only)

    async def look(self) -> EngineSeen | EngineBlind:
        """One round. Never raises an EngineError: that the engine could not be seen is an observation."""
        try:
            return await self._look()
        except EngineError as error:
            return EngineBlind(blind_kind(error), error.message)

    async def _look(self) -> EngineSeen:
        listing = await self._engine.list(self._scope)
        by_id = {workload.id: workload for workload in listing.workloads}
        by_name = {(workload.tag, workload.name): workload for workload in listing.workloads}
        seen: dict[str, Workload] = {}
        missing: list[Wanted] = []
        for target in self._targets:
            workload = by_id.get(target.engine_id or "") or by_name.get((target.tag, target.name))
            if workload is not None:
                seen[target.id] = workload
            elif target.engine_id is not None:
                missing.append(target)
        settled = self._settled()
        missing = [target for target in missing if target.id not in settled]
        unknown, failed = await self._second_source(missing[:SECOND_SOURCE], seen)
        if failed is not None and not seen and not unknown:
            # Another host's local workloads: an empty list, and ids that only their own host can see. That is no gone.
            raise failed
        asked = failed is None and len(missing) <= SECOND_SOURCE
        return EngineSeen(seen, listing.complete and asked, tuple(unknown))

    async def _second_source(
        self, missing: list[Wanted], seen: dict[str, Workload]
    ) -> tuple[list[str], EngineError | None]:
        """Ask for each by its id, adding to `seen`. Ids of the plan that the engine does not know; an error if any."""
        unknown: list[str] = []
        failed: EngineError | None = None
        for target in missing:
            assert target.engine_id is not None
            try:
                # maestrowf#266: a finished job leaves the list in minutes; not listed is neither success nor failure
                seen[target.id] = await self._engine.get(target.engine_id)
            except WorkloadNotFound:
                unknown.append(target.id)
            except EngineError as error:
                failed = error
        return unknown, failed


_KINDS: tuple[tuple[type[EngineError], BlindKind], ...] = (
    (EngineAuthError, "rejected"),
    (WorkloadNotFound, "gone"),
    (EngineRefused, "refused"),
)


def blind_kind(error: EngineError) -> BlindKind:
    """In which way the engine cannot be seen."""
    if isinstance(error, EngineUnreachable):
        return error.kind
    for cls, kind in _KINDS:
        if isinstance(error, cls):
            return kind
    return "error"
