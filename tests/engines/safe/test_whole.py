"""The whole gate over a real socket: dispatch, supervisor, bootstrap, poll and reap against the fake server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gate.testing.safe.app import Safe
from gate.testing.safe.pods import RealPods, processes
from gate.testing.safe.serve import served
from gate.testing.safe.switches import KEY, Fault, Switches

SECRET = "a-secret-of-the-legs-alone"
JUDGE = "judge: {finished: {done: true}, pass: {how: [well]}}"
WRITES = """
import json, os, pathlib
here = pathlib.Path(os.environ["GATE_STATE_FILE"])
here.parent.mkdir(parents=True, exist_ok=True)
here.write_text(json.dumps({"done": True, "how": "well" if os.environ["LEG_KEY"].startswith("a-secret") else "badly"}))
"""


def config(url: str, legs: str, more: str = "") -> str:
    return f"""
version: 1
gate: demo
artifact: none
root: runs
engine:
  {{kind: safe, url: "{url}", workspace: ws, api_key: SAFE_KEY, image: img, list_lag: 500ms, python: {sys.executable}}}
secrets: {{SAFE_KEY: {{env: SAFE_KEY}}, LEG_KEY: {{env: LEG_KEY}}}}
keep_on_fail: 0
budgets: {{interval: 200ms, queue: 20s}}
{JUDGE}
legs:
{legs}
workloads:
  all: {{legs: "*", resources: {{cpus: 1, memory: 1Gi}}}}
{more}
"""


class Place:
    """A folder with a gate.yaml, and a server."""

    def __init__(self, path: Path, safe: Safe, url: str) -> None:
        self.path, self.safe, self.url = path, safe, url
        self.env = {**os.environ, "GATE_STATE_DIR": str(path / "state"), "SAFE_KEY": KEY, "LEG_KEY": SECRET}

    def write(self, legs: str, more: str = "") -> None:
        (self.path / "gate.yaml").write_text(config(self.url, legs, more), encoding="utf-8")
        (self.path / "leg.py").write_text(WRITES, encoding="utf-8")

    def gate(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gate", *words]
        return subprocess.run(
            command, cwd=self.path, env=self.env, capture_output=True, text=True, timeout=90, check=False
        )

    def verdicts(self) -> dict[str, tuple[str, str]]:
        found = self.path.glob("runs/*/demo/runs/*/gate/verdicts/*/*.json")
        bodies: dict[str, Any] = {each.stem: json.loads(each.read_text()) for each in found}
        return {leg: (body["outcome"], body["reason"]) for leg, body in bodies.items()}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Nothing is left alive, by the server's word and by this machine's."""
    safe = Safe(Switches(lag=0.2, late_code=0.3), RealPods(tmp_path / "pods"))
    path = tmp_path / "project"
    path.mkdir()
    with served(safe) as url:
        yield Place(path, safe, url)
        assert safe.live() == []
        assert [each for id_ in safe.jobs for each in processes(id_)] == []
        assert safe.secrets == {}


PASSING = "  {name}: {{run: python3 leg.py, files: [leg.py], secrets: [LEG_KEY], budget: 1m}}\n"


def test_a_gate_passes_and_its_secrets_stand_nowhere(place: Place) -> None:
    place.write(PASSING.format(name="a") + PASSING.format(name="b"))
    done = place.gate("run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert place.verdicts() == {"a": ("PASS", "criteria_met"), "b": ("PASS", "criteria_met")}
    written = [each for each in place.path.rglob("*") if each.is_file()]
    assert not [each for each in written if SECRET.encode() in each.read_bytes() or KEY.encode() in each.read_bytes()]
    shown = json.dumps([job.rows[-1][1] for job in place.safe.jobs.values()])
    assert SECRET not in shown
    assert KEY not in shown


def test_an_answer_that_was_lost_makes_no_second_workload(place: Place) -> None:
    place.write(PASSING.format(name="a"))
    place.safe.fail(Fault("reset_after", "POST", "/api/v1/workloads"))
    done = place.gate("run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(place.safe.jobs) == 1


def test_bad_answers_in_between_change_no_verdict(place: Place) -> None:
    place.write("  a: {run: sleep 2 && python3 leg.py, files: [leg.py], secrets: [LEG_KEY], budget: 1m}\n")
    dispatched = place.gate("dispatch", "--run", "r1")
    assert dispatched.returncode == 0, dispatched.stdout + dispatched.stderr
    place.safe.fail(Fault("html", "GET", times=2), Fault("empty", "GET"), Fault("unauthorized", "GET", times=3))
    done = place.gate("poll", "r1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert place.verdicts() == {"a": ("PASS", "criteria_met")}


def test_what_never_starts_ends_with_its_queue_budget_and_is_stopped(place: Place) -> None:
    place.safe.switches.unpullable = frozenset({"img"})
    place.write("  a: {run: 'true', budget: 10s}\n")
    text = (place.path / "gate.yaml").read_text().replace("queue: 20s", "queue: 1s")
    (place.path / "gate.yaml").write_text(text)
    done = place.gate("run")
    assert done.returncode == 3, done.stdout + done.stderr
    assert place.verdicts()["a"][0] == "ERROR"
    assert "placed; its pod is starting" in done.stdout + done.stderr


def test_a_refusal_says_the_servers_words_and_reaps_nothing(place: Place) -> None:
    place.safe.switches.scopes_train = False
    place.write(PASSING.format(name="a"))
    done = place.gate("run")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "The workspace does not allow Train" in done.stdout + done.stderr
    assert not [call for call in place.safe.calls if call.path.endswith("/stop")]


def test_reap_ends_what_a_dispatcher_left(place: Place) -> None:
    place.write("  a: {run: sleep 100, secrets: [LEG_KEY], budget: 2m}\n")
    assert place.gate("dispatch", "--run", "r1").returncode == 0
    assert len(place.safe.live()) == 1
    done = place.gate("reap", "--run", "r1")
    assert done.returncode == 0, done.stdout + done.stderr


def test_legs_of_a_shared_workload_find_their_own_card_and_no_other(place: Place) -> None:
    leg = """  {name}:
    run: |
      env | grep -q GATE_LEG_ && env | grep GATE_LEG_ | grep -qv GATE_LEG_ROOT && exit 1
      echo "$GATE_CONTAINER_DEVICES" > "$HOME_OF_TEST/{name}"
      python3 leg.py
    files: [leg.py]
    secrets: [LEG_KEY]
    budget: 1m
    env: {{HOME_OF_TEST: "{home}"}}
"""
    place.write("".join(leg.format(name=name, home=place.path) for name in ("a", "b")))
    text = (place.path / "gate.yaml").read_text()
    shared = 'legs: "*", shared: true, resources: {cpus: 2, memory: 2Gi, gpus: 2, privileged: true}'
    text = text.replace('legs: "*", resources: {cpus: 1, memory: 1Gi}', shared)
    (place.path / "gate.yaml").write_text(text)
    done = place.gate("run")
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(place.safe.jobs) == 1
    found = [(place.path / name).read_text().strip() for name in ("a", "b")]
    assert found == ["/dev/kfd /dev/dri/renderD128", "/dev/kfd /dev/dri/renderD136"]
