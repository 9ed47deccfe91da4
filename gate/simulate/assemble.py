"""From a world that has played to `Played`."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from gate import documents
from gate.machines.verdict import Verdict
from gate.rundir import layout
from gate.rundir.formats import Attempt, Decision
from gate.rundir.run import Run
from gate.rundir.statefile import parse
from gate.simulate.engine_items import Known
from gate.simulate.jobs import Job
from gate.simulate.played import (
    LegLife,
    Phased,
    Played,
    PlayedAttempt,
    PlayedWorkload,
    StateWritten,
    Write,
    WrittenDecision,
    WrittenVerdict,
)
from gate.simulate.store import MemoryStore
from gate.simulate.truth import WorkloadTrace
from gate.simulate.world import RUN, World


async def assemble(world: World, seed: int, jobs: Sequence[Job], codes: Sequence[int]) -> Played:
    """Everything, as plain values."""
    truth = world.truth
    known = await world.engine.known()
    runs = sorted({job.space.run for job in jobs})
    attempts = [await _attempt(world, run, found, jobs) for run in runs for found in await _attempts(world, run)]
    return Played(
        plan=world.plan,
        scenario=world.scenario,
        seed=seed,
        run=RUN,
        ended=trio.current_time(),
        exit_codes=tuple(codes),
        processes=tuple(truth.processes),
        attempts=tuple(attempts),
        workloads=tuple(_workload(world, each) for each in known),
        legs=tuple(
            LegLife(t.leg, t.tag, t.incarnation, t.began, t.ended, tuple(t.turns), tuple(t.pointers), tuple(t.results))
            for t in truth.legs
        ),
        states=_states(world),
        writes=tuple(truth.writes),
        told=tuple(truth.told),
        said=tuple(truth.said),
        logs={each.id: world.engine.log(each.id) for each in known if each.id not in world.foreign},
        blind=tuple(sorted(truth.blind, key=lambda b: (b.since, b.process))),
        kills=tuple(truth.kills),
        struck=tuple(truth.struck),
        remaining=jobs[-1].remaining if jobs else (),
        secrets=dict(world.secrets),
        files={run: {k: bytes(v) for k, v in world.runs[run].disk.files.items()} for run in runs},
    )


async def _attempts(world: World, run: str) -> tuple[Attempt, ...]:
    return await Run(MemoryStore(world.runs[run].disk)).attempts()


async def _attempt(world: World, run: str, attempt: Attempt, jobs: Sequence[Job]) -> PlayedAttempt:
    records, tag = Run(MemoryStore(world.runs[run].disk)), attempt.tag
    mine = [write for write in world.truth.writes if write.run == run]
    polls = [poll for job in jobs if job.space.run == run for polled, poll in job.polls if polled == tag]
    verdicts = [w for w in mine if w.op != "append" and w.key.startswith(f"gate/verdicts/{tag}/")]
    journal = layout.observations(tag)
    return PlayedAttempt(
        attempt=attempt,
        first_poll=next((w.at for w in mine if w.key == journal and w.effect), None),
        polls=tuple(polls),
        verdicts=tuple(_verdict(w) for w in verdicts),
        decisions=tuple(_decision(w) for w in mine if w.key == layout.decision(tag) and w.op != "remove"),
        standing=await records.verdicts(tag),
        decision=await records.decision(tag),
        kept=tuple((await records.kept(tag)).values()),
    )


def _verdict(write: Write) -> WrittenVerdict:
    return WrittenVerdict(write.at, write.process, documents.load(Verdict, write.data, write.key), write.effect)


def _decision(write: Write) -> WrittenDecision:
    return WrittenDecision(write.at, write.process, documents.load(Decision, write.data, write.key), write.effect)


def _workload(world: World, known: Known) -> PlayedWorkload:
    request = known.request
    trace = world.truth.workloads.get(known.id, WorkloadTrace())
    history = tuple(Phased(*each) for each in known.history)
    return PlayedWorkload(
        engine_id=known.id,
        name=request.name,
        workload=request.workload,
        legs=request.legs,
        tag=request.tag,
        run=request.run,
        ref=request.ref,
        foreign=known.id in world.foreign,
        stale=known.id in world.stale,
        created=known.created,
        by=world.truth.creators.get(request.name, ""),
        timeout=request.timeout,
        history=history,
        ended=known.end,
        running=tuple(each.at for each in history if each.phase.value == "Running"),
        bootstraps=tuple(trace.bootstraps),
        stops=tuple(trace.stops),
        kept=tuple(trace.kept),
    )


def _states(world: World) -> tuple[StateWritten, ...]:
    keys = {leg.id: leg.judge.keys() for leg in world.plan.legs}
    found = []
    for at, leg, tag, incarnation, path, data, planted in world.truth.states:
        view = parse(data or b"", keys[leg], path)
        found.append(StateWritten(at, leg, tag, incarnation, path, data, view, planted))
    return tuple(found)
