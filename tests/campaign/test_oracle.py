"""The second opinion on state files, and that the product's judge comes to the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.campaign.oracle import truth
from gate.campaign.plans import JUDGE
from gate.machines.judge import finished, judge
from gate.machines.verdict import Outcome
from gate.rundir.statefile import parse


@pytest.mark.parametrize(
    ("raw", "really"),
    [
        (b'{"done": true, "stop_reason": "converged", "gain": 1.5}', "pass"),
        (b'{"done": true, "stop_reason": "target_reached", "gain": 1}', "pass"),
        (b'{"done": true, "stop_reason": "crashed", "gain": 1.5}', "fail"),
        (b'{"done": true, "stop_reason": "converged", "gain": 0.99}', "fail"),
        (b'{"done": true, "stop_reason": "converged"}', "unusable"),
        (b'{"done": true, "stop_reason": "converged", "gain": true}', "unusable"),
        (b'{"done": true, "stop_reason": "converged", "gain": null}', "unusable"),
        (b'{"done": true, "stop_reason": 3, "gain": 1.5}', "unusable"),
        (b'{"done": "yes"}', "unusable"),
        (b'{"done": 1}', "unusable"),
        (b'{"done": false}', "not_finished"),
        (b"{}", "not_finished"),
        (b'{"done": tr', "unusable"),
        (b"", "unusable"),
        (b"[1]", "unusable"),
    ],
)
def test_what_a_careful_person_would_say(raw: bytes, really: str) -> None:
    assert truth(raw, JUDGE) == really


VALUES = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.floats(0, 2), st.sampled_from(["converged", "x"]))


@given(st.dictionaries(st.sampled_from(["done", "stop_reason", "gain", "step"]), VALUES))
def test_the_judge_agrees(body: dict[str, object]) -> None:
    raw = json.dumps(body).encode()
    view = parse(raw, JUDGE.keys(), "state.json")
    really = truth(raw, JUDGE)

    if finished(JUDGE, view.fields).word != "yes":
        assert really in ("not_finished", "unusable")
        return
    outcome = judge(JUDGE, view).outcome
    assert really == {Outcome.PASS: "pass", Outcome.FAIL: "fail", Outcome.ERROR: "unusable"}[outcome]
