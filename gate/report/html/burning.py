"""What may still run, until when, and how to end it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gate.machines.gate_state import WorkloadState
from gate.reap.remaining import removal
from gate.report.html.page import Burning
from gate.report.text import stamp
from gate.rundir.formats import Attempt, Kept, WorkloadEntry
from gate.rundir.notes import create_problem
from gate.rundir.run import Run


@dataclass(frozen=True, slots=True)
class Watched:
    """What a poller has seen of an undecided attempt: (tag, workload) to its state, the first poll at `begin`."""

    begin: float
    states: Mapping[tuple[str, str], WorkloadState] = field(default_factory=dict)


async def burning_of(run: Run, attempt: Attempt, now: float, watched: Watched | None) -> tuple[Burning, ...]:
    """Workloads of the run that were not seen gone, earlier attempts' too; those without an end first, then by end.

    `now` is wall time, Unix seconds; `watched` None: the attempt is decided, and whatever has no lease should be gone.
    Raises StoreError, and DocumentError for an entry that cannot be read.
    """
    found: list[Burning] = []
    for tag in dict.fromkeys(key.split("/")[2] for key in await run.store.list("gate/workloads")):
        leases = await run.kept(tag)
        for entry in (await run.entries(tag)).values():
            state = watched.states.get((tag, entry.id)) if watched is not None else None
            ended = state is not None and state.over  # that it is cleared away is seen to at the end
            if entry.stage == "seen_gone" or create_problem(entry)[0] == "refused" or ended:
                continue
            found.append(_one(attempt, entry, leases.get(entry.id), watched, state, now))
    return tuple(sorted(found, key=lambda each: (-(each.until or float("inf")), each.workload)))


def _one(
    attempt: Attempt,
    entry: WorkloadEntry,
    lease: Kept | None,
    watched: Watched | None,
    state: WorkloadState | None,
    now: float,
) -> Burning:
    planned = next((each for each in attempt.plan.workloads if each.id == entry.id), None)

    def made(why: str, until: float | None, stop: str, *, kept: bool = False) -> Burning:
        gpus = planned.resources.gpus if planned is not None else 0
        return Burning(entry.id, entry.legs, gpus, why, until, stop, kept, entry.tag, entry.engine_id)

    run = attempt.run
    stop = f"gate stop {entry.legs[0]} --run {run}" if len(entry.legs) == 1 else f"gate stop --run {run}"
    if lease is not None and lease.until > now:
        return made(lease.why, lease.until, stop, kept=True)
    if watched is not None and state is not None:
        if state.running_boot is None:
            return made("queued", None, stop)
        until = watched.begin + state.running_boot + state.rules.timeout
        return made("running until all of its legs are judged", until, stop)
    ended = f"its lease ended {stamp(lease.until)}, and it was" if lease is not None else "it was"
    unclear = "nobody knows whether it was created, and " if entry.engine_id is None else ""
    return made(f"{unclear}{ended} not seen gone", None, removal(attempt.plan.engine.kind, run, entry.engine_id))
