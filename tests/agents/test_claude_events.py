"""What the CLI's events add up to, by version."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gate.agents.claude import _report
from gate.agents.claude_events import SHOWN, Events
from gate.agents.process import Ended
from gate.contracts import TurnEnd, Usage
from tests.agents.places import request


def result(**changes: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "num_turns": 1,
        "result": "done",
        "session_id": "s",
        "total_cost_usd": 0.5,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100},
        **changes,
    }


def since(cost: float) -> dict[str, Any]:
    return {"model_usage_since_last_result": {"a": {"costUSD": cost}, "b": {"costUSD": 0.01}}}


def events(*found: dict[str, Any]) -> Events:
    booked = Events()
    for event in found:
        booked.take(json.dumps(event).encode())
    return booked


def test_cost_of_newer_versions_is_summed_over_the_results_of_the_turn() -> None:
    booked = events(result(**since(0.1)), result(result="last", total_cost_usd=9.0, **since(0.2)))
    assert booked.cost(resumed=True) == pytest.approx(0.32)
    assert booked.usage() == Usage(input_tokens=220, output_tokens=10)
    assert booked.last is not None
    assert booked.last["result"] == "last"


def test_cost_of_older_versions_is_known_for_a_fresh_conversation_only() -> None:
    booked = events(result())
    assert booked.cost(resumed=False) == 0.5
    assert booked.cost(resumed=True) is None


@pytest.mark.parametrize(
    "event",
    [
        result(total_cost_usd=None),
        result(total_cost_usd="0.5"),
        result(total_cost_usd=True),
        result(terminal_reason="aborted_streaming"),
        result(model_usage_since_last_result={"a": {}}),
    ],
)
def test_an_unknown_cost_is_never_zero(event: dict[str, Any]) -> None:
    assert events(event).cost(resumed=False) is None


def test_without_a_result_nothing_is_known() -> None:
    booked = events({"type": "system", "subtype": "init", "session_id": "s", "model": "m"})
    assert (booked.last, booked.usage(), booked.cost(resumed=False), booked.session) == (None, None, None, "s")


@pytest.mark.parametrize("line", [b"not json", b"[1]", b'{"type": "result"', b"\xff\xfe", b"null"])
def test_what_is_no_event_is_shown_as_it_is(line: bytes) -> None:
    booked = Events()
    assert booked.take(line) == line.decode(errors="replace") + "\n"
    assert booked.results == []


@pytest.mark.parametrize(
    ("event", "shown"),
    [
        ({"type": "assistant", "message": {"content": [{"type": "text", "text": "Hi"}]}}, "Hi\n"),
        ({"type": "user", "message": {"content": "plain"}}, "plain\n"),
        (
            {"type": "assistant", "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"a": "é"}}]}},
            '[Bash] {"a": "é"}\n',
        ),
        (
            {"type": "user", "message": {"content": [{"type": "tool_result", "is_error": True, "content": "no"}]}},
            "[result of tool (failed)]\nno\n",
        ),
        (
            {
                "type": "user",
                "message": {"content": [{"type": "tool_result", "content": [{"type": "text", "text": "yes"}]}]},
            },
            "[result of tool]\nyes\n",
        ),
        (
            {"type": "system", "subtype": "api_retry", "attempt": 1},
            '{"type": "system", "subtype": "api_retry", "attempt": 1}\n',
        ),
        ({"type": "result", "subtype": "success", "is_error": False, "result": "Hi"}, "[result] success: Hi\n"),
        ({"type": "result", "subtype": "success", "is_error": True, "result": "429"}, "[result] error: 429\n"),
        ({"type": "assistant"}, '{"type": "assistant"}\n'),
        ({"type": "assistant", "message": {"content": [7]}}, "7\n"),
    ],
)
def test_events_read_well(event: dict[str, Any], shown: str) -> None:
    assert Events().take(json.dumps(event).encode()) == shown


def test_a_long_result_is_cut_in_the_transcript() -> None:
    content = [{"type": "tool_result", "content": "x" * (SHOWN + 7)}]
    shown = Events().take(json.dumps({"type": "user", "message": {"content": content}}).encode())
    assert shown.endswith("x… (7 characters more)\n")


@pytest.mark.parametrize(
    ("event", "code", "errors", "end"),
    [
        (result(), 0, "", TurnEnd.COMPLETED),
        # A success by its subtype, and a failure by all else.
        (result(is_error=True, result="API Error: 500"), 1, "", TurnEnd.FAILED),
        (result(is_error=True), 0, "", TurnEnd.FAILED),
        (result(), 1, "", TurnEnd.FAILED),
        (result(is_error=None), 0, "", TurnEnd.FAILED),
        (result(subtype="error_max_turns", is_error=True, errors=["Reached"], result=None), 1, "", TurnEnd.FAILED),
        (result(result=" \n"), 0, "", TurnEnd.EMPTY),
        (None, 0, "", TurnEnd.EMPTY),
        (None, 1, "Error: unknown option", TurnEnd.FAILED),
        (None, 143, "", TurnEnd.KILLED),
        (None, 137, "", TurnEnd.KILLED),
        (None, -9, "", TurnEnd.KILLED),
        (None, 1, "Error: Session ID x is already in use.", TurnEnd.SESSION_USED),
        (result(result="Session ID x is already in use."), 0, "", TurnEnd.COMPLETED),
    ],
)
def test_how_a_turn_ended(event: dict[str, Any] | None, code: int, errors: str, end: TurnEnd) -> None:
    booked = events(event) if event is not None else Events()
    report = _report(request(), booked, Ended("exited", code), errors)
    assert report.end is end
    assert bool(report.detail) is (end is not TurnEnd.COMPLETED)


@pytest.mark.parametrize(
    ("event", "errors"),
    [
        (None, "No conversation found with session ID: x"),
        (
            result(num_turns=0, is_error=True, result=None, errors=["No conversation found with session ID: x"]),
            "",
        ),
    ],
)
def test_a_lost_conversation(event: dict[str, Any] | None, errors: str) -> None:
    booked = events(event) if event is not None else Events()
    report = _report(request(resume=True), booked, Ended("exited", 1), errors)
    assert report.end is TurnEnd.SESSION_LOST


def test_an_answer_that_quotes_the_refusal_is_an_answer() -> None:
    quoted = result(result="No conversation found with session ID: y, I read", is_error=True, num_turns=4)
    report = _report(request(resume=True), events(quoted), Ended("exited", 1), "")
    assert report.end is TurnEnd.FAILED
