"""A live run of the same gate, ref and version: two of them would fight over the same GPUs and the same statuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gate.contracts import Clock, Engine, Scope
from gate.errors import DocumentError, LiveTwin
from gate.plan.model import Plan
from gate.reap.leases import leases
from gate.reap.report import burning
from gate.rundir.formats import Lease
from gate.rundir.lease import live_holder
from gate.rundir.run import Run


@dataclass(frozen=True, slots=True)
class Twin:
    """The other run: what of it lives, and who holds it (None: nobody, its poller died or never started)."""

    run: str
    attempt: int
    workloads: tuple[str, ...]
    holder: Lease | None


async def twins(
    engine: Engine, clock: Clock, plan: Plan, others: Mapping[str, Run], newest_first: Sequence[str]
) -> tuple[Twin, ...]:
    """Undecided runs among `others` (run id to records) of the plan's ref and version with live, unkept workloads.

    Raises EngineError, StoreError. A run whose records cannot be read is none: nothing can be said of it.
    """
    alive: dict[str, list[tuple[str, str]]] = {}
    for workload in (await engine.list(Scope(plan.repository, plan.gate, ref=plan.ref))).workloads:
        if burning(workload):
            alive.setdefault(workload.run, []).append((workload.tag, workload.name))
    found: list[Twin] = []
    for run in newest_first:
        if run in alive and run in others:
            twin = await _twin(clock, plan, run, others[run], alive[run])
            if twin is not None:
                found.append(twin)
    return tuple(found)


async def _twin(clock: Clock, plan: Plan, run: str, records: Run, alive: Sequence[tuple[str, str]]) -> Twin | None:
    try:
        attempt = await records.latest_attempt()
        decided = await records.decision(attempt.tag)
    except DocumentError:
        return None
    theirs = attempt.plan
    if decided is not None or (theirs.version, theirs.ref) != (plan.version, plan.ref):
        return None
    tags = sorted({tag for tag, _ in alive})
    kept = {(lease.tag, lease.workload) for lease in await leases(records, tags, (await clock.now()).wall)}
    spared = {(tag, e.name) for tag in tags for e in (await records.entries(tag)).values() if (tag, e.id) in kept}
    names = tuple(name for tag, name in alive if (tag, name) not in spared)
    if not names:
        return None
    return Twin(run, attempt.attempt, names, await live_holder(records.store, clock))


def refuse(twin: Twin, plan: Plan) -> LiveTwin:
    """The error that names it and says what can be done."""
    who = (
        f"held by {twin.holder.command!r}, pid {twin.holder.pid} on {twin.holder.host}"
        if twin.holder is not None
        else "held by nobody"
    )
    names = ", ".join(twin.workloads[:4]) + (" …" if len(twin.workloads) > 4 else "")
    ref = f", ref {plan.ref}" if plan.ref else ""
    count = f"{len(twin.workloads)} workload{'s' if len(twin.workloads) != 1 else ''}"
    return LiveTwin(
        f"run {twin.run} of gate {plan.gate}{ref}, version {plan.version} is live: "
        f"attempt {twin.attempt}, {count} ({names}), {who}",
        hint=f"Go on with it: `gate poll {twin.run}`. End it: `gate stop --run {twin.run}`. Another beside it: --new.",
    )
