"""The rules by which one snapshot of a state file is judged. Pure; the same in bootstrap and at the poller.

The language: dotted keys over strict JSON, looked up as `Field`s. Scalars match exactly: 1 and 1.0 are the same number,
a boolean is no number, null is missing. A judged value that is missing or of another type is never ignored.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from gate.machines.verdict import Field, Outcome, Reason, Rule, Scalar, StateView
from gate.plan.model import Judge, Limit

MISSING = Field("missing")
SHOWN = 80
"""Characters of a value from outside that a sentence shows."""


@dataclass(frozen=True, slots=True)
class Finished:
    """Does the snapshot say that the leg is finished?

    `malformed`: a key of the condition holds a value of another type, so that it cannot be told. `sentence` says what
    is missing, or what is wrong; "" where finished.
    """

    word: Literal["yes", "not_yet", "malformed"]
    sentence: str
    rules: tuple[Rule, ...]


class Judgement(NamedTuple):
    """What a finished snapshot comes to; `rules` are all steps, exactly one of which decides."""

    outcome: Outcome
    reason: Reason
    sentence: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class _Step:
    """One rule looked at: what it came to, and the sentence if it is the one that decides."""

    rule: Rule
    word: Literal["holds", "fails", "missing"]
    reason: Reason
    sentence: str


def finished(judge: Judge, fields: Mapping[str, Field], source: str = "") -> Finished:
    """Is every key of `judge.finished` at its value? An empty condition is never fulfilled."""
    rules: list[Rule] = []
    waiting: list[str] = []
    wrong: list[str] = []
    for key, wanted in judge.finished.items():
        found = fields.get(key, MISSING)
        holds = same(found, wanted)
        rules.append(Rule(f"finished: {key} = {show_scalar(wanted)}", show(found), source, holds))
        if holds:
            continue
        if _absent(found):
            waiting.append(f"{key} is missing")
        elif found.kind == "container" or kind_of(found.value) != kind_of(wanted):
            wrong.append(f"{key} is {describe(found)}, expected {kind_of(wanted)}")
        else:
            waiting.append(f"{key} is {show(found)}")
    if wrong:
        return Finished("malformed", "; ".join(wrong), tuple(rules))
    if waiting or not rules:
        return Finished("not_yet", "; ".join(waiting) or "no finished condition", tuple(rules))
    return Finished("yes", "", tuple(rules))


def judge(judge: Judge, view: StateView) -> Judgement:
    """Judge a snapshot of which `finished` is "yes": PASS, FAIL, or ERROR value_missing.

    A value that cannot be judged wins over one that fails: the leg was not measured as the gate asks.
    """
    source = view.path
    before = finished(judge, view.fields, source).rules
    steps = [_accepted(key, values, view.fields, source) for key, values in judge.passes.items()]
    steps += [_within(key, limit, view.fields, source) for key, limit in judge.limits.items()]
    decisive = next((s for s in steps if s.word == "missing"), None)
    decisive = decisive or next((s for s in steps if s.word == "fails"), None)
    rules = [Rule(s.rule.name, s.rule.observed, source, s.rule.holds, decides=s is decisive) for s in steps]
    if decisive is None:
        count = len(before) + len(steps)
        verdict = Rule("all criteria met", f"{count} of {count}", source, holds=True, decides=True)
        return Judgement(
            Outcome.PASS, Reason.CRITERIA_MET, _met(judge, view.fields), hashed((*before, *rules, verdict), view)
        )
    outcome = Outcome.ERROR if decisive.word == "missing" else Outcome.FAIL
    others = [s.sentence for s in steps if s.word != "holds" and s is not decisive]
    sentence = "; ".join([decisive.sentence, *others])
    return Judgement(outcome, decisive.reason, sentence, hashed((*before, *rules), view))


def same(found: Field, wanted: Scalar) -> bool:
    """Exact equality of scalars; null equals nothing, as it is missing."""
    if found.kind != "value" or found.value is None or wanted is None:
        return False
    return kind_of(found.value) == kind_of(wanted) and found.value == wanted


def kind_of(value: Scalar) -> str:
    """The type of a scalar in the judge's language, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    return "a string" if isinstance(value, str) else "a number"


def show_scalar(value: Scalar) -> str:
    """A scalar as JSON, cut to SHOWN characters."""
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def show(found: Field) -> str:
    """What a key holds, for people."""
    match found.kind:
        case "missing":
            return "missing"
        case "container":
            return "an object or list"
        case "value":
            return show_scalar(found.value)


def describe(found: Field) -> str:
    """What a key holds, with its type."""
    if found.kind == "value" and found.value is not None:
        return f"{kind_of(found.value)} ({show(found)})"
    return show(found)


def hashed(rules: Iterable[Rule], view: StateView) -> tuple[Rule, ...]:
    """Rules of one snapshot, each with its hash."""
    return tuple(replace(rule, sha256=view.sha256) for rule in rules)


def _absent(found: Field) -> bool:
    return found.kind == "missing" or (found.kind == "value" and found.value is None)


def _accepted(key: str, values: tuple[Scalar, ...], fields: Mapping[str, Field], source: str) -> _Step:
    found = fields.get(key, MISSING)
    holds = any(same(found, value) for value in values)
    rule = Rule(f"pass: {key} in {', '.join(map(show_scalar, values))}", show(found), source, holds)
    if holds:
        return _Step(rule, "holds", Reason.CRITERIA_MET, "")
    kinds = sorted({kind_of(value) for value in values if value is not None})
    if _absent(found) or found.kind == "container" or kind_of(found.value) not in kinds:
        return _unjudgeable(rule, key, found, " or ".join(kinds))
    wanted = show_scalar(values[0]) if len(values) == 1 else "one of " + ", ".join(map(show_scalar, values))
    return _Step(rule, "fails", Reason.NOT_ACCEPTED, f"{key} is {show(found)}, expected {wanted}")


def _within(key: str, limit: Limit, fields: Mapping[str, Field], source: str) -> _Step:
    found = fields.get(key, MISSING)
    value = found.value if found.kind == "value" else None
    name = f"limit: {_bounds(key, limit)}"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return _unjudgeable(Rule(name, show(found), source, holds=False), key, found, "a number")
    if limit.min is not None and value < limit.min:
        said = f"{key} is {show(found)}, below the limit of {_number(limit.min)}"
    elif limit.max is not None and value > limit.max:
        said = f"{key} is {show(found)}, above the limit of {_number(limit.max)}"
    else:
        return _Step(Rule(name, show(found), source, holds=True), "holds", Reason.CRITERIA_MET, "")
    return _Step(Rule(name, show(found), source, holds=False), "fails", Reason.LIMIT_EXCEEDED, said)


def _unjudgeable(rule: Rule, key: str, found: Field, expected: str) -> _Step:
    said = "null" if found.kind == "value" and found.value is None else describe(found)
    return _Step(rule, "missing", Reason.VALUE_MISSING, f"{key} is {said}, expected {expected}")


def _bounds(key: str, limit: Limit) -> str:
    lower = f"{_number(limit.min)} ≤ " if limit.min is not None else ""
    upper = f" ≤ {_number(limit.max)}" if limit.max is not None else ""
    return f"{lower}{key}{upper}" if lower or upper else f"{key} is a number"


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _met(judge: Judge, fields: Mapping[str, Field]) -> str:
    keys = dict.fromkeys((*judge.passes, *judge.limits)) or dict.fromkeys(judge.finished)
    return ", ".join(f"{key} is {show(fields.get(key, MISSING))}" for key in keys)
