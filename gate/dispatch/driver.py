"""Make or continue a run: decide the attempt, stage, verify, clear the way, launch.

Can be killed anywhere and run again: every step looks at what is there before it acts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gate import __version__
from gate.contracts import Listing, Scope
from gate.dispatch.ci import same_attempt
from gate.dispatch.difference import difference
from gate.dispatch.digests import sha256
from gate.dispatch.draft import draft
from gate.dispatch.history import Earlier, history
from gate.dispatch.launch import Launch, launch, launches
from gate.dispatch.preflight import check_names
from gate.dispatch.world import DispatchWorld, Order
from gate.documents import dump
from gate.errors import EngineUnreachable, RunHeld, UsageError
from gate.plan import identity
from gate.plan.model import Plan
from gate.reap.leases import leases
from gate.reap.remaining import Remaining
from gate.reap.settle import settle
from gate.rundir import layout
from gate.rundir.formats import Assignment, Attempt, Decision, Manifest, WorkloadEntry
from gate.rundir.notes import REFUSED
from gate.rundir.run import Run

CLEARING = 120.0
"""Seconds that earlier workloads of this run get to be seen gone before new ones are launched."""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What became of it. `decision` where the attempt had been decided before: then nothing was launched."""

    attempt: Attempt
    entries: Mapping[str, WorkloadEntry]
    remaining: tuple[Remaining, ...]
    decision: Decision | None
    continued: bool


async def dispatch(world: DispatchWorld, plan: Plan, order: Order) -> Dispatched:
    """Bring the run to where every workload of its attempt is created, adopted, or noted as not created.

    Call it holding the run's lease. Raises GateErrors, all before anything is launched, save for a run directory that
    stops answering in between.
    """
    listing = await _listing(world, plan)
    earlier = await history(world.store, world.engine, world.files, listing)
    latest = earlier[-1] if earlier else None
    if latest is not None and _goes_on(latest, order, world.ci):
        _refuse_difference(plan, latest.attempt)
        if latest.decision is not None:
            return Dispatched(latest.attempt, latest.entries, (), latest.decision, continued=True)
        attempt, continued = latest.attempt, True
    else:
        attempt, continued = await _next(world, plan, order, earlier), False
    wanted = launches(world, attempt)
    check_names([each.request for each in wanted], world.engine.capabilities, world.engine.kind)
    await _stage(world, attempt, wanted)
    if not continued and not await world.store.create(layout.attempt(attempt.attempt), dump(attempt)):
        raise RunHeld(f"run {attempt.run}: attempt {attempt.attempt} was made by another dispatcher just now")
    remaining = await _clear(world, attempt, earlier)
    entries, refused_again = await _launch(world, attempt, wanted)
    return Dispatched(attempt, entries, remaining + refused_again, None, continued)


async def _listing(world: DispatchWorld, plan: Plan) -> Listing:
    """The first list call, before anything is changed: an engine that does not answer is found out here."""
    try:
        return await world.engine.list(Scope(plan.repository, plan.gate))
    except EngineUnreachable as error:
        raise EngineUnreachable(
            f"the {world.engine.kind} engine does not answer: {error.message}",
            hint=error.hint or "Nothing was staged or launched.",
            kind=error.kind,
        ) from error


def _goes_on(latest: Earlier, order: Order, ci: Mapping[str, str]) -> bool:
    """True where the latest attempt is continued: another CI attempt, `gate retry` and a new `--fresh` start one."""
    if order.again or (order.fresh and not latest.attempt.fresh):
        return False
    return not ci or same_attempt(latest.attempt.ci, ci)


def _refuse_difference(plan: Plan, attempt: Attempt) -> None:
    found = difference(attempt.plan, plan)
    if found:
        raise UsageError(
            f"run {attempt.run}: attempt {attempt.attempt} was dispatched with another plan:\n  " + "\n  ".join(found),
            hint=f"`gate retry {attempt.run}` makes attempt {attempt.attempt + 1} with this plan.",
        )


