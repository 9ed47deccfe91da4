"""Scenario files: every fault at once, each with its place."""

from __future__ import annotations

from typing import Any

import pytest

from gate.agents.scenario import STEPS, steps_of, validate
from gate.errors import ConfigError

EVERY_STEP: dict[str, list[Any]] = {
    "say": ["text {marker}"],
    "write": [{"path": "a", "text": ""}, {"path": "$X/a", "json": None, "append": True}],
    "run": ["true", {"command": "false", "check": False}],
    "background": ["sleep 1"],
    "detach": ["sleep 1"],
    "sleep": [0, 0.5],
    "hang": [True, "stubborn"],
    "mute": [True],
    "fail": ["API Error"],
    "empty": [True],
    "exit": [0, 255],
    "die": ["KILL", "TERM"],
    "lose_session": [True],
    "usage": [{"input_tokens": 1, "output_tokens": 2, "cost_usd": 0.1}],
}
WRONG: dict[str, list[Any]] = {
    "say": ["", 1, None],
    "write": ["a", {"path": "a"}, {"path": "a", "text": "", "json": 1}, {"text": "x"}, {"path": "a", "text": 1}],
    "run": ["", 1, {"check": True}, {"command": "x", "check": "no"}, {"command": "x", "chek": True}],
    "background": [[]],
    "detach": [None],
    "sleep": [-1, "1", True],
    "hang": [False, "x"],
    "mute": [False],
    "fail": [""],
    "empty": [False],
    "exit": [256, "1", True],
    "die": ["SIGKILL", 9],
    "lose_session": [1],
    "usage": [{"tokens": 1}, {"cost_usd": -1}, 3],
}


def test_every_step_is_covered_here() -> None:
    assert set(EVERY_STEP) == set(WRONG) == set(STEPS)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in EVERY_STEP.items() for value in values])
def test_steps_that_are_right(name: str, value: Any) -> None:
    scenario = {"version": 1, "turns": [[{name: value}]]}
    assert validate(scenario, "s.yaml") is scenario


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_steps_that_are_wrong(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"s\.yaml: turns\[0\]\[0\]\.{name}: expected "):
        validate({"version": 1, "turns": [[{name: value}]]}, "s.yaml")


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (None, "top level: expected a mapping with version and turns, found nothing"),
        ([], "top level: expected a mapping"),
        ({"turns": [[{"say": "x"}]]}, "version: expected 1, found nothing"),
        ({"version": True, "turns": []}, "version: expected 1, found True"),
        ({"version": 2, "turns": []}, "version: expected 1, found 2"),
        ({"version": 1}, "turns: missing"),
        ({"version": 1, "turns": {}}, "turns: expected a list of turns, found {}"),
        ({"version": 1, "turns": [[]]}, "turns[0]: expected a list of steps, found []"),
        ({"version": 1, "turns": [{"say": "x"}]}, "turns[0]: expected a list of steps"),
        ({"version": 1, "turns": [["say"]]}, "turns[0][0]: expected one step as `name: value`, found 'say'"),
        ({"version": 1, "turns": [[{"say": "x", "run": "y"}]]}, "turns[0][0]: expected one step"),
        ({"version": 1, "turns": [[{"detatch": "x"}]]}, "turns[0][0]: no step 'detatch'; did you mean 'detach'?"),
        ({"version": 1, "turns": [], "than": []}, "top level: no key 'than'; did you mean 'then'?"),
        ({"version": 1, "turns": [], "then": "x"}, "then: expected a list of steps"),
        ({"version": 1, "legs": []}, "legs: expected a mapping"),
        ({"version": 1, "legs": {"a*": [1]}}, "legs.a*: expected a mapping with turns"),
        ({"version": 1, "legs": {"a": {"turns": [[{"exit": -1}]]}}}, "legs.a.turns[0][0].exit: expected an exit code"),
    ],
)
def test_shapes_that_are_wrong(scenario: Any, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        validate(scenario, "s.yaml")
    assert said in refused.value.message


def test_all_faults_come_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        validate({"version": 3, "turns": [[{"sya": "x"}], [{"exit": "no"}]]}, "s.yaml")
    assert len(refused.value.message.splitlines()) == 3


def test_turns_are_found_by_leg_and_number() -> None:
    one, two, later, own = [{"say": "1"}], [{"say": "2"}], [{"say": "n"}], [{"say": "own"}]
    scenario = {"version": 1, "turns": [one, two], "then": later, "legs": {"p*": {"turns": [own]}}}
    assert [steps_of(scenario, "x", turn) for turn in range(4)] == [one, two, later, later]
    assert [steps_of(scenario, "patient", turn) for turn in range(2)] == [own, None]
