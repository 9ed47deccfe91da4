"""The judge's language, a row a rule."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.documents import parse_strict
from gate.machines.judge import finished, judge, same
from gate.machines.verdict import Field, Outcome, Reason, Scalar, StateView
from gate.plan.model import Judge, Limit


def view(**values: Any) -> StateView:
    found = {
        key.replace("__", "."): Field("container") if value == [] else Field("value", value)
        for key, value in values.items()
    }
    return StateView("ok", "session/run/state.json", "f" * 64, 10, found)


def rules(**more: Any) -> Judge:
    base: dict[str, Any] = {"finished": {"done": True}, "passes": {}, "limits": {}, "show": ()}
    return Judge(**{**base, **more})


@pytest.mark.parametrize(
    ("wanted", "found", "word"),
    [
        (True, Field("value", True), "yes"),
        (True, Field("value", False), "not_yet"),
        (True, Field("missing"), "not_yet"),
        (True, Field("value", None), "not_yet"),
        (True, Field("value", 1), "malformed"),
        (True, Field("value", "true"), "malformed"),
        (True, Field("container"), "malformed"),
        ("done", Field("value", "done"), "yes"),
        ("done", Field("value", "Done"), "not_yet"),
        ("done", Field("value", True), "malformed"),
        (1, Field("value", 1.0), "yes"),
        (1.0, Field("value", 1), "yes"),
        (1, Field("value", True), "malformed"),
        (0, Field("value", False), "malformed"),
        (0, Field("value", "0"), "malformed"),
        (None, Field("value", None), "not_yet"),
        (None, Field("missing"), "not_yet"),
    ],
)
def test_finished_is_exact(wanted: Scalar, found: Field, word: str) -> None:
    said = finished(rules(finished={"a.b": wanted}), {"a.b": found})
    assert said.word == word
    assert (said.sentence == "") == (word == "yes")
    assert [rule.holds for rule in said.rules] == [word == "yes"]


def test_all_finished_keys_are_needed() -> None:
    both = rules(finished={"done": True, "phase": "closed"})
    assert finished(both, view(done=True).fields).word == "not_yet"
    assert finished(both, view(done=True, phase="closed").fields).word == "yes"
    assert finished(both, view(done=False, phase=3).fields).word == "malformed"


def test_an_empty_condition_is_never_fulfilled() -> None:
    assert finished(rules(finished={}), view(done=True).fields).word == "not_yet"


PASSES = {"stop_reason": ("converged", "target_reached")}


@pytest.mark.parametrize(
    ("criteria", "values", "outcome", "reason", "words"),
    [
        ({"passes": PASSES}, {"stop_reason": "converged"}, "PASS", "criteria_met", 'stop_reason is "converged"'),
        (
            {"passes": PASSES},
            {"stop_reason": "crashed"},
            "FAIL",
            "not_accepted",
            'stop_reason is "crashed", expected one of "converged", "target_reached"',
        ),
        ({"passes": PASSES}, {}, "ERROR", "value_missing", "stop_reason is missing, expected a string"),
        ({"passes": PASSES}, {"stop_reason": None}, "ERROR", "value_missing", "stop_reason is null, expected a string"),
        ({"passes": PASSES}, {"stop_reason": 3}, "ERROR", "value_missing", "a number (3), expected a string"),
        ({"passes": PASSES}, {"stop_reason": []}, "ERROR", "value_missing", "an object or list, expected a string"),
        ({"passes": {"ok": (True,)}}, {"ok": 1}, "ERROR", "value_missing", "a number (1), expected a boolean"),
        ({"passes": {"code": (0, "0")}}, {"code": "0"}, "PASS", "criteria_met", 'code is "0"'),
        ({"passes": {"code": (0, "0")}}, {"code": 1}, "FAIL", "not_accepted", 'code is 1, expected one of 0, "0"'),
        ({"passes": {"code": (0, "0")}}, {"code": False}, "ERROR", "value_missing", "a number or a string"),
        ({"passes": {"code": (0,)}}, {"code": 0.0}, "PASS", "criteria_met", "code is 0.0"),
        ({"limits": {"n": Limit(None, 0)}}, {"n": 0}, "PASS", "criteria_met", "n is 0"),
        ({"limits": {"n": Limit(None, 0)}}, {"n": 1}, "FAIL", "limit_exceeded", "n is 1, above the limit of 0"),
        ({"limits": {"n": Limit(1.5, None)}}, {"n": 1.5}, "PASS", "criteria_met", "n is 1.5"),
        ({"limits": {"n": Limit(1.5, 9)}}, {"n": 1.4}, "FAIL", "limit_exceeded", "n is 1.4, below the limit of 1.5"),
        ({"limits": {"n": Limit(0, None)}}, {}, "ERROR", "value_missing", "n is missing, expected a number"),
        ({"limits": {"n": Limit(0, None)}}, {"n": "5"}, "ERROR", "value_missing", 'a string ("5"), expected a number'),
        ({"limits": {"n": Limit(0, 1)}}, {"n": True}, "ERROR", "value_missing", "a boolean (true), expected a number"),
        ({"limits": {"n": Limit(None, None)}}, {"n": None}, "ERROR", "value_missing", "n is null, expected a number"),
        ({"limits": {"n": Limit(None, 10**30)}}, {"n": 10**30}, "PASS", "criteria_met", "n is 1000"),
    ],
)
def test_criteria(criteria: dict[str, Any], values: dict[str, Any], outcome: str, reason: str, words: str) -> None:
    verdict = judge(rules(**criteria), view(done=True, **values))
    assert (verdict.outcome, verdict.reason) == (Outcome(outcome), Reason(reason))
    assert words in verdict.sentence
    assert [rule.decides for rule in verdict.rules].count(True) == 1


def test_a_missing_value_wins_over_a_failing_one_and_both_are_said() -> None:
    verdict = judge(
        rules(passes=PASSES, limits={"n": Limit(0, None)}),
        view(done=True, stop_reason="crashed"),
    )
    assert (verdict.outcome, verdict.reason) == (Outcome.ERROR, Reason.VALUE_MISSING)
    assert "n is missing" in verdict.sentence
    assert '"crashed"' in verdict.sentence


def test_every_rule_names_its_file_and_hash() -> None:
    verdict = judge(rules(passes=PASSES, limits={"n": Limit(0, None)}), view(done=True, stop_reason="converged", n=1))
    assert {(rule.source, rule.sha256) for rule in verdict.rules} == {("session/run/state.json", "f" * 64)}
    assert [rule.name for rule in verdict.rules] == [
        "finished: done = true",
        'pass: stop_reason in "converged", "target_reached"',
        "limit: 0 ≤ n",
        "all criteria met",
    ]


def test_a_long_value_is_cut_and_a_lone_surrogate_can_be_written() -> None:
    body = parse_strict(b'{"s": "' + b"x" * 5000 + b'"}')
    said = judge(rules(passes={"s": ("y",)}), view(done=True, s=body["s"])).sentence
    assert len(said) < 200
    surrogate = judge(rules(passes={"s": ("y",)}), view(done=True, s="\ud800")).sentence
    assert "\\ud800" in surrogate.encode().decode()


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(SCALARS, SCALARS)
def test_equality_never_crosses_types_and_null_equals_nothing(a: Scalar, b: Scalar) -> None:
    equal = same(Field("value", a), b)
    assert equal == same(Field("value", b), a)
    if equal:
        assert a == b
        assert isinstance(a, bool) == isinstance(b, bool)
        assert a is not None


@given(st.dictionaries(st.sampled_from(["done", "stop_reason", "n"]), SCALARS))
def test_a_pass_needs_every_criterion(values: dict[str, Any]) -> None:
    criteria = rules(passes=PASSES, limits={"n": Limit(0, 10)})
    if finished(criteria, view(**values).fields).word != "yes":
        return
    verdict = judge(criteria, view(**values))
    number = values.get("n")
    kept = isinstance(number, (int, float)) and not isinstance(number, bool) and 0 <= number <= 10
    passed = values.get("stop_reason") in PASSES["stop_reason"] and kept
    assert (verdict.outcome is Outcome.PASS) == passed
