"""What may still run, until when, and how to end it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gate.machines.gate_state import WorkloadState
from gate.plan.model import Plan
from gate.reap.remaining import removal
from gate.report.html.page import Burning
from gate.report.text import stamp
from gate.rundir.formats import Kept, WorkloadEntry
from gate.rundir.notes import create_problem


def burning_of(
    plan: Plan,
    run: str,
    entries: Sequence[WorkloadEntry],
    kept: Sequence[Kept],
    states: Mapping[tuple[str, str], WorkloadState],
    *,
    begin: float,
    now: float,
    decided: bool,
) -> tuple[Burning, ...]:
    """Workloads that were not seen gone, those that end last first. `states`: (tag, id) to what the poller saw.

    `begin` is the wall time of the first poll, `now` the wall time at which somebody asks.
    """
    leases = {(lease.tag, lease.workload): lease for lease in kept}
    found: list[Burning] = []
    for entry in entries:
        if entry.stage == "seen_gone" or create_problem(entry)[0] == "refused":
            continue
        state = states.get((entry.tag, entry.id))
        if state is not None and state.over and not decided:
            continue  # it has ended; that it is cleared away is seen to at the end
        found.append(_one(plan, run, entry, leases.get((entry.tag, entry.id)), state, begin, now, decided=decided))
    return tuple(sorted(found, key=lambda each: (-(each.until or float("inf")), each.workload)))


def _one(
    plan: Plan,
    run: str,
    entry: WorkloadEntry,
    lease: Kept | None,
    state: WorkloadState | None,
    begin: float,
    now: float,
    *,
    decided: bool,
) -> Burning:
    planned = next((each for each in plan.workloads if each.id == entry.id), None)
    gpus = planned.resources.gpus if planned is not None else 0
    single = f"gate stop {entry.legs[0]} --run {run}" if len(entry.legs) == 1 else f"gate stop --run {run}"
    if lease is not None and lease.until > now:
        return Burning(entry.id, entry.legs, gpus, lease.why, lease.until, single, kept=True)
    if not decided and state is not None:
        since = state.running_boot
        until = begin + since + planned.timeout if since is not None and planned is not None else None
        why = "running until its legs are judged" if since is not None else "queued"
        return Burning(entry.id, entry.legs, gpus, why, until, single)
    ended = f"its lease ended {stamp(lease.until)}, and it was" if lease is not None else "it was"
    unknown = f"nobody knows whether it was created, and {ended}" if entry.engine_id is None else ended
    return Burning(
        entry.id, entry.legs, gpus, f"{unknown} not seen gone", None, removal(plan.engine.kind, run, entry.engine_id)
    )
