"""What GitHub should show of an attempt: a status for each leg and one for the gate. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from gate.contracts import CommitStatus, StatusState
from gate.machines.decision import SIGNALS, WORST, grouped
from gate.machines.verdict import Outcome, Verdict
from gate.plan.model import LegPlan, Plan
from gate.publish.facts import Facts
from gate.publish.site import Site
from gate.publish.wording import description
from gate.rundir.formats import Decision, LegDecision

NOTHING = "nothing to decide"
LOST = "the run ended before it was decided"


def context_of(plan: Plan) -> str:
    """The context of the gate as a whole. A manual subset has one of its own: it can never turn the release green."""
    return f"{plan.gate} (subset)" if plan.scope == "subset" else plan.gate


def desired(facts: Facts, site: Site) -> Mapping[str, CommitStatus]:
    """Context to status; the gate's own last. Empty where a newer run reports on the same commit."""
    if _shared(facts, site):
        return {}
    plan = facts.attempt.plan
    base = context_of(plan)
    found = {}
    for leg in plan.legs:
        state, text = _leg(facts, leg)
        context = f"{base}/{leg.id}"
        found[context] = CommitStatus(context, state, description(text), site.url)
    state, text = _gate(facts)
    found[base] = CommitStatus(base, state, description(text), site.url)
    return found


def nothing(gate: str, site: Site) -> CommitStatus:
    """The gate's status where a change needs no leg at all: what branch protection requires must close all the same."""
    return CommitStatus(gate, "success", NOTHING, site.url)


def _shared(facts: Facts, site: Site) -> bool:
    superseded = facts.decision is not None and facts.decision.word == "SUPERSEDED"
    return superseded and facts.newer is not None and facts.newer.commit.lower() == site.sha.lower()


# --- legs --------------------------------------------------------------------------------------------


def _leg(facts: Facts, leg: LegPlan) -> tuple[StatusState, str]:
    row = _row(facts.decision, leg.id)
    verdict = facts.verdicts.get(leg.id)
    if row is not None:
        text = verdict.sentence if verdict is not None else row.reason.value
        return _judged(row.blocking, row.outcome, _said(row.outcome, text, carried=row.carried, flaky=row.flaky))
    if verdict is not None:
        carried = verdict.carried_from is not None
        said = _said(verdict.outcome, verdict.sentence, carried=carried, flaky=verdict.flaky)
        return _judged(verdict.blocking, verdict.outcome, said)
    if facts.closed:
        said = _said(Outcome.NOT_JUDGED, _why_closed(facts), carried=False, flaky=False)
        return _judged(leg.blocking, Outcome.NOT_JUDGED, said)
    return "pending", facts.doing.get(leg.id, "waiting to start")


def _row(decision: Decision | None, leg: str) -> LegDecision | None:
    return None if decision is None else next((row for row in decision.legs if row.leg == leg), None)


def _judged(blocking: bool, outcome: Outcome, said: str) -> tuple[StatusState, str]:
    """An informing leg never shows red: a red check beside a green gate is read as a broken gate."""
    if not blocking:
        return "success", said if outcome is Outcome.PASS else f"informing: {said}"
    match outcome:
        case Outcome.PASS:
            return "success", said
        case Outcome.FAIL:
            return "failure", said
        case Outcome.ERROR | Outcome.NOT_JUDGED:
            return "error", said
        case _:
            assert_never(outcome)


def _said(outcome: Outcome, text: str, *, carried: bool, flaky: bool) -> str:
    aside = ", ".join(word for word, holds in (("carried", carried), ("flaky", flaky)) if holds)
    return f"{outcome.value}{f' ({aside})' if aside else ''}: {text}"


def _why_closed(facts: Facts) -> str:
    if facts.cancelled is not None:
        return f"cancelled by {SIGNALS.get(facts.cancelled, f'signal {facts.cancelled}')}"
    return LOST


# --- the gate ----------------------------------------------------------------------------------------


def _gate(facts: Facts) -> tuple[StatusState, str]:
    plan, decision = facts.attempt.plan, facts.decision
    if plan.scope == "none" and not plan.legs:
        return "success", NOTHING
    if decision is None:
        return _undecided(facts)
    match decision.word:
        case "GO" | "PASSED":
            return "success", _passed(decision)
        case "NO-GO":
            return "failure", f"NO-GO: {decision.cause}"
        case "NOT MEASURED":
            return "error", f"NOT MEASURED: {decision.cause}"
        case "SUPERSEDED" | "CANCELLED":
            return "error", decision.cause
        case _:
            assert_never(decision.word)


def _passed(decision: Decision) -> str:
    blocking = [row for row in decision.legs if row.blocking]
    passed = sum(row.outcome is Outcome.PASS for row in blocking)
    scope = "" if decision.word == "GO" else f" ({decision.scope})"
    flaky = [row.leg for row in blocking if row.flaky]
    lost = sorted(
        (row for row in decision.legs if not row.blocking and row.outcome is not Outcome.PASS),
        key=lambda row: WORST.index(row.outcome),
    )
    again = f"; flaky: {', '.join(flaky)}" if flaky else ""
    aside = f"; informing: {', '.join(f'{row.outcome.value} {row.leg}' for row in lost)}" if lost else ""
    return f"passed {passed} of {len(blocking)}{scope}{again}{aside}"


def _undecided(facts: Facts) -> tuple[StatusState, str]:
    legs = facts.attempt.plan.legs
    judged = [facts.verdicts[leg.id] for leg in legs if leg.id in facts.verdicts]
    count = f"{len(judged)} of {len(legs)} legs judged"
    lost = _lost(judged)
    if facts.closed:
        return "error", f"{_why_closed(facts)}; {count}{lost}"
    return "pending", f"{count}{lost}"


def _lost(verdicts: Iterable[Verdict]) -> str:
    said = grouped([verdict for verdict in verdicts if verdict.blocking])
    return f"; {said}" if said else ""
