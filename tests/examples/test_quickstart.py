"""The quickstart, by following its README literally."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.examples.tree import Tree, commands, exit_codes, make_tree

README = Path("examples/quickstart/README.md")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A newcomer's copy of the repository."""
    return make_tree(tmp_path_factory.mktemp("quickstart"))


@pytest.fixture(scope="module")
def followed(tree: Tree) -> subprocess.CompletedProcess[str]:
    """What the README's commands print, one after the other."""
    return tree.run(commands(tree.path / README))


def records(tree: Tree, gate: str, kind: str) -> dict[str, dict[str, Any]]:
    """The run directory's JSON records of one kind, by file name."""
    found = (tree.path / "home/state/runs").glob(f"*/{gate}/runs/*/gate/{kind}/*/*.json")
    return {path.stem: json.loads(path.read_text()) for path in found}


def pointers(tree: Tree, leg: str) -> list[dict[str, Any]]:
    """The session pointers of one leg of the first gate."""
    found = (tree.path / "home/state/runs").glob(f"*/quickstart/runs/*/legs/{leg}/*/*/pointer.json")
    return [json.loads(path.read_text()) for path in found]


def test_the_gates_end_as_the_readme_says(tree: Tree, followed: subprocess.CompletedProcess[str]) -> None:
    assert re.findall(r"^\d+$", followed.stdout, re.MULTILINE) == exit_codes(tree.path / README), followed.stderr
    assert followed.returncode == 0, followed.stderr


@pytest.mark.usefixtures("followed")
def test_each_leg_has_the_verdict_that_the_readme_names(tree: Tree) -> None:
    verdicts = records(tree, "quickstart", "verdicts")
    assert {leg: (body["outcome"], body["reason"]) for leg, body in verdicts.items()} == {
        "direct": ("PASS", "criteria_met"),
        "patient": ("PASS", "criteria_met"),
        "sort": ("PASS", "criteria_met"),
        "weight": ("FAIL", "limit_exceeded"),
    }
    failing = records(tree, "quickstart-fail", "verdicts")
    assert {leg: body["reason"] for leg, body in failing.items()} == {"weight": "limit_exceeded", "sort": "fail_fast"}


@pytest.mark.usefixtures("followed")
def test_the_patient_agent_is_resumed_after_two_early_ends(tree: Tree) -> None:
    (direct,), (patient,) = pointers(tree, "direct"), pointers(tree, "patient")
    assert (direct["turns"], patient["turns"]) == (2, 4)
    assert patient["recaps"] == 0


@pytest.mark.usefixtures("followed")
def test_the_failing_gate_says_why(tree: Tree, followed: subprocess.CompletedProcess[str]) -> None:
    sentence = records(tree, "quickstart-fail", "verdicts")["weight"]["sentence"]
    assert "above the limit of 50" in sentence
    assert sentence in followed.stdout


@pytest.mark.usefixtures("followed")
def test_nothing_is_left(tree: Tree) -> None:
    for gate in ("quickstart", "quickstart-fail"):
        assert {entry["stage"] for entry in records(tree, gate, "workloads").values()} == {"seen_gone"}
    for name in ("gate.yaml", "gate-fail.yaml"):
        assert "Nothing" in tree.gate("reap", "--stale", "-c", f"examples/quickstart/{name}")
