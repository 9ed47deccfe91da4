"""What earlier attempts of a run left: their verdicts, their workloads' entries, and what still lives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gate.contracts import Engine, LegFiles, LegQuery, Listing, Store, Workload
from gate.errors import WorkloadNotFound
from gate.machines.verdict import Verdict
from gate.rundir.formats import Attempt, Decision, LegResult, WorkloadEntry
from gate.rundir.run import Run


@dataclass(frozen=True, slots=True)
class Earlier:
    """One attempt as it stands. `alive`: workload plan id to the engine's word, where it is not over."""

    attempt: Attempt
    decision: Decision | None
    verdicts: Mapping[str, Verdict]
    entries: Mapping[str, WorkloadEntry]
    results: Mapping[str, LegResult]
    """leg id to the last `leg.json` under this tag, of workloads that live: such a leg has ended nevertheless."""
    alive: Mapping[str, Workload]


async def history(store: Store, engine: Engine, files: LegFiles, listing: Listing) -> tuple[Earlier, ...]:
    """All attempts of the run, oldest first. Raises DocumentError, StoreError, EngineError."""
    return tuple([await _earlier(store, engine, files, each, listing) for each in await Run(store).attempts()])


async def _earlier(store: Store, engine: Engine, files: LegFiles, attempt: Attempt, listing: Listing) -> Earlier:
    run, tag = Run(store), attempt.tag
    entries = await run.entries(tag)
    alive = {id_: found for id_, e in entries.items() if (found := await _alive(engine, e, listing)) is not None}
    results = await _results(files, tag, [leg for id_ in alive for leg in entries[id_].legs])
    return Earlier(attempt, await run.decision(tag), await run.verdicts(tag), entries, results, alive)


async def _results(files: LegFiles, tag: str, legs: Sequence[str]) -> dict[str, LegResult]:
    if not legs:
        return {}
    views = await files.look([LegQuery(leg, tag, (), ()) for leg in legs])
    return {leg: view.result for leg, view in views.items() if view.result is not None}


async def _alive(engine: Engine, entry: WorkloadEntry, listing: Listing) -> Workload | None:
    """The workload where it is certainly not over. What cannot be seen is not called alive, and never adopted."""
    if entry.stage == "seen_gone":
        return None
    for workload in listing.workloads:
        if workload.tag == entry.tag and workload.name == entry.name:
            return None if workload.phase.terminal else workload
    if entry.engine_id is None:
        return None
    try:
        found = await engine.get(entry.engine_id)
    except WorkloadNotFound:
        return None
    return None if found.phase.terminal else found
