"""`gate plan` and `gate schema` as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gate.cli import run
from tests.plan.build import AGENT, COMMAND, write

SKETCH = Path(__file__).parent.parent / "plan" / "data" / "sketch" / "gate.yaml"
REFERENCE = SKETCH.parent.parent / "reference" / "gate.yaml"


def test_a_plan_shows_legs_artifact_and_ladder(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--config", str(SKETCH)]) == 0
    shown = capsys.readouterr().out
    for word in ("gate tune · version 1.2.3 · full", "tune-1.2.3-py3-none-any.whl", "sort", "poll deadline", "░"):
        assert word in shown


def test_a_plan_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--config", str(SKETCH), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["plan"]["format"] == "gate.plan"
    assert shown["plan"]["legs"][0]["id"] == "sort"
    assert all(step["holds"] for step in shown["ladder"])


def test_prompts_are_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "-c", str(REFERENCE), "--legs", "docker-*-3h", "--prompts"]) == 0
    shown = capsys.readouterr().out
    assert "GATE-SETUP-COMPLETE pre-release/docker-vllm-3h" in shown
    assert "--target-gain 100" in shown
    assert "cannot run" not in shown


def test_a_broken_ladder_is_shown_and_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, COMMAND + "budgets: {job: 20m}\n")
    assert run(["plan", "-c", str(path)]) == 2
    shown = capsys.readouterr()
    assert "✗" in shown.out
    assert "smallest change: raise budgets.job to" in shown.err


def test_a_workflow_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workflow = tmp_path / "gate.yml"
    workflow.write_text("jobs: {gate: {timeout-minutes: 30, steps: [{run: exec gate run}]}}\n")
    path = write(tmp_path, COMMAND)
    assert run(["plan", "-c", str(path), "--workflow", str(workflow)]) == 2
    assert "raise jobs.gate.timeout-minutes to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (COMMAND + "buget: 1\n", "did you mean 'budgets'?"),
        (AGENT.replace("Set it up.", "'{{ nope }} x'"), "'nope' is undefined"),
        (COMMAND + "workloads: {w: {legs: a, resources: {privileged: true}}}\n", "needs a privileged container"),
    ],
)
def test_what_is_wrong_exits_2(tmp_path: Path, text: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "-c", str(write(tmp_path, text))]) == 2
    assert says in capsys.readouterr().err


def test_without_a_file_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["plan"]) == 2
    assert "gate.yaml: no such file" in capsys.readouterr().err


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATE_STATE_DIR", str(tmp_path / "state"))
    folder = tmp_path / "g"
    folder.mkdir()
    path = write(folder, COMMAND)
    assert run(["plan", "-c", str(path)]) == 0
    assert sorted(tmp_path.rglob("*")) == [folder, path]


def test_the_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "gate.yaml"
