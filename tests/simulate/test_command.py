"""`gate simulate`, `gate schema scenario`: as people type them."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gate import documents
from gate.campaign.case import Case
from gate.simulate.menu import MENU
from gate.simulate.scenario import Fault, Scenario
from tests.simulate.gates import CONFIG, DURATIONS, REFERENCE, small

GATE = [sys.executable, "-m", "gate"]
BARE = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "COLUMNS": "100"}
"""No key, no secret, no proxy, no home."""


def gate(*words: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run it in a bare environment, away from any run directory."""
    return subprocess.run(
        [*GATE, *map(str, words)], cwd=folder, env=BARE, capture_output=True, text=True, check=False, timeout=60
    )


def test_a_gate_that_passes_exits_0_and_shows_lanes_timeline_and_ladder() -> None:
    done = gate("simulate", CONFIG, "--seed", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(" GO  all 2 blocking legs passed\n")
    assert "seed 3" in done.stdout
    for part in (
        "runs, after",
        "set-up turn 1",
        "first state file",
        "PASS criteria_met",
        "ladder",
        "workload time-out",
    ):
        assert part in done.stdout


def test_one_that_does_not_pass_exits_6_and_never_1() -> None:
    done = gate("simulate", CONFIG, "--fault", "oom@30m:legs=agent", "--json")
    assert done.returncode == 6, done.stderr
    body = json.loads(done.stdout)
    assert body["decision"]["word"] == "NOT MEASURED"
    assert body["struck"][0]["fault"] == "oom"


def test_it_needs_neither_artifact_nor_secret_nor_network(tmp_path: Path) -> None:
    folder = tmp_path / "product"
    shutil.copytree(REFERENCE.parent, folder)
    shutil.rmtree(folder / "dist")
    (folder / "pyproject.toml").unlink()
    done = gate("simulate", folder=folder)
    assert done.returncode == 0, done.stderr
    assert "the artifact is not there: something stands in for it" in done.stderr
    assert "GO  all 8 blocking legs passed" in done.stdout


def test_what_is_wrong_with_the_gate_is_said_and_nothing_is_played(tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text("version: 1\ngate: x\nlegs: {a: {run: true, budgte: 5m}}\n")
    done = gate("simulate", folder=tmp_path)
    assert done.returncode == 2
    assert "budgte" in done.stderr
    assert done.stdout == ""


def test_some_legs_only() -> None:
    done = gate("simulate", CONFIG, "--legs", "command")
    assert done.returncode == 0, done.stderr
    assert "PASSED" in done.stdout
    assert "agent" not in done.stdout


def test_a_scenario_file_and_more_faults_together(tmp_path: Path) -> None:
    path = tmp_path / "scenario.yaml"
    path.write_text("version: 1\nlegs: {agent: {result: fail}}\nfaults: [{fault: turn_early}]\n")
    done = gate("simulate", CONFIG, "--scenario", path, "--fault", "kill_poller@30m", "--json")
    body = json.loads(done.stdout)
    assert body["decision"]["word"] == "NO-GO"
    assert {each["fault"] for each in body["struck"]} == {"turn_early", "kill_poller"}


def test_a_scenario_with_faults_of_its_own_says_where() -> None:
    done = gate("simulate", CONFIG, "--fault", "omo@3h")
    assert done.returncode == 2
    assert "did you mean 'oom'?" in done.stderr
    assert "--menu" in done.stderr


def test_a_gate_that_a_campaign_wrote_down_is_played_again(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    scenario = Scenario(durations=DURATIONS, faults=(Fault("oom", at=2000.0, legs=("agent",)),))
    path.write_bytes(documents.dump(Case(small(), scenario, 5, ("something",))))
    done = gate("simulate", path, "--json")
    assert done.returncode == 6, done.stderr
    body = json.loads(done.stdout)
    assert body["seed"] == 5
    assert body["attempts"][0]["verdicts"][0]["reason"] == "out_of_memory"


def test_a_case_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = gate("simulate", tmp_path / "nothing.json")
    assert done.returncode == 2
    assert "nothing.json: cannot be read" in done.stderr


def test_the_menu_lists_every_fault() -> None:
    done = gate("simulate", "--menu")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(MENU)


def test_the_picture_is_one_page(tmp_path: Path) -> None:
    path = tmp_path / "gate.html"
    done = gate("simulate", CONFIG, "--html", path)
    assert done.returncode == 0, done.stderr
    page = path.read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "simulat" in page.lower()


def test_both_schemas_are_printed() -> None:
    assert json.loads(gate("schema").stdout)["title"] == "gate.yaml"
    schema = json.loads(gate("schema", "scenario").stdout)
    assert schema["title"] == "scenario.yaml"
    assert "oom" in schema["$defs"]["FaultPart"]["properties"]["fault"]["enum"]


def test_nothing_is_written_anywhere(tmp_path: Path) -> None:
    shutil.copytree(CONFIG.parent, tmp_path / "product")
    before = sorted(tmp_path.rglob("*"))
    done = gate("simulate", folder=tmp_path / "product")
    assert done.returncode == 0, done.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("rate", ["0", "-5"])
def test_a_rate_that_is_none_is_refused(rate: str) -> None:
    done = gate("simulate", CONFIG, "--rate", rate)
    assert done.returncode == 2
    assert "--rate" in done.stderr


def test_it_can_be_watched_as_lines_at_a_rate() -> None:
    done = gate("simulate", CONFIG, "--rate", "2000", "--seed", "1")
    assert done.returncode == 0, done.stderr
    before, _, after = done.stdout.partition(" GO  all 2 blocking legs passed")
    assert "leg agent: set-up" in before or "set-up" in before
    assert "ladder" in after


def test_it_can_be_watched_on_the_board_of_a_terminal() -> None:
    master, slave = pty.openpty()
    words = [*GATE, "simulate", str(CONFIG), "--rate", "3000"]
    with subprocess.Popen(words, stdout=slave, stderr=slave, env={**BARE, "TERM": "xterm", "LINES": "40"}) as process:
        os.close(slave)
        screen = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # the terminal is closed with its last writer
                break
            if not piece:
                break
            screen += piece
        code = process.wait()
    os.close(master)
    assert code == 0
    assert b"\x1b[?25l" in screen  # the board hides the cursor while it is live
    assert screen.rindex(b"\x1b[?25h") > screen.rindex(b"\x1b[?25l")
    assert b"ladder" in screen


def test_watching_ends_with_ctrl_c() -> None:
    words = [*GATE, "simulate", str(CONFIG), "--rate", "50"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=BARE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in complaints
