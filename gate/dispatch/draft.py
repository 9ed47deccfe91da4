"""What attempt n+1 carries, adopts and launches. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gate.contracts import Phase
from gate.dispatch.history import Earlier
from gate.machines.verdict import Outcome
from gate.plan.model import Plan, WorkloadPlan


@dataclass(frozen=True, slots=True)
class Draft:
    """`carried`: leg id to the tag that measured it. `adopted`: workload id to the tag under which it lives."""

    carried: Mapping[str, str]
    adopted: Mapping[str, str]
    launched: tuple[str, ...]


def draft(plan: Plan, earlier: Sequence[Earlier], *, fresh: bool) -> Draft:
    """Decide for every leg and workload of `plan`, given the attempts so far (oldest first).

    Carried: the newest attempt that judged the leg PASSed it with identical digests, and no `--fresh` came since.
    Adopted: the workload still lives, none of its legs has ended or been judged, and their digests are identical.
    """
    usable = [] if fresh else _since_fresh(earlier)
    carried = {leg.id: tag for leg in plan.legs if (tag := _carried(plan, leg.id, usable)) is not None}
    adopted: dict[str, str] = {}
    launched: list[str] = []
    for workload in plan.workloads:
        legs = [leg for leg in workload.legs if leg not in carried]
        if not legs:
            continue
        tag = _adopted(plan, workload, legs, usable)
        if tag is None:
            launched.append(workload.id)
        else:
            adopted[workload.id] = tag
    return Draft(carried, adopted, tuple(launched))


def _since_fresh(earlier: Sequence[Earlier]) -> list[Earlier]:
    """The newest `--fresh` attempt and what came after it, newest first."""
    found: list[Earlier] = []
    for one in reversed(earlier):
        found.append(one)
        if one.attempt.fresh:
            break
    return found


def _same(plan: Plan, other: Plan, leg_id: str) -> bool:
    """True where the other plan would have measured the same thing: leg (prompts included) and artifact."""
    theirs = next((leg for leg in other.legs if leg.id == leg_id), None)
    return (
        theirs is not None
        and theirs.digest == plan.leg(leg_id).digest
        and other.artifact.digest == plan.artifact.digest
        and other.artifact.kind == plan.artifact.kind
    )


def _carried(plan: Plan, leg_id: str, newest_first: Sequence[Earlier]) -> str | None:
    for one in newest_first:
        verdict = one.verdicts.get(leg_id)
        if verdict is None or verdict.outcome in (Outcome.ERROR, Outcome.NOT_JUDGED):
            continue  # not measured there: an earlier measurement still stands
        if verdict.outcome is Outcome.PASS and _same(plan, one.attempt.plan, leg_id):
            return verdict.carried_from or one.attempt.tag
        return None
    return None


def _adopted(plan: Plan, workload: WorkloadPlan, legs: Sequence[str], newest_first: Sequence[Earlier]) -> str | None:
    judged: set[str] = set()
    for one in newest_first:
        judged |= {leg for leg, v in one.verdicts.items() if v.outcome in (Outcome.FAIL, Outcome.ERROR)}
        entry, alive = one.entries.get(workload.id), one.alive.get(workload.id)
        if entry is None or alive is None or alive.phase is Phase.UNKNOWN:
            continue
        theirs = next((w for w in one.attempt.plan.workloads if w.id == workload.id), None)
        fits = (
            theirs is not None
            and theirs.resources == workload.resources
            and one.attempt.plan.engine == plan.engine
            and set(legs) <= set(entry.legs)
            and all(_same(plan, one.attempt.plan, leg) for leg in legs)
        )
        # A leg that has ended badly is not worth waiting for; one that finished is evidence that can still be judged.
        ended = any(leg in one.results and one.results[leg].outcome != "finished" for leg in legs)
        if fits and not ended and not judged & set(legs):
            return one.attempt.tag
    return None
