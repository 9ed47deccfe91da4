"""How high on the ladder each leg climbed in a played gate: what it spent of every deadline, and what was left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gate.machines.verdict import Reason, Verdict
from gate.plan.model import LegPlan, WorkloadPlan
from gate.simulate.played import LegLife, Played, PlayedWorkload

_HITS: dict[str, frozenset[Reason]] = {
    "queue": frozenset({Reason.NEVER_STARTED, Reason.IMAGE_UNAVAILABLE, Reason.UNSCHEDULABLE}),
    "prepare": frozenset({Reason.PREPARE_FAILED}),
    "set-up": frozenset({Reason.SETUP_DEADLINE}),
    "stall": frozenset({Reason.SETUP_STALLED, Reason.TASK_STALLED, Reason.LAUNCH_FAILED}),
    "task": frozenset({Reason.TASK_DEADLINE}),
    "workload time-out": frozenset({Reason.WORKLOAD_TIMEOUT}),
    "poll deadline": frozenset({Reason.POLL_DEADLINE}),
}
ORDER = ("queue", "prepare", "turn", "set-up", "stall", "task", "workload time-out", "poll deadline", "job time-out")


@dataclass(frozen=True, slots=True)
class Climbed:
    """One rung as one leg, workload or the gate itself (subject "") met it. Seconds."""

    rung: str
    subject: str
    spent: float
    budget: float
    hit: bool

    @property
    def slack(self) -> float:
        """What was left; negative where it was passed."""
        return self.budget - self.spent


def climbed(played: Played) -> tuple[Climbed, ...]:
    """Every rung that was met in the last attempt, in the order of the ladder."""
    attempt = played.attempt
    if attempt is None:
        return ()
    tags = {attempt.attempt.tag, *attempt.attempt.adopted.values()}
    workloads = [w for w in played.workloads if w.tag in tags and not w.foreign]
    lives = [life for life in played.legs if life.tag in tags]
    found: list[Climbed] = []
    for workload in played.plan.workloads:
        mine = [w for w in workloads if w.workload == workload.id]
        for leg in (played.plan.leg(leg) for leg in workload.legs):
            verdict = attempt.standing.get(leg.id)
            until = verdict_at(played, leg.id)
            found += _workload(played, workload, leg, mine, verdict, until)
            last = next((life for life in reversed(lives) if life.leg == leg.id), None)
            if last is not None:
                found += _leg(leg, last, verdict, until)
    found += _gate(played)
    return tuple(sorted(found, key=lambda each: ORDER.index(each.rung)))


def verdict_at(played: Played, leg: str) -> float:
    """When the leg's verdict was written; the end of the play where it has none."""
    assert played.attempt is not None
    return next((w.at for w in played.attempt.verdicts if w.verdict.leg == leg and w.effect), played.ended)


def _workload(
    played: Played,
    plan: WorkloadPlan,
    leg: LegPlan,
    workloads: Sequence[PlayedWorkload],
    verdict: Verdict | None,
    until: float,
) -> Iterator[Climbed]:
    for workload in workloads[-1:]:
        began = workload.running[-1] if workload.running else None
        queued = (began if began is not None else until) - workload.history[-1 if began is None else 0].at
        yield Climbed("queue", leg.id, max(0.0, queued), played.plan.poll.queue, _hit("queue", verdict))
        if began is not None:
            ended = min(workload.ended if workload.ended is not None else until, max(until, began))
            name = "workload time-out"
            yield Climbed(name, leg.id, ended - began, plan.timeout, _hit(name, verdict))


def _leg(leg: LegPlan, life: LegLife, verdict: Verdict | None, until: float) -> Iterator[Climbed]:
    budgets = leg.budgets
    ended = max(life.began, min(life.ended if life.ended is not None else until, until))
    phases: dict[str, float] = {}
    for at, pointer in life.pointers:
        phases.setdefault(pointer.phase, at)
    setup = phases.get("setup")
    task = phases.get("launch", phases.get("wait"))
    prepared = setup if setup is not None else task
    spent = (ended if prepared is None else prepared) - life.began
    yield Climbed("prepare", leg.id, spent, budgets.prepare, _hit("prepare", verdict))
    if life.turns:
        longest = max(life.turns, key=lambda turn: turn.ended - turn.began)
        over = any(turn.end == "timed_out" for turn in life.turns)
        yield Climbed("turn", leg.id, longest.ended - longest.began, budgets.turn, over)
    if setup is not None:
        spent = (task if task is not None else ended) - setup
        yield Climbed("set-up", leg.id, spent, budgets.setup, _hit("set-up", verdict))
    if task is not None:
        yield Climbed("task", leg.id, ended - task, budgets.task, _hit("task", verdict))


def _gate(played: Played) -> Iterator[Climbed]:
    attempt = played.attempt
    assert attempt is not None
    if attempt.first_poll is None:
        return
    ended = max((poll.ended for poll in attempt.polls), default=played.ended)
    hit = any(_hit("poll deadline", verdict) for verdict in attempt.standing.values())
    yield Climbed("poll deadline", "", ended - attempt.first_poll, played.plan.poll.deadline, hit)
    if played.plan.poll.job is not None:
        began = min((p.began for p in played.processes if p.role == "dispatcher"), default=0.0)
        spent = ended - (began if len(played.exit_codes) == 1 else attempt.first_poll)
        yield Climbed("job time-out", "", spent, played.plan.poll.job, spent >= played.plan.poll.job)


def _hit(rung: str, verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.reason in _HITS[rung]
