"""Findings to verdicts, and the ways an attempt ends for the legs that have none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gate.machines.clock import Now
from gate.machines.duration import spell
from gate.machines.gate_clock import ages_of
from gate.machines.gate_derive import DEADLINE, blind_root, evidence_rules, waited
from gate.machines.gate_state import Finding, GateState, LegState, WorkloadState
from gate.machines.gate_workloads import words_of
from gate.machines.observations import CancelSeen, GateRules, SupersedeSeen
from gate.machines.verdict import Evidence, Outcome, Reason, Rule, Verdict
from gate.rundir import layout


def verdict_of(state: GateState, leg: LegState, workload: WorkloadState, finding: Finding, now: Now) -> Verdict:
    """The finding in its frame, written down once. A PASS after an earlier attempt's loss is flaky (bashunit#1040)."""
    rules = state.rules
    flaky = finding.outcome is Outcome.PASS and leg.rules.failed_before
    if flaky:
        finding = _flaky(rules, finding)
    return Verdict(
        leg=leg.rules.id,
        blocking=leg.rules.blocking,
        outcome=finding.outcome,
        reason=finding.reason,
        sentence=finding.sentence,
        tag=rules.tag,
        attempt=rules.attempt,
        at=now.wall,
        elapsed=now.boot,
        evidence=None if finding.outcome is Outcome.NOT_JUDGED else _evidence(leg, workload, state.watch.looked or now),
        rules=finding.rules,
        flaky=flaky,
    )


def carried(rules: GateRules, leg: LegState) -> Verdict | None:
    """The earlier attempt's verdict under this attempt's tag."""
    earlier = leg.rules.carried
    if earlier is None:
        return None
    origin = earlier.carried_from or earlier.tag
    where = layout.verdict(origin, earlier.leg)
    rule = Rule("carried", f"measured under tag {origin}, with identical digests", where, holds=True)
    known = earlier.rules if any(r.name == rule.name for r in earlier.rules) else (rule, *earlier.rules)
    return replace(
        earlier,
        tag=rules.tag,
        attempt=rules.attempt,
        blocking=leg.rules.blocking,
        carried_from=origin,
        rules=known,
    )


def overtaken(state: GateState, leg: LegState, workload: WorkloadState, by: Verdict, now: Now) -> Finding:
    """Fail-fast: another leg has decided."""
    said = f"leg {by.leg} decided first ({by.outcome.value}, {by.reason.value})"
    rule = Rule(
        "no other leg decided first (fail-fast)",
        f"{by.leg}: {by.outcome.value} {by.reason.value}: {by.sentence}",
        layout.verdict(state.rules.tag, by.leg),
        holds=False,
        decides=True,
        age=max(0.0, now.boot - by.elapsed),
    )
    return Finding(Outcome.NOT_JUDGED, Reason.FAIL_FAST, said, (*_unjudged(state, leg, workload, now), rule))


def stopped(
    state: GateState, leg: LegState, workload: WorkloadState, stop: CancelSeen | SupersedeSeen, now: Now
) -> Finding:
    """Cancelled, or superseded by a newer run."""
    seen = _unjudged(state, leg, workload, now)
    if isinstance(stop, CancelSeen):
        rule = Rule("no cancel", f"signal {stop.signal}", "the runner", holds=False, decides=True, age=0.0)
        return Finding(Outcome.NOT_JUDGED, Reason.CANCELLED, f"cancelled (signal {stop.signal})", (*seen, rule))
    newer = stop.newer
    observed, where = f"run {newer.run}, commit {newer.commit}", newer.url or "the runs that wait"
    rule = Rule("no newer run", observed, where, holds=False, decides=True, age=0.0)
    return Finding(Outcome.NOT_JUDGED, Reason.SUPERSEDED, f"superseded by run {newer.run}", (*seen, rule))


def overdue(state: GateState, leg: LegState, workload: WorkloadState, now: Now) -> Finding:
    """The poll deadline: whatever is undecided was not measured."""
    limit = state.rules.poll.deadline
    said = (
        f"not decided before the poll deadline of {spell(limit)}; {leg.reading.words}; workload: {words_of(workload)}"
    )
    steps = (*_unjudged(state, leg, workload, now), waited(DEADLINE, now.boot, limit))
    return Finding(Outcome.ERROR, Reason.POLL_DEADLINE, said, steps)


def first_loss(legs: Iterable[LegState]) -> Verdict | None:
    """The first blocking leg, in the order of gate.yaml, that did not pass: FAIL before ERROR."""
    lost = [
        leg.verdict
        for leg in legs
        if leg.verdict is not None and leg.verdict.blocking and leg.verdict.outcome is not Outcome.PASS
    ]
    return next((v for v in lost if v.outcome is Outcome.FAIL), lost[0] if lost else None)


def _unjudged(state: GateState, leg: LegState, workload: WorkloadState, now: Now) -> tuple[Rule, ...]:
    """What was known of a leg when something else ended it: that it could not be judged is part of the derivation."""
    return (*evidence_rules(leg, workload, ages_of(state.watch, now)), *blind_root(state.root_blind_boot, now.boot))


def _flaky(rules: GateRules, finding: Finding) -> Finding:
    said = f"{finding.sentence}; an earlier attempt of this run did not pass"
    fails = rules.flaky == "fail"
    rule = Rule("passed at the first attempt", "an earlier attempt did not", "the run's verdicts", not fails, fails)
    if not fails:
        return replace(finding, sentence=said, rules=(*finding.rules, replace(rule, holds=False)))
    steps = tuple(replace(step, decides=False) for step in finding.rules)
    return Finding(Outcome.FAIL, Reason.FLAKY, said, (*steps, rule))


def _evidence(leg: LegState, workload: WorkloadState, looked: Now) -> Evidence | None:
    view = leg.view
    if view is None or not view.incarnations:
        return None
    pointer = view.pointer
    return Evidence(
        state=view.state,
        tag=pointer.tag if pointer is not None else "",
        incarnation=view.incarnations[-1],
        sequence=pointer.sequence if pointer is not None else 0,
        phase=words_of(workload),
        read_at=looked.wall,
    )
