"""`gate reap --run`: stop what one run left, whoever died. Meant to be called from a second place."""

from __future__ import annotations

from gate.contracts import CancelNotes, Clock, Engine, Scope, Store, Workload
from gate.errors import EngineError, RunHeld, RunNotFound
from gate.reap.leases import leases as leases_of
from gate.reap.report import STRANGE, ReapReport, burning, left_alone
from gate.reap.settle import settle, settle_orphans
from gate.rundir.formats import Attempt, CancelIntent
from gate.rundir.lease import live_holder
from gate.rundir.run import Run


async def reap_run(
    store: Store, engine: Engine, clock: Clock, notes: CancelNotes, *, all_: bool, dry_run: bool, budget: float
) -> ReapReport:
    """Stop every workload of the run and see it gone; leases of kept ones are honoured unless `all_`.

    A run whose poller lives is refused (RunHeld) unless a cancel was noted for it: then poll is on its way out, or dead
    without having reached the shared root, and its intent is brought there. Raises RunNotFound, StoreError.
    """
    run = Run(store)
    attempts = await run.attempts()
    if not attempts:
        raise RunNotFound("this run has no attempt: nothing was ever launched")
    cancelled = await _cancelled(run, clock, notes, attempts[-1])
    if cancelled is None and not dry_run:
        await refuse_held(store, clock, attempts[-1].run)
    tags = [attempt.tag for attempt in attempts]
    leases = () if all_ else await leases_of(run, tags, (await clock.now()).wall)
    kept = {f"{lease.tag}/{lease.workload}" for lease in leases}
    plan = attempts[-1].plan
    scope = Scope(plan.repository, plan.gate)
    listed = await _listed(engine, scope, must=dry_run)
    spared = {(t, e.name) for t in tags for e in (await run.readable_entries(t))[0] if f"{t}/{e.id}" in kept}
    live = tuple(w for w in listed if w.tag in tags and burning(w) and (w.tag, w.name) not in spared)
    strange = tuple(w for w in listed if w.run == attempts[-1].run and w.tag not in tags and burning(w))
    left = () if all_ else tuple(left_alone(w, STRANGE, engine.kind) for w in strange)
    live += strange if all_ else ()
    if dry_run:
        return ReapReport(live, leases, remaining=left, cancelled=cancelled)
    left += await settle(store, engine, clock, tags, kept=kept, budget=budget)
    if all_ and strange:
        left += await settle_orphans(engine, clock, scope, attempts[-1].run, budget=budget)
    return ReapReport(live, leases, remaining=left, cancelled=cancelled)


async def _listed(engine: Engine, scope: Scope, *, must: bool) -> tuple[Workload, ...]:
    """What the engine lists; nothing where it cannot be asked: settling then names everything that is recorded."""
    try:
        return (await engine.list(scope)).workloads
    except EngineError:
        if must:
            raise
        return ()


async def reap_orphans(
    engine: Engine, clock: Clock, scope: Scope, run: str, *, dry_run: bool, budget: float
) -> ReapReport:
    """The same for a run whose directory is not below this root (removed, or another root's)."""
    live = tuple(w for w in (await engine.list(scope)).workloads if w.run == run and burning(w))
    if dry_run or not live:
        return ReapReport(live)
    return ReapReport(live, remaining=await settle_orphans(engine, clock, scope, run, budget=budget))


async def name_orphans(engine: Engine, scope: Scope, run: str, why: str) -> ReapReport:
    """What lives of a run whose records cannot be read: whether somebody watches it cannot be known."""
    live = (w for w in (await engine.list(scope)).workloads if w.run == run and burning(w))
    return ReapReport(remaining=tuple(left_alone(w, why, engine.kind) for w in live))


async def refuse_held(store: Store, clock: Clock, run: str) -> None:
    """Raises RunHeld where a live process holds the run: what it watches is not to be stopped under it."""
    lease = await live_holder(store, clock)
    if lease is not None:
        raise RunHeld(
            f"run {run} is alive: {lease.command!r}, pid {lease.pid} on {lease.host}, holds it",
            hint=f"End it there (Ctrl-C), or stop its workloads under it with `gate stop --run {run}`.",
        )


async def _cancelled(run: Run, clock: Clock, notes: CancelNotes, latest: Attempt) -> int | None:
    """The signal of a cancel noted for the latest attempt, on this disk or in the run directory."""
    intent = await run.cancel(latest.tag)
    if intent is not None:
        return intent.signal
    signal = await notes.find(latest.run, latest.tag)
    if signal is not None:
        await run.record_cancel(CancelIntent(latest.run, latest.tag, signal, (await clock.now()).wall))
    return signal
