"""The ladder: named inequalities between deadlines, with margins. A broken one is told before anything is launched."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gate.documents import Json
from gate.errors import LadderError
from gate.plan.budgets import Origin, Origins
from gate.plan.duration import FINE, format_duration
from gate.plan.mend import mend
from gate.plan.model import LegPlan, Plan
from gate.plan.steps import Rung, Step


@dataclass(frozen=True, slots=True)
class Ladder:
    """All inequalities of a plan, those of legs first."""

    steps: tuple[Step, ...]
    plan: Plan
    origins: Mapping[tuple[str, str], Origin]

    @property
    def broken(self) -> tuple[Step, ...]:
        """Inequalities that do not hold."""
        return tuple(step for step in self.steps if not step.holds)

    def check(self) -> None:
        """Raises LadderError, with every broken inequality: both rungs, their values, the smallest change."""
        if not self.broken:
            return
        lines = [line for step in self.broken for line in (_told(step), f"    smallest change: {self.mend(step)}")]
        head = "a deadline does not fit" if len(self.broken) == 1 else f"{len(self.broken)} deadlines do not fit"
        raise LadderError("\n".join([f"{head}:", *lines]), hint="Nothing was launched.")

    def mend(self, step: Step) -> str:
        """The smallest change that mends `step`, in words."""
        return mend(step, self.steps)

    def as_json(self) -> list[Json]:
        """One object an inequality, durations in seconds."""
        return [
            {
                "name": step.name,
                "for": list(step.subjects),
                "low": [_rung_json(rung) for rung in step.low],
                "high": _rung_json(step.high),
                "margin": round(step.margin, 3),
                "slack": step.slack,
                "holds": step.holds,
            }
            for step in self.steps
        ]


def ladder_of(plan: Plan, origins: Origins | None = None, jobs: Sequence[Rung] = ()) -> Ladder:
    """The ladder of `plan`. `origins`: what was set by hand; `jobs`: time-outs of a workflow's jobs, to check."""
    known = origins or {}
    build = _Build(plan, known)
    steps = [step for leg in plan.legs if leg.kind == "agent" for step in build.agent_leg(leg)]
    steps += build.workloads()
    return Ladder((*_grouped(steps), *build.poller(jobs)), plan, known)


def _told(step: Step) -> str:
    low = " + ".join(str(rung) for rung in step.low)
    total = f" = {format_duration(step.total)}" if len(step.low) > 1 else ""
    origins = [rung.origin for rung in (*step.low, step.high) if rung.origin]
    places = dict.fromkeys(f"{origin.file}:{origin.line} {origin.path}" for origin in origins)
    where = f" [{', '.join(places)}]" if places else ""
    subjects = f"{named(step.subjects)}: " if step.subjects else ""
    margin = f" and a margin of {_up(step.margin)}" if step.least else ""
    return f"  {subjects}{low}{total}{margin} must stay below {step.high}{where}: {_up(-step.slack)} too much"


def _up(seconds: float) -> str:
    """Whole seconds from one on, never too few: nobody reads `22s200ms`."""
    return format_duration(math.ceil(seconds) if seconds >= FINE else seconds)


def named(subjects: Sequence[str]) -> str:
    """Three ids, and how many more."""
    return ", ".join(subjects[:3]) + (f" and {len(subjects) - 3} more" if len(subjects) > 3 else "")


def _rung_json(rung: Rung) -> Json:
    by_hand = f"{rung.origin.file}:{rung.origin.line} {rung.origin.path}" if rung.origin else None
    return {"name": rung.name, "seconds": rung.seconds, "set": by_hand}


def _grouped(steps: Sequence[Step]) -> list[Step]:
    """Steps that differ in their subject alone become one."""
    groups: dict[tuple[str, tuple[Rung, ...], Rung, float], list[str]] = {}
    for step in steps:
        groups.setdefault((step.name, step.low, step.high, step.least), []).extend(step.subjects)
    return [Step(name, tuple(ids), low, high, least) for (name, low, high, least), ids in groups.items()]


class _Build:
    def __init__(self, plan: Plan, origins: Mapping[tuple[str, str], Origin]) -> None:
        self.plan, self.origins = plan, origins
        self.by_id = {leg.id: leg for leg in plan.legs}

    def rung(self, subject: str, key: str, seconds: float, name: str = "") -> Rung:
        return Rung(name or key.replace("_", " "), key, seconds, self.origins.get((subject, key)))

    def agent_leg(self, leg: LegPlan) -> list[Step]:
        budgets = leg.budgets
        probe = self.rung(leg.id, "startup_probe", budgets.startup_probe, "start-up probe")
        turn = self.rung(leg.id, "turn", budgets.turn)
        stall = self.rung(leg.id, "stall", budgets.stall)
        setup = self.rung(leg.id, "setup", budgets.setup, "set-up")
        return [
            Step("start-up probe < turn", (leg.id,), (probe,), turn, 0.0),
            Step("turn < set-up", (leg.id,), (turn,), setup, 0.0),
            Step("stall < set-up", (leg.id,), (stall,), setup, 0.0),
        ]

    def leg(self, leg_id: str) -> tuple[Rung, ...]:
        leg = self.by_id[leg_id].budgets
        return (
            self.rung(leg_id, "prepare", leg.prepare),
            *([self.rung(leg_id, "setup", leg.setup, "set-up")] if leg.setup else []),
            self.rung(leg_id, "task", leg.task),
            self.rung(leg_id, "wait_margin", leg.wait_margin),
        )

    def workloads(self) -> list[Step]:
        return [
            Step(
                "leg < workload time-out",
                (leg_id,),
                self.leg(leg_id),
                self.rung(workload.id, "workload", workload.timeout, "workload time-out"),
            )
            for workload in self.plan.workloads
            for leg_id in workload.legs
        ]

    def poller(self, jobs: Sequence[Rung]) -> list[Step]:
        poll = self.plan.poll
        if not self.plan.workloads:
            return []
        longest = max(self.plan.workloads, key=lambda workload: workload.timeout)
        deadline = self.rung("", "poll", poll.deadline, "poll deadline")
        low = (
            self.rung("", "queue", poll.queue),
            self.rung(longest.id, "workload", longest.timeout, "workload time-out"),
            self.rung("", "skew", poll.skew, "skew allowance"),
        )
        life = self.rung("", "token_life", poll.token_life, "token life")
        steps = [Step("workload < poll deadline", (longest.id,), low, deadline)]
        every = [*([self.rung("", "job", poll.job, "job time-out")] if poll.job is not None else []), *jobs]
        if not every:
            return [*steps, Step("poll deadline < token life", (), (deadline,), life)]
        for job in every:
            steps.append(Step("poll deadline < job time-out", (), (deadline,), job))
            steps.append(Step("job time-out < token life", (), (job,), life))
        return steps
