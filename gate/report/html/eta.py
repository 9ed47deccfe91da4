"""When a running attempt will be decided: expected from legs alike that are done, and at the latest by the ladder."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from gate.machines.verdict import Outcome
from gate.plan.model import LegPlan, Plan, WorkloadPlan
from gate.report.html.page import Eta, Lane


def eta_of(plan: Plan, lanes: Sequence[Lane], elapsed: float) -> Eta | None:
    """None where every leg is judged. Seconds on the page's axis."""
    legs = {leg.id: leg for leg in plan.legs}
    workloads = {leg: each for each in plan.workloads for leg in each.legs}
    left = [lane for lane in lanes if lane.verdict is None]
    if not left:
        return None
    alike = _durations(legs, lanes)
    latest = [_latest(plan, legs[lane.row.leg], workloads[lane.row.leg], lane, elapsed) for lane in left]
    expected = [_expected(legs[lane.row.leg], lane, alike, elapsed) for lane in left]
    known = [at for at in expected if at is not None]
    end = min(max(latest), plan.poll.deadline)
    return Eta(min(max(known), end) if len(known) == len(left) else None, max(end, elapsed))


Kind = tuple[str, float, float]


def _kind(leg: LegPlan) -> Kind:
    return leg.kind, leg.budgets.setup, leg.budgets.task


def _durations(legs: Mapping[str, LegPlan], lanes: Sequence[Lane]) -> Mapping[Kind, float]:
    """How long legs that passed took once they ran: the median of those with the same budgets."""
    found: dict[Kind, list[float]] = {}
    for lane in lanes:
        began = _began(lane)
        if lane.verdict is not None and lane.verdict.outcome is Outcome.PASS and began is not None:
            found.setdefault(_kind(legs[lane.row.leg]), []).append(lane.verdict.elapsed - began)
    return {kind: statistics.median(values) for kind, values in found.items()}


def _began(lane: Lane) -> float | None:
    return next((span.begin for span in lane.spans if span.kind != "queue"), None)


def _expected(leg: LegPlan, lane: Lane, alike: Mapping[Kind, float], elapsed: float) -> float | None:
    usual, began = alike.get(_kind(leg)), _began(lane)
    if usual is None:
        return None
    at = (elapsed if began is None else began) + usual
    return at if at > elapsed else None  # it takes longer than the others did: nothing is known


def _latest(plan: Plan, leg: LegPlan, workload: WorkloadPlan, lane: Lane, elapsed: float) -> float:
    evidence = leg.budgets.evidence
    running = next((rung for rung in lane.rungs if rung.name == "task" and rung.open and rung.begin is not None), None)
    if running is not None and running.begin is not None:
        return running.begin + running.budget + leg.budgets.wait_margin + evidence
    began = _began(lane)
    if began is not None:
        return began + workload.timeout + evidence
    queued = lane.spans[0].begin if lane.spans else elapsed
    return queued + plan.poll.queue + workload.timeout + evidence
