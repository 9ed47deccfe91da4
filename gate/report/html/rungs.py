"""The ladder as it was met: how much of each deadline was used, and what was left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gate.machines.verdict import Reason, Verdict
from gate.plan.model import LegBudgets, Plan, PollBudgets, WorkloadPlan
from gate.report.html.page import Blind, Gap, Rung, Span, SpanKind, Turn

STALLED = (Reason.SETUP_STALLED, Reason.TASK_STALLED)
QUEUED = (Reason.NEVER_STARTED, Reason.UNSCHEDULABLE, Reason.IMAGE_UNAVAILABLE)


def leg_rungs(
    budgets: LegBudgets,
    workload: WorkloadPlan,
    poll: PollBudgets,
    *,
    spans: Sequence[Span],
    turns: Sequence[Turn],
    gaps: Sequence[Gap],
    now: float,
    verdict: Verdict | None,
) -> tuple[Rung, ...]:
    """The rungs of one leg, in the order in which it climbs them; those of phases that it has not are left out."""
    build = _Build(spans, now, verdict)
    found = [
        build.phase("queue", poll.queue, ("queue",), QUEUED),
        build.phase("prepare", budgets.prepare, ("prepare",), (Reason.PREPARE_FAILED,)),
        build.longest("turn", budgets.turn if turns else 0.0, [(t.begin, t.end) for t in turns]),
        build.stall(budgets.stall),
        build.phase("set-up", budgets.setup, ("setup",), (Reason.SETUP_DEADLINE,)),
        build.phase("task", budgets.task, ("launch", "run"), (Reason.TASK_DEADLINE,)),
        build.longest("silence", budgets.silence or 0.0, [(g.begin, g.end) for g in gaps], (Reason.SILENT,)),
        build.phase(
            "workload time-out",
            workload.timeout,
            ("start", "prepare", "setup", "launch", "run"),
            (Reason.WORKLOAD_TIMEOUT,),
        ),
    ]
    return tuple(rung for rung in found if rung is not None)


def gate_rungs(plan: Plan, elapsed: float, blind: Sequence[Blind], *, decided: bool, hit: bool) -> tuple[Rung, ...]:
    """The rungs of the gate as a whole. `hit`: the poll deadline decided."""
    poll = plan.poll
    outages = [each for each in blind if each.what == "engine"]
    worst = max(outages, key=lambda each: (each.end or elapsed) - each.begin, default=None)
    found = [Rung("poll deadline", poll.deadline, 0.0, elapsed, hit, not decided)]
    if worst is not None:
        used = (worst.end or elapsed) - worst.begin
        found.insert(0, Rung("outage", poll.outage, worst.begin, used, used >= poll.outage, worst.end is None))
    if poll.job is not None:
        found.append(Rung("job time-out", poll.job, 0.0, elapsed, open=not decided))
    return (*found, Rung("token life", poll.token_life, 0.0, elapsed, open=not decided))


class _Build:
    def __init__(self, spans: Sequence[Span], now: float, verdict: Verdict | None) -> None:
        self.spans, self.now = spans, now
        self.reason = verdict.reason if verdict is not None else None
        self.judged = verdict is not None

    def phase(self, name: str, budget: float, kinds: Sequence[SpanKind], ends: Sequence[Reason]) -> Rung | None:
        """A budget for a stretch of phases: for the last one where there are several (a restart, another queue)."""
        if budget <= 0:
            return None
        stretch = _last_stretch(self.spans, kinds)
        if not stretch:
            return Rung(name, budget, None, None)
        begin, end = stretch[0].begin, stretch[-1].end
        used = (self.now if end is None else end) - begin
        return Rung(name, budget, begin, used, hit=self.reason in ends and used >= 0.9 * budget, open=end is None)

    def longest(
        self, name: str, budget: float, times: Iterable[tuple[float, float | None]], ends: Sequence[Reason] = ()
    ) -> Rung | None:
        """A budget for each of several times: the longest counts."""
        if budget <= 0:
            return None
        measured = [(self.now if end is None else end, begin, end is None) for begin, end in times]
        if not measured:
            return Rung(name, budget, None, None)
        end, begin, going = max(measured, key=lambda each: each[0] - each[1])
        used = end - begin
        return Rung(
            name, budget, begin, used, hit=self.reason in ends or used >= budget, open=going and not self.judged
        )

    def stall(self, budget: float) -> Rung | None:
        """Known only where it ended the leg: what is charged to it between two looks is not told."""
        if self.reason not in STALLED or not self.spans:
            return None
        end = max((span.end or self.now for span in self.spans if span.kind != "read"), default=self.now)
        return Rung("stall", budget, end - budget, budget, hit=True)


def _last_stretch(spans: Sequence[Span], kinds: Sequence[SpanKind]) -> list[Span]:
    found: list[Span] = []
    for span in reversed(spans):
        if span.kind in kinds and (not found or kinds.index(span.kind) <= kinds.index(found[-1].kind)):
            found.append(span)
        elif found:
            break
    return found[::-1]