async def _next(world: DispatchWorld, plan: Plan, order: Order, earlier: Sequence[Earlier]) -> Attempt:
    if earlier and earlier[-1].attempt.plan.version != plan.version:
        raise UsageError(
            f"run {order.run} decides version {earlier[-1].attempt.plan.version}, and this plan is of {plan.version}",
            hint="A run is one decision for one version of the artifact: start a new run.",
        )
    number = earlier[-1].attempt.attempt + 1 if earlier else 1
    drafted = draft(plan, earlier, fresh=order.fresh)
    for leg in drafted.carried:
        world.say(f"{leg}: carried: it passed in an earlier attempt, with the same artifact, configuration and prompts")
    for workload, tag in drafted.adopted.items():
        world.say(f"{workload}: taken over: it still runs, from an earlier attempt (tag {tag})")
    return Attempt(
        run=order.run,
        attempt=number,
        tag=identity.tag(plan.repository, plan.gate, plan.version, order.run, number),
        created=(await world.clock.now()).wall,
        plan=plan,
        carried=drafted.carried,
        adopted=drafted.adopted,
        launched=drafted.launched,
        fresh=order.fresh,
        poll_to_job=order.polled_here,
        ci=world.ci,
    )


async def _stage(world: DispatchWorld, attempt: Attempt, wanted: Sequence[Launch]) -> None:
    """Artifact, files, tools and assignments, read back and hashed again, with a manifest that says whose they are."""
    plan = attempt.plan
    staged = await world.staging.stage(plan)
    files = dict(staged.files)
    for each in wanted:
        raw = dump(_assignment(attempt, each))
        await world.store.replace(each.request.assignment, raw)
        files[each.request.assignment.removeprefix(f"{layout.STAGED}/")] = sha256(raw)
    await world.staging.verify(files)
    manifest = Manifest(
        gate_version=__version__,
        version=plan.version,
        commit=staged.origin.get("commit", plan.commit),
        run=staged.origin.get("run", attempt.run),
        attempt=attempt.attempt,
        ci=staged.origin or world.ci,
        staged_at=(await world.clock.now()).wall,
        artifact=plan.artifact,
        files=files,
        tools=staged.tools,
    )
    await world.store.replace(layout.PLAN, dump(plan))
    await world.store.replace(layout.MANIFEST, dump(manifest))


def _assignment(attempt: Attempt, each: Launch) -> Assignment:
    plan, request = attempt.plan, each.request
    return Assignment(
        gate=plan.gate,
        repository=plan.repository,
        run=attempt.run,
        attempt=attempt.attempt,
        tag=attempt.tag,
        workload=request.workload,
        run_dir=request.run_dir,
        legs=tuple(plan.leg(leg) for leg in request.legs),
        resources=request.resources,
        timeout=request.timeout,
        keep_on_fail=request.keep_on_fail,
        artifact=plan.artifact,
        stage_agent=plan.stage_agent,
        isolation="namespace",  # asked for; the supervisor falls back where it is not allowed, and says what holds
    )


async def _clear(world: DispatchWorld, attempt: Attempt, earlier: Sequence[Earlier]) -> tuple[Remaining, ...]:
    """Earlier workloads of this run that are neither adopted nor kept are stopped; then what older runs left."""
    remaining: tuple[Remaining, ...] = ()
    tags = [one.attempt.tag for one in earlier if one.attempt.tag != attempt.tag]
    for workload, tag in attempt.adopted.items():
        await world.store.remove(layout.kept(tag, workload))  # it is this attempt's again, and ends with it
    if tags:
        now = await world.clock.now()
        kept = {f"{tag}/{workload}" for workload, tag in attempt.adopted.items()}
        for lease in await leases(Run(world.store), tags, now.wall):
            if not (attempt.fresh and lease.holder == attempt.run):
                kept.add(f"{lease.tag}/{lease.workload}")
                world.say(f"{lease.workload} of {lease.tag}: left alone, it is kept ({lease.why})")
        remaining += await settle(world.store, world.engine, world.clock, tags, kept=kept, budget=CLEARING)
    if attempt.plan.reap == "before":
        remaining += await world.reap_stale()
    return remaining


async def _launch(
    world: DispatchWorld, attempt: Attempt, wanted: tuple[Launch, ...]
) -> tuple[Mapping[str, WorkloadEntry], tuple[Remaining, ...]]:
    """Launch, and where the plan says `reap: when-refused`, make room once and ask again for what was refused."""
    entries = await launch(world, wanted)
    refused = tuple(each for each in wanted if entries[each.request.workload].note.startswith(REFUSED))
    if not refused or attempt.plan.reap != "when-refused":
        return entries, ()
    remaining = await world.reap_stale()
    return {**entries, **await launch(world, refused, again=True)}, remaining
