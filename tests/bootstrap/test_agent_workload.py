"""A real `gate bootstrap` with the scripted agent: real turns, real files, real processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gate.bootstrap import exits
from gate.machines.verdict import Reason
from gate.plan.model import AgentPlan, LegPlan, Prompts
from gate.rundir import layout
from tests.bootstrap.legs import MARKER, agent_leg
from tests.bootstrap.workloads import Staged, stage

PROMPTS = Prompts(
    setup=f"Set up in <<gate:workspace>>. End with {MARKER}",
    task="Run in <<gate:session>>.",
    nudge=f"Go on. End with {MARKER}",
    finish_launch="Launch it.",
    redrive="Move again.",
    recap="You lost your memory.",
    marker=MARKER,
)
PRODUCT = """
import json, pathlib, time
run = pathlib.Path("../session/run-1"); run.mkdir()
for step in range(3):
    (run / "state.json").write_text(json.dumps({"done": False, "step": step})); time.sleep(0.2)
(run / "state.json").write_text(json.dumps({"done": True, "stop_reason": "converged"}))
time.sleep(600)
"""
LAUNCH = {"detach": "python3 product.py >log 2>&1"}


def leg(*turns: list[dict[str, Any]], **changes: Any) -> LegPlan:
    scenario = {"version": 1, "turns": list(turns)}
    quick = {"stall": 3.0, "startup_probe": 10.0, "turn": 20.0, "setup": 60.0, "task": 60.0, "evidence": 0.3}
    return agent_leg(
        prompts=PROMPTS,
        agent=AgentPlan("scripted", "1", {"scenario": scenario}),
        verify="test -e ready",
        files=("product.py",),
        **{**quick, **changes},
    )


def staged_leg(tmp_path: Path, *turns: list[dict[str, Any]], **changes: Any) -> Staged:
    return stage(tmp_path, leg(*turns, **changes), files={"product.py": PRODUCT})


def test_three_turns_a_launch_and_a_finished_run(tmp_path: Path) -> None:
    staged = staged_leg(
        tmp_path,
        [{"say": "I begin."}, {"write": {"path": "notes", "text": "x"}}],
        [{"say": MARKER}],  # a lie: the check disagrees
        [{"write": {"path": "ready", "text": ""}}, {"say": MARKER}],
        [LAUNCH, {"say": "It runs."}],
    )
    code, said = staged.run()
    assert code == exits.LEGS_FINISHED, said
    result = staged.result()
    assert (result.outcome, result.turns, result.resumes, result.recaps) == ("finished", 4, 3, 0)
    assert result.state == "session/run-1/state.json"
    assert result.agent_version == "1"
    assert any("product.py" in one for one in result.survivors)
    assert not staged.left()
    transcript = (staged.base() / layout.TRANSCRIPT).read_text()
    assert f"> Set up in {staged.base()}/workspace." in transcript
    assert "<<gate:" not in transcript
    journal = [json.loads(one) for one in (staged.base() / layout.JOURNAL).read_text().splitlines()]
    assert [entry["ordinal"] for entry in journal if entry["kind"] == "turn"] == [1, 2, 3, 4]


def test_a_launch_that_left_nothing_running_is_asked_for_again(tmp_path: Path) -> None:
    ready: list[dict[str, Any]] = [{"write": {"path": "ready", "text": ""}}, {"say": MARKER}]
    staged = staged_leg(tmp_path, ready, [{"say": "I will check back later."}], [LAUNCH], stall=4.0)
    code, said = staged.run()
    assert code == exits.LEGS_FINISHED, said
    assert staged.result().turns == 3
    assert "> Launch it." in (staged.base() / layout.TRANSCRIPT).read_text()


def test_cc40609_a_lost_conversation_is_replaced_once_with_a_recap(tmp_path: Path) -> None:
    ready: list[dict[str, Any]] = [{"write": {"path": "ready", "text": ""}}, {"say": MARKER}]
    staged = staged_leg(tmp_path, [{"say": "hm"}, {"lose_session": True}], ready, [LAUNCH])
    code, said = staged.run()
    assert code == exits.LEGS_FINISHED, said
    assert staged.result().recaps == 1
    assert "> You lost your memory." in (staged.base() / layout.TRANSCRIPT).read_text()


def test_set_up_that_stalls_fails_and_says_so(tmp_path: Path) -> None:
    staged = staged_leg(tmp_path, *[[{"say": "Later."}]] * 40, stall=1.5)
    code, said = staged.run()
    assert code == exits.LEG_FAILED, said
    assert staged.result().reason is Reason.SETUP_STALLED


def test_an_agent_that_is_not_there_is_said_before_any_turn(tmp_path: Path) -> None:
    plan = agent_leg(agent=AgentPlan("claude", None, {"executable": "/no/such/claude"}))
    staged = stage(tmp_path, plan)
    code, said = staged.run()
    assert code == exits.LEG_FAILED, said
    assert staged.result().reason is Reason.AGENT_UNAVAILABLE
    assert staged.result().turns == 0
