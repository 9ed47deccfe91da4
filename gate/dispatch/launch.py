"""Intent before act: every workload's entry goes intended, created(id); each durable before the next call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import anyio

from gate.contracts import Scope, WorkloadRequest
from gate.dispatch.lookup import lookup
from gate.dispatch.world import DispatchWorld
from gate.errors import CreateUnclear, EngineAuthError, EngineRefused, EngineUnreachable
from gate.plan import identity
from gate.plan.model import SecretRef
from gate.rundir import layout
from gate.rundir.formats import Attempt, WorkloadEntry
from gate.rundir.notes import REFUSED, UNCLEAR
from gate.rundir.run import Run

AT_ONCE = 16
"""Workloads on their way at once: an engine behind a network takes two answers for each, one after the other."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One workload of this attempt: what the engine is asked for, and whether it goes first."""

    request: WorkloadRequest
    shared: bool


def launches(world: DispatchWorld, attempt: Attempt) -> tuple[Launch, ...]:
    """What the attempt launches, in the order of the plan. Pure."""
    plan, found = attempt.plan, []
    for workload in plan.workloads:
        if workload.id not in attempt.launched:
            continue
        legs = tuple(leg for leg in workload.legs if leg not in attempt.carried)
        names = sorted({name for leg in legs for name in plan.leg(leg).secrets})
        name = identity.workload_name(plan.gate, workload.id, attempt.tag, world.engine.capabilities.max_name)
        request = WorkloadRequest(
            name=name,
            workload=workload.id,
            tag=attempt.tag,
            gate=plan.gate,
            repository=plan.repository,
            ref=plan.ref,
            run=attempt.run,
            legs=legs,
            run_dir=world.run_dir,
            assignment=layout.assignment(attempt.tag, workload.id),
            resources=workload.resources,
            timeout=workload.timeout,
            keep_on_fail=plan.keep_on_fail,
            env={identity.ENV_TAG: attempt.tag, identity.ENV_WORKLOAD: workload.id},
            secrets={secret: world.secrets[secret] for secret in names},
            withheld=_withheld(plan.secrets),
        )
        found.append(Launch(request, workload.shared))
    return tuple(found)


def _withheld(refs: Sequence[SecretRef]) -> tuple[str, ...]:
    """Every variable in which a secret may stand at the dispatcher: the one it comes from, and its own name."""
    found = {ref.name for ref in refs} | {ref.spec for ref in refs if ref.source == "env"}
    return tuple(sorted(found))


async def launch(
    world: DispatchWorld, wanted: tuple[Launch, ...], *, again: bool = False
) -> Mapping[str, WorkloadEntry]:
    """Bring every workload to `created`, or to a note that says why it is not; shared ones first.

    Killed anywhere and called again, it goes on: what has an id is left alone, what was intended without one is looked
    up by tag and name, adopted if it is there and created if it is certainly absent. One that ended unclear in a
    process that lived to say so is never created again: its request may still be on its way. `again` asks once more for
    what was refused: a refusal says that nothing was created.
    """
    entries: dict[str, WorkloadEntry] = {}

    async def one(request: WorkloadRequest) -> None:
        async with limit:
            entries[request.workload] = await _launch(world, request, again=again)

    limit = anyio.Semaphore(AT_ONCE)
    for shared in (True, False):
        async with anyio.create_task_group() as tasks:
            for each in wanted:
                if each.shared is shared:
                    tasks.start_soon(one, each.request)
    return {each.request.workload: entries[each.request.workload] for each in wanted}


async def _launch(world: DispatchWorld, request: WorkloadRequest, *, again: bool) -> WorkloadEntry:
    known = await Run(world.store).entry(request.tag, request.workload)
    if known is None:
        intended = WorkloadEntry(
            id=request.workload,
            tag=request.tag,
            name=request.name,
            legs=request.legs,
            stage="intended",
            engine_id=None,
            at=(await world.clock.now()).wall,
            note="",
        )
        await _put(world, intended)
        return await _create(world, request, intended)
    if known.stage == "intended" and known.note.startswith(REFUSED) and again:
        return await _create(world, request, await _put(world, replace(known, note="")))
    if known.stage != "intended" or known.note.startswith(REFUSED):
        return known
    return await _go_on(world, request, known)


async def _go_on(world: DispatchWorld, request: WorkloadRequest, known: WorkloadEntry) -> WorkloadEntry:
    """An intent of an earlier process: it died before, during or after the create."""
    found = await lookup(world.engine, world.clock, _scope(request), request.name)
    if found.workload is not None:
        return await _created(
            world, known, found.workload.id, "adopted: found by its tag after an interrupted dispatch"
        )
    if known.note.startswith(UNCLEAR):
        return known
    if not found.certain:
        return await _unclear(world, known, f"an earlier dispatch was interrupted, and {found.detail}")
    return await _create(world, request, known)


async def _create(world: DispatchWorld, request: WorkloadRequest, entry: WorkloadEntry) -> WorkloadEntry:
    try:
        engine_id = await world.engine.create(request)
    except (EngineRefused, EngineAuthError) as error:
        world.say(f"{request.workload}: refused by the engine: {error.message}")
        return await _put(world, replace(entry, note=REFUSED + error.message, at=(await world.clock.now()).wall))
    except (CreateUnclear, EngineUnreachable) as error:
        world.say(f"{request.workload}: no answer to its create ({error.message}); looking for it by its tag")
        found = await lookup(world.engine, world.clock, _scope(request), request.name)
        if found.workload is not None:
            return await _created(world, entry, found.workload.id, "adopted after an unclear create")
        return await _unclear(world, entry, f"{error.message}; {found.detail}")
    return await _created(world, entry, engine_id, "")


async def _created(world: DispatchWorld, entry: WorkloadEntry, engine_id: str, note: str) -> WorkloadEntry:
    wall = (await world.clock.now()).wall
    done = await _put(world, replace(entry, stage="created", engine_id=engine_id, note=note, at=wall))
    world.say(f"workload {entry.id} → {entry.name}" + (f"  ({note})" if note else ""))
    return done


async def _unclear(world: DispatchWorld, entry: WorkloadEntry, detail: str) -> WorkloadEntry:
    world.say(f"{entry.id}: its create is unclear and is not repeated: {detail}")
    return await _put(world, replace(entry, note=UNCLEAR + detail, at=(await world.clock.now()).wall))


async def _put(world: DispatchWorld, entry: WorkloadEntry) -> WorkloadEntry:
    await Run(world.store).record_entry(entry)
    return entry


def _scope(request: WorkloadRequest) -> Scope:
    return Scope(request.repository, request.gate, tag=request.tag)
