"""Others in the same engine and the same root: what they have may not be touched, and not be believed."""

from __future__ import annotations

from dataclasses import replace

from gate import documents
from gate.contracts import WorkloadRequest
from gate.plan import identity
from gate.plan.model import Plan
from gate.rundir import layout
from gate.rundir.formats import Attempt, Kept, Pointer, WorkloadEntry
from gate.simulate.clock import EPOCH
from gate.simulate.content import Content, place
from gate.simulate.store import MemoryDisk
from gate.simulate.views import OTHER_TAG
from gate.simulate.world import RUN, RunSpace, World

OLDER = "older"
"""An older run of the same gate and ref that nobody watches: one workload to be reaped, one that somebody keeps."""
ELSEWHERE = "elsewhere"
"""A run of the same gate and ref whose directory is not below this root."""


async def move_in(world: World) -> None:
    """Put them there before the play begins. The plan has a workload at least."""
    plan = world.plan
    for request in _strangers(plan):
        world.foreign.add(await world.engine.create(request))
    await _older_run(world)
    for leg in plan.legs:
        _old_evidence(world, leg.id)


def _strangers(plan: Plan) -> tuple[WorkloadRequest, ...]:
    same = _request(plan, ELSEWHERE, "zzzzzzzzzz", plan.workloads[0].id)
    return (
        same,
        replace(same, gate=f"{plan.gate}-other", run=RUN, name="other-gate"),
        replace(same, ref="refs/heads/other", run="other-ref", name="other-ref"),
        replace(same, repository="other/repository", run=RUN, name="other-repository"),
    )


async def _older_run(world: World) -> None:
    plan = replace(world.plan, version=f"{world.plan.version}-older")
    tag = identity.tag(plan.repository, plan.gate, plan.version, OLDER, 1)
    disk = MemoryDisk()
    world.runs[OLDER] = RunSpace(OLDER, plan, disk)
    names = tuple(w.id for w in plan.workloads[:2])
    attempt = Attempt(OLDER, 1, tag, EPOCH, plan, {}, {}, names, False, False, {})
    disk.write(layout.attempt(1), documents.dump(attempt))
    for number, workload in enumerate(names):
        request = _request(plan, OLDER, tag, workload)
        engine_id = await world.engine.create(request)
        world.foreign.add(engine_id)
        entry = WorkloadEntry(workload, tag, request.name, request.legs, "created", engine_id, EPOCH, "")
        disk.write(layout.workload(tag, workload), documents.dump(entry))
        if number:
            kept = Kept(workload, tag, EPOCH + 400 * 86_400, "kept for a look", "somebody@somewhere")
            disk.write(layout.kept(tag, workload), documents.dump(kept))
        else:
            world.stale.add(engine_id)


def _request(plan: Plan, run: str, tag: str, workload: str) -> WorkloadRequest:
    found = next(each for each in plan.workloads if each.id == workload)
    return WorkloadRequest(
        name=identity.workload_name(plan.gate, workload, tag, 63),
        workload=workload,
        tag=tag,
        gate=plan.gate,
        repository=plan.repository,
        ref=plan.ref,
        run=run,
        legs=found.legs,
        run_dir=f"/simulated/{run}",
        assignment=layout.assignment(tag, workload),
        resources=found.resources,
        timeout=400 * 86_400.0,
        keep_on_fail=0.0,
        env={},
        secrets={},
    )


def _old_evidence(world: World, leg_id: str) -> None:
    """A finished state file of an earlier tag beside the place where this run's will be."""
    leg = world.plan.leg(leg_id)
    name, rel = "1-00000001", place(leg.state)
    base = layout.incarnation(leg_id, OTHER_TAG, name)
    pointer = Pointer(leg_id, OTHER_TAG, name, 9, "ended", rel, 3, 0, 0, 0, 0.0, None, None, EPOCH)
    data = Content(leg.judge).final("pass")
    disk = world.runs[RUN].disk
    disk.write(f"{base}/{rel}", data)
    disk.write(f"{base}/{layout.POINTER}", documents.dump(pointer))
    world.truth.states.append((0.0, leg_id, OTHER_TAG, name, f"{base}/{rel}", data, True))
