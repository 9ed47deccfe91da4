"""Which agent drives a leg: the leg's own over the gate's, options checked, a scenario read at plan time."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.errors import ConfigError
from gate.plan.model import AgentPlan
from tests.plan.build import AGENT, resolved

SCENARIO = "version: 1\nturns: [[{say: hello}]]\n"


def agent(folder: Path, top: str, own: str = "", **files: str) -> AgentPlan:
    text = AGENT.replace("agent: {kind: command, version: '1', start: [agent], resume: [agent]}", f"agent: {top}")
    found = resolved(folder, text + (f"    agent: {own}\n" if own else ""), None, **files).plan.leg("a").agent
    assert found is not None
    return found


def test_a_leg_adds_to_the_agent_of_the_gate(tmp_path: Path) -> None:
    found = agent(tmp_path, "{kind: claude, version: 2.1.332, model: large}", "{max_turns: 9}")
    assert found == AgentPlan("claude", "2.1.332", {"model": "large", "max_turns": 9})


def test_another_kind_starts_afresh(tmp_path: Path) -> None:
    found = agent(tmp_path, "{kind: command, version: '7', start: [x], resume: [x]}", "claude")
    assert found == AgentPlan("claude", None, {})


def test_a_scenario_is_read_at_plan_time(tmp_path: Path) -> None:
    found = agent(tmp_path, "{kind: scripted, scenario: s.yaml}", "", **{"s.yaml": SCENARIO})
    assert found.options["scenario"] == {"version": 1, "turns": [[{"say": "hello"}]]}


@pytest.mark.parametrize(
    ("top", "says"),
    [
        ("{kind: scripted}", "agent.scenario: found nothing; expected scenario, which a scripted agent needs"),
        ("{kind: scripted, scenario: s.yml}", "gate.yaml:5: agent.scenario: found 's.yml', which cannot be read"),
        ("{kind: claude, modle: x}", "agent.modle: found the unknown key 'modle'; expected one of kind, version,"),
        ("{kind: claude, vresion: 2.1.1}", "did you mean 'version'?"),
        ("{kind: claude, max_turns: many}", "agent.max_turns: found 'many'; expected a whole number above 0"),
        ("{kind: command}", "agent.start: found nothing"),
    ],
)
def test_wrong_options_are_faults_of_gate_yaml(tmp_path: Path, top: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        agent(tmp_path, top)
    assert says in str(caught.value)
