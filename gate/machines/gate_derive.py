"""The derivation behind a verdict: which rules were looked at, what each saw and where, and which one decided."""

from __future__ import annotations

from dataclasses import replace

from gate.machines.duration import spell
from gate.machines.gate_reading import own_result
from gate.machines.gate_state import Finding, LegState, WorkloadState
from gate.machines.gate_workloads import words_of
from gate.machines.judge import finished, judge, source_of
from gate.machines.verdict import Rule
from gate.rundir import layout

ENGINE = "the engine's list"
CLOCK = "gate's own clock"

ONE_START = "one start"
CREATED = "the workload was created"
LEG_FAILED = "leg.json says that the leg failed"


def judged(leg: LegState, workload: WorkloadState) -> Finding:
    """A finished snapshot that is ours, judged."""
    assert leg.view is not None, "a reading comes from a view"
    outcome, reason, sentence, rules = judge(leg.rules.judge, leg.view.state)
    return Finding(outcome, reason, sentence, (*_ownership(leg), *rules))


def evidence_rules(leg: LegState, workload: WorkloadState, *, decides: str = "") -> tuple[Rule, ...]:
    """Everything that was seen of a leg that gave no finished evidence; `decides` names the rule that ends it."""
    rules = [*_ownership(leg), *_snapshot(leg), *_own_word(leg), _scheduler(workload)]
    return tuple(replace(rule, holds=False, decides=True) if rule.name == decides else rule for rule in rules)


def waited(name: str, spent: float, budget: float) -> Rule:
    """The rule of a budget that ran out."""
    return Rule(name, f"waited {spell(spent)} of {spell(budget)}", CLOCK, holds=False, decides=True)


def _ownership(leg: LegState) -> list[Rule]:
    view = leg.view
    if view is None or not view.incarnations:
        where = layout.leg_tag(leg.rules.id, leg.rules.tag)
        found = view.problem if view is not None and view.problem else "no directory of this leg"
        return [Rule("started", found, where, holds=False)]
    where = f"{layout.incarnation(leg.rules.id, leg.rules.tag, view.incarnations[-1])}/{layout.POINTER}"
    starts = len(view.incarnations)
    one = Rule(
        ONE_START, f"{starts} start{'s' * (starts > 1)}: {', '.join(view.incarnations)}", where, holds=starts == 1
    )
    if leg.rules.allow_restart:
        one = replace(one, name="starts (restarts are allowed)", holds=True)
    pointer = view.pointer
    if pointer is None:
        return [one, Rule("ours", view.problem or "no session pointer", where, holds=False)]
    ours = (pointer.tag, pointer.leg, pointer.incarnation) == (leg.rules.tag, leg.rules.id, view.incarnations[-1])
    seen = f"tag {pointer.tag}, incarnation {pointer.incarnation}, pointer number {pointer.sequence}"
    return [one, Rule("ours", seen, where, holds=ours)]


def _snapshot(leg: LegState) -> list[Rule]:
    view = leg.view
    if view is None or not view.incarnations:
        return []
    state = view.state
    seen = f"{state.status}: {state.detail}" if state.detail else state.status
    where = source_of(state) if state.sha256 else state.path or "no state file"
    rules = [Rule("the state file can be read", seen, where, holds=state.status == "ok")]
    if state.status == "ok":
        rules += finished(leg.rules.judge, state.fields, where).rules
    return rules


def _own_word(leg: LegState) -> list[Rule]:
    view = leg.view
    result = own_result(leg.rules, view)
    if view is None or not view.incarnations:
        return []
    where = f"{layout.incarnation(leg.rules.id, leg.rules.tag, view.incarnations[-1])}/{layout.LEG_RESULT}"
    if result is None:
        return [Rule("leg.json", view.problem or "not there", where, holds=False)]
    if result.outcome == "failed":
        why = result.reason.value if result.reason is not None else "no reason"
        return [Rule(LEG_FAILED, f"{why}: {result.sentence}", where, holds=True)]
    return [Rule("leg.json", f"{result.outcome}: {result.sentence}", where, holds=result.outcome == "finished")]


def _scheduler(workload: WorkloadState) -> Rule:
    problem = workload.rules.create_problem
    if problem and workload.seen is None:
        detail = workload.rules.problem_detail
        return Rule(CREATED, f"{problem}: {detail}" if detail else problem, "dispatch's create call", holds=False)
    return Rule(f"workload {workload.rules.id}", words_of(workload), ENGINE, holds=not workload.over)
