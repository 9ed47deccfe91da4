"""After the decision: what is kept gets its lease, everything else is stopped and seen gone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gate.contracts import Clock, Engine, Published
from gate.errors import DocumentError, StoreError
from gate.machines.observations import Decide
from gate.poll.session import Session
from gate.reap.leases import leases as leases_of
from gate.reap.remaining import Remaining, removal
from gate.reap.settle import settle
from gate.rundir.formats import Attempt, Decision, Kept
from gate.rundir.run import Run

SETTLE = 120.0
"""Seconds in which stopped workloads are waited for."""


@dataclass(frozen=True, slots=True)
class PollEnd:
    """How a poll ended. `decision` None: undecided (`--once`), or it could not be written down.

    `published` None: nothing is reported to GitHub.
    """

    decision: Decision | None
    exit_code: int
    remaining: tuple[Remaining, ...]
    published: Published | None = None


async def keep(run: Run, attempt: Attempt, decided: Decide, wall: float) -> Mapping[str, Kept]:
    """Write the leases of the workloads that are kept; a workload left to a superseded run, until its time-out.

    Returns `TAG/ID` to lease, those of people (`gate keep`) that have not ended at `wall` included. Raises StoreError.
    """
    superseded = decided.decision.word == "SUPERSEDED"
    plan = attempt.plan
    for workload in plan.workloads:
        seconds = workload.timeout if superseded else min(plan.keep_on_fail, workload.timeout)
        if workload.id not in decided.keep or seconds <= 0:
            continue
        why = "left to a superseded run until its time-out" if superseded else "kept for post-mortem"
        tag = attempt.adopted.get(workload.id, attempt.tag)
        await run.keep(Kept(workload.id, tag, wall + seconds, why, attempt.run))
    return await leases(run, attempt, wall)


async def leases(run: Run, attempt: Attempt, wall: float) -> Mapping[str, Kept]:
    """`TAG/ID` to lease, of all leases of this attempt's workloads that have not ended. Raises StoreError."""
    return {f"{lease.tag}/{lease.workload}": lease for lease in await leases_of(run, attempt.tags, wall)}


async def stop_the_rest(
    session: Session, attempt: Attempt, engine: Engine, clock: Clock, kept: Mapping[str, Kept], budget: float
) -> tuple[Remaining, ...]:
    """Stop every workload of the attempt without a lease, and see it gone. Returns what may still run."""
    try:
        return await settle(session.run.store, engine, clock, attempt.tags, kept=tuple(kept), budget=budget)
    except (StoreError, DocumentError) as error:
        return alive(session, engine.kind, f"not stopped: {error.message}", kept)


def alive(session: Session, kind: str, why: str, kept: Collection[str] = ()) -> tuple[Remaining, ...]:
    """What may still run, from what the gate machine has seen: for when there is no time or no root to look again."""
    attempt = session.attempt
    found: list[Remaining] = []
    for name, workload in session.state.workloads.items():
        refused = workload.rules.create_problem == "refused" and workload.seen is None
        if workload.over or refused or f"{attempt.adopted.get(name, attempt.tag)}/{name}" in kept:
            continue
        engine_id = workload.seen.id if workload.seen is not None else None
        found.append(Remaining(name, engine_id, why, removal(kind, attempt.run, engine_id)))
    return tuple(found)


def never_seen(attempt: Attempt, kind: str, why: str) -> tuple[Remaining, ...]:
    """The same before anything was seen at all: everything this attempt launched or took over."""
    names = (*attempt.launched, *attempt.adopted)
    return tuple(Remaining(name, None, why, removal(kind, attempt.run, None)) for name in names)
