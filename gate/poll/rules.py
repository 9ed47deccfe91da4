"""From an attempt's records to the rules of its gate machine."""

from __future__ import annotations

from dataclasses import replace

from gate.errors import DocumentError
from gate.machines.observations import GateRules, LegRules, WorkloadRules
from gate.machines.verdict import Outcome, Verdict
from gate.plan.model import LegPlan, PollBudgets, WorkloadPlan
from gate.rundir.formats import Attempt, WorkloadEntry
from gate.rundir.notes import create_problem
from gate.rundir.run import Run


async def rules_of(
    run: Run, attempt: Attempt, *, list_lag: float, interval: float | None = None, fail_fast: bool | None = None
) -> GateRules:
    """Everything fixed for this attempt. `interval` (seconds) and `fail_fast` override the plan's.

    Raises StoreError, and DocumentError where a record cannot be read or a carried verdict is missing.
    """
    plan = attempt.plan
    entries = await run.entries(attempt.tag)
    carried = {leg: await _carried(run, leg, tag) for leg, tag in attempt.carried.items()}
    failed = await _failed_before(run, attempt)
    workload_of = {leg: workload for workload in plan.workloads for leg in workload.legs}
    legs = tuple(
        _leg(attempt, leg, workload_of[leg.id], carried.get(leg.id), failed_before=leg.id in failed)
        for leg in plan.legs
    )
    live = (w for w in plan.workloads if not all(leg in carried for leg in w.legs))
    return GateRules(
        run=attempt.run,
        attempt=attempt.attempt,
        tag=attempt.tag,
        scope=plan.scope,
        legs=legs,
        workloads=tuple(_workload(attempt, w, entries.get(w.id)) for w in live),
        poll=_poll(plan.poll, interval),
        list_lag=list_lag,
        fail_fast=plan.fail_fast if fail_fast is None else fail_fast,
        flaky=plan.flaky,
    )


def _poll(budgets: PollBudgets, interval: float | None) -> PollBudgets:
    return budgets if interval is None else replace(budgets, interval=interval)


def _leg(
    attempt: Attempt, leg: LegPlan, workload: WorkloadPlan, carried: Verdict | None, *, failed_before: bool
) -> LegRules:
    return LegRules(
        id=leg.id,
        blocking=leg.blocking,
        judge=leg.judge,
        tag=attempt.adopted.get(workload.id, attempt.tag),
        workload=workload.id,
        evidence=leg.budgets.evidence,
        silence=leg.budgets.silence,
        allow_restart=leg.allow_restart,
        carried=carried,
        failed_before=failed_before,
    )


def _workload(attempt: Attempt, workload: WorkloadPlan, entry: WorkloadEntry | None) -> WorkloadRules:
    legs = tuple(leg for leg in workload.legs if leg not in attempt.carried)
    if workload.id in attempt.adopted or (entry is not None and entry.engine_id is not None):
        return WorkloadRules(workload.id, legs, workload.timeout)
    if entry is None:
        return WorkloadRules(workload.id, legs, workload.timeout, "unclear", "dispatch ended before it was launched")
    problem, detail = create_problem(entry)
    if problem:
        return WorkloadRules(workload.id, legs, workload.timeout, problem, detail)
    detail = "dispatch ended between the request and its answer"
    return WorkloadRules(workload.id, legs, workload.timeout, "unclear", detail)


async def _carried(run: Run, leg: str, tag: str) -> Verdict:
    verdict = await run.verdict(tag, leg)
    if verdict is None or verdict.outcome is not Outcome.PASS:
        found = "no verdict" if verdict is None else verdict.outcome.value
        raise DocumentError(
            f"leg {leg}: its PASS of attempt {tag} is to be carried, and the run directory holds {found}",
            hint="`gate retry --fresh` measures every leg again.",
        )
    return verdict


async def _failed_before(run: Run, attempt: Attempt) -> frozenset[str]:
    """Legs that an earlier attempt judged, and that did not pass."""
    failed: set[str] = set()
    for number in await run.attempt_numbers():
        earlier = await run.attempt(number) if number < attempt.attempt else None
        if earlier is not None:
            verdicts = await run.verdicts(earlier.tag)
            failed |= {leg for leg, v in verdicts.items() if v.outcome in (Outcome.FAIL, Outcome.ERROR)}
    return frozenset(failed)
