"""The page of one attempt, from its run directory alone. Asks no engine and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gate.machines import gate
from gate.machines.clock import Now
from gate.machines.observations import VerdictsFound
from gate.machines.rows import rows
from gate.machines.verdict import Reason
from gate.poll import journal
from gate.poll.rules import rules_of
from gate.report.decision import next_commands
from gate.report.html.burning import Watched, burning_of
from gate.report.html.eta import eta_of
from gate.report.html.history import History, history_of
from gate.report.html.lanes import lane_of, wants_log
from gate.report.html.page import Lane, Moment, Page
from gate.report.html.records import Records, Wanted
from gate.report.html.rungs import gate_rungs
from gate.report.text import plain
from gate.rundir import layout, lease
from gate.rundir.formats import Attempt, Decision, Lease
from gate.rundir.run import Run


async def page_of(run: Run, attempt: Attempt, records: Records, *, written: float) -> Page:
    """The page of `attempt` as it stands; `written` is the wall time now, in Unix seconds.

    Works on any store: a simulation's run directory in memory gives the page of a simulation with `simulated`.

    Raises StoreError, and DocumentError for a record of gate's own that cannot be read.
    """
    history = await _history(run, attempt)
    decision = await run.decision(attempt.tag)
    holder = await lease.current(run.store)
    lanes = await _lanes(attempt, history, records)
    elapsed = history.now.boot if decision is None else decision.elapsed
    plan = attempt.plan
    return Page(
        kind="run",
        plan=plan,
        run=attempt.run,
        attempt=attempt.attempt,
        tag=attempt.tag,
        begin=history.begin,
        elapsed=elapsed,
        observed=history.now.wall if history.observed else None,
        written=written,
        decision=decision,
        manifest=await run.manifest(),
        lanes=lanes,
        rungs=gate_rungs(plan, elapsed, history.blind, decided=decision is not None, hit=_by_deadline(decision)),
        blind=tuple(sorted(history.blind, key=lambda each: each.begin)),
        moments=(*history.moments, *_closing(decision)),
        burning=await burning_of(run, attempt, written, _watched_by(attempt, history) if decision is None else None),
        next=_next(attempt, decision, holder),
        eta=eta_of(plan, lanes, elapsed) if decision is None else None,
        poller=_watched(holder) if decision is None else "",
        facts=_ci(attempt.ci),
    )


def simulated(page: Page, facts: tuple[tuple[str, str], ...], again: tuple[str, ...]) -> Page:
    """The page of a gate that was only played: `facts` (seed, scenario) of its identity, `again` to be typed next."""
    # Its clock is not ours: nothing that it tells is so and so long ago.
    end = page.observed if page.observed is not None else page.begin
    return replace(page, kind="simulation", facts=facts, next=again, poller="", burning=(), written=end)


async def _history(run: Run, attempt: Attempt) -> History:
    key = layout.observations(attempt.tag)
    raw = await run.store.read(key)
    found = journal.read(raw, key) if raw is not None else None
    if found is None:
        begin = Now(mono=0.0, wall=attempt.created, boot=0.0)
        history = history_of(gate.start(await rules_of(run, attempt, list_lag=0.0), begin), begin, ())
    else:
        codec, past = found
        begin = codec.last.now()
        history = history_of(gate.start(codec.header.rules, begin), begin, ((at.now(), seen) for at, seen in past))
    # What is on disk stands; an attempt that nobody polled yet shows its carried legs so, too.
    verdicts = tuple((await run.verdicts(attempt.tag)).values())
    history.state, _ = gate.step(history.state, VerdictsFound(verdicts), history.now)
    return history


async def _lanes(attempt: Attempt, history: History, records: Records) -> tuple[Lane, ...]:
    plan, state = attempt.plan, history.state
    wanted = [
        Wanted(leg.id, state.legs[leg.id].rules.tag, wants_log(state.legs[leg.id].verdict))
        for leg in plan.legs
        if leg.id not in attempt.carried
    ]
    found = dict(zip((each.leg for each in wanted), await records.read(wanted), strict=True))
    workloads = {leg: each for each in plan.workloads for leg in each.legs}
    by_leg = {row.leg: row for row in rows(state, history.now)}
    return tuple(
        lane_of(plan, leg, workloads[leg.id], by_leg[leg.id], history, found.get(leg.id, ())) for leg in plan.legs
    )


def _watched_by(attempt: Attempt, history: History) -> Watched:
    states = history.state.workloads
    return Watched(
        history.begin, {(attempt.adopted.get(name, attempt.tag), name): each for name, each in states.items()}
    )


def _next(attempt: Attempt, decision: Decision | None, holder: Lease | None) -> tuple[str, ...]:
    if decision is not None:
        return next_commands(decision)
    if holder is None:
        return (f"gate poll {attempt.run}", f"gate status {attempt.run}")
    return (f"gate status {attempt.run}", f"gate report {attempt.run} --html FILE")


def _watched(holder: Lease | None) -> str:
    return "" if holder is None else f"pid {holder.pid} on {plain(holder.host)}: {plain(holder.command)}"


def _by_deadline(decision: Decision | None) -> bool:
    return decision is not None and any(leg.reason is Reason.POLL_DEADLINE for leg in decision.legs)


def _closing(decision: Decision | None) -> tuple[Moment, ...]:
    return () if decision is None else (Moment(decision.elapsed, f"decided: {decision.word}"),)


def _ci(ci: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple((f"CI {name}", value) for name, value in ci.items())
