"""The derivation behind a verdict: which rules were looked at, what each saw and where, how old that was, and which
one decided."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gate.contracts import LegView
from gate.machines.duration import spell
from gate.machines.gate_reading import own_result
from gate.machines.gate_state import Ages, Finding, LegState, WorkloadState
from gate.machines.gate_workloads import words_of
from gate.machines.judge import finished, hashed, judge
from gate.machines.verdict import Rule
from gate.rundir import layout

ENGINE = "the engine's list"
CLOCK = "gate's own clock"

ONE_START = "one start"
CREATED = "the workload was created"
OWN_WORD = "leg.json says that the leg finished"
READABLE = "readable within the evidence budget"
AFTER_END = "finished within the evidence budget after the end"
QUEUE = "started within the queue budget"
EVER = "the state file changes within the silence budget"
MOVES = "the engine answers or the leg moves within the outage budget"
DEADLINE = "decided before the poll deadline"
"""Rules that decide, by name."""


def judged(leg: LegState, ages: Ages) -> Finding:
    """A finished snapshot that is ours, judged."""
    assert leg.view is not None, "a reading comes from a view"
    outcome, reason, sentence, rules = judge(leg.rules.judge, leg.view.state)
    return Finding(outcome, reason, sentence, _aged((*_ownership(leg), *rules), ages.files))


def evidence_rules(
    leg: LegState, workload: WorkloadState, ages: Ages | None = None, *, decides: str = ""
) -> tuple[Rule, ...]:
    """Everything that was seen of a leg that gave no finished evidence; `decides` names the rule that ends it."""
    ages = ages or Ages()
    files = _aged((*_ownership(leg), *_snapshot(leg), *_own_word(leg)), ages.files)
    rules = (*files, _scheduler(workload, ages))
    return tuple(replace(rule, holds=False, decides=True) if rule.name == decides else rule for rule in rules)


def waited(name: str, spent: float, budget: float) -> Rule:
    """The rule of a budget that ran out."""
    return replace(going(name, spent, budget), holds=False, decides=True)


def not_over(workload: WorkloadState) -> str:
    """The rule of the engine's word, by name."""
    return f"workload {workload.rules.id} is not over"


def blind_root(since: float | None, now: float) -> tuple[Rule, ...]:
    """The rule of a shared root that has not answered since `since` (both in seconds on `boot`), if so."""
    if since is None:
        return ()
    return (
        Rule("the shared root answers", f"not for {spell(now - since)}", "the run directory", holds=False, age=0.0),
    )


def going(name: str, spent: float, budget: float) -> Rule:
    """The rule of a budget that runs: `spent` of `budget` seconds are gone."""
    return Rule(name, f"waited {spell(spent)} of {spell(budget)}", CLOCK, holds=True)


def _aged(rules: Iterable[Rule], age: float | None) -> tuple[Rule, ...]:
    return tuple(replace(rule, age=age) for rule in rules)


def _ownership(leg: LegState) -> list[Rule]:
    view = leg.view
    if view is None or not view.incarnations:
        found = view.problem if view is not None and view.problem else "no directory of this leg"
        return [Rule("bootstrap has started", found, layout.leg_tag(leg.rules.id, leg.rules.tag), holds=False)]
    starts = len(view.incarnations)
    seen = f"{starts} start{'s' * (starts > 1)}: {', '.join(view.incarnations)}"
    one = Rule(ONE_START, seen, layout.leg_tag(leg.rules.id, leg.rules.tag), holds=starts == 1)
    if leg.rules.allow_restart:
        one = replace(one, name="starts (restarts are allowed)", holds=True)
    pointer = view.pointer
    where = _below(leg, view, layout.POINTER)
    if pointer is None:
        found = view.problem or "no session pointer"
        return [one, Rule("ours", found, where, holds=False, sha256=view.pointer_sha256)]
    ours = (pointer.tag, pointer.leg, pointer.incarnation) == (leg.rules.tag, leg.rules.id, view.incarnations[-1])
    whose = "" if pointer.leg == leg.rules.id else f"leg {pointer.leg}, "
    seen = f"{whose}tag {pointer.tag}, incarnation {pointer.incarnation}, pointer number {pointer.sequence}"
    return [one, Rule("ours", seen, where, holds=ours, sha256=view.pointer_sha256)]


def _snapshot(leg: LegState) -> list[Rule]:
    view = leg.view
    if view is None or not view.incarnations:
        return []
    state = view.state
    seen = f"{state.status}: {state.detail}" if state.detail else state.status
    where = state.path or _below(leg, view, layout.SESSION)
    rules = [Rule("the state file can be read", seen, where, holds=state.status == "ok")]
    if state.status == "ok":
        rules += finished(leg.rules.judge, state.fields, where).rules
    return list(hashed(rules, state))


def _own_word(leg: LegState) -> list[Rule]:
    view = leg.view
    result = own_result(leg.rules, view)
    if view is None or not view.incarnations:
        return []
    where, digest = _below(leg, view, layout.LEG_RESULT), view.result_sha256
    if result is None:
        found = view.problem if layout.LEG_RESULT in view.problem else "not there"
        return [Rule(OWN_WORD, found, where, holds=False, sha256=digest)]
    word = result.reason.value if result.outcome == "failed" and result.reason is not None else result.outcome
    said = f"{word}: {result.sentence}" if result.sentence else word
    return [Rule(OWN_WORD, said, where, holds=result.outcome == "finished", sha256=digest)]


def _below(leg: LegState, view: LegView, name: str) -> str:
    return f"{layout.incarnation(leg.rules.id, leg.rules.tag, view.incarnations[-1])}/{name}"


def _scheduler(workload: WorkloadState, ages: Ages) -> Rule:
    problem = workload.rules.create_problem
    if problem and workload.seen is None:
        detail = workload.rules.problem_detail
        return Rule(CREATED, f"{problem}: {detail}" if detail else problem, "dispatch's create call", holds=False)
    seen = words_of(workload)
    if workload.missing_lists and not workload.gone:
        lists = "list" if workload.missing_lists == 1 else f"{workload.missing_lists} lists"
        seen = f"{seen}; missing from the last {lists}"
    return Rule(not_over(workload), seen, ENGINE, holds=not workload.over, age=ages.engine)
