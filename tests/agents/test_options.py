"""Options of agents: every fault is named before anything is launched."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from gate.agents import open_agent
from gate.agents.options import problems
from gate.documents import Json
from gate.errors import AgentError
from gate.plan.model import AgentPlan
from tests.agents.places import make_place

SCENARIO = {"version": 1, "turns": [[{"say": "hello"}]]}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("claude", {}),
        (
            "claude",
            {"executable": "/opt/claude", "model": "m", "max_turns": 9, "max_budget_usd": 1.5, "args": ["--bare"]},
        ),
        (
            "command",
            {
                "start": ["tool", "--prompt", "{prompt_file}", '{"json": 1}'],
                "resume": ["tool", "{session}"],
                "version_command": ["tool", "-V"],
                "exit_codes": {"3": "session_lost"},
                "probe": True,
                "tool_sessions": False,
            },
        ),
        ("scripted", {"scenario": SCENARIO}),
    ],
)
def test_what_is_right(kind: str, options: Mapping[str, Json]) -> None:
    assert problems(kind, options) == ()


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("claude", {"modle": "m"}, "modle: a claude agent has no such option; did you mean model?"),
        ("claude", {"qqqq": 1}, "known are executable, model"),
        ("claude", {"max_turns": 0}, "max_turns: found '0'; right would be a whole number above 0"),
        ("claude", {"max_turns": True}, "a whole number above 0"),
        ("claude", {"max_budget_usd": "5"}, "a number above 0"),
        ("claude", {"args": "--bare"}, "a list of texts"),
        ("command", {}, "start: missing; a command agent needs it"),
        ("command", {"start": []}, "a list of words, the program first"),
        ("command", {"start": ["tool", "{sesion}"]}, "no {sesion}: {session} and {prompt_file} can be filled in"),
        ("command", {"start": ["tool"], "exit_codes": {"x": "failed"}}, "exit codes, each with one of completed"),
        ("command", {"start": ["tool"], "exit_codes": {"3": "lost"}}, "session_lost"),
        ("command", {"start": ["tool"], "probe": "yes"}, "true or false"),
        ("scripted", {"scenario": {"version": 1}}, "a scenario (turns: missing"),
    ],
)
def test_what_is_wrong_is_said(kind: str, options: Mapping[str, Json], said: str) -> None:
    assert [said in problem for problem in problems(kind, options)] == [True]


def test_all_faults_come_at_once(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"start: missing.*; probe: found '1'"):
        open_agent(AgentPlan("command", None, {"probe": 1}), make_place(tmp_path).agent)
