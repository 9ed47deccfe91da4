"""A real poller, killed with SIGKILL at random points and started again, comes to the same verdicts."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest

from gate import documents
from gate.rundir import journal, layout
from gate.rundir.formats import Decision, Pointer
from tests.dispatch.fake_engine import FolderEngine
from tests.poll.test_cancelling import prepare
from tests.poll.worlds import TAG


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "tests.poll.process", str(folder)])


def finish(folder: Path, leg: str, *, ok: bool, done: bool = True) -> None:
    """What a workload writes when its leg finishes (or, not `done`, while it runs), and what the engine says then."""
    home = folder / "run" / layout.incarnation(leg, TAG, "1-x")
    (home / "session/run").mkdir(parents=True, exist_ok=True)
    phase: Literal["ended", "wait"] = "ended" if done else "wait"
    pointer = Pointer(leg, TAG, "1-x", 1, phase, "session/run/state.json", 1, 0, 0, 0, 0.0, None, None, 0.0)
    (home / "session/run/state.json").write_text(json.dumps({"done": done, "ok": ok}))
    (home / ".tmp").write_bytes(documents.dump(pointer))
    (home / ".tmp").rename(home / "pointer.json")
    FolderEngine(folder / "engine").change(f"id-{leg}", phase="Succeeded" if done else "Running")


def wait_until_it_polls(folder: Path, child: subprocess.Popen[bytes]) -> None:
    """Until the lease names this process: how long its imports take says how busy the machine is, and nothing else."""
    lease, ends = folder / "run" / layout.LEASE, time.monotonic() + 30
    while child.poll() is None and time.monotonic() < ends:
        with suppress(FileNotFoundError):  # not yet, or not any more
            if json.loads(lease.read_bytes())["pid"] == child.pid:
                return
        time.sleep(0.002)
    assert child.poll() is not None, "it never began to poll"


def verdicts(folder: Path) -> dict[str, tuple[str, str, bytes]]:
    found = {}
    for path in (folder / "run/gate/verdicts" / TAG).glob("*.json"):
        body = json.loads(path.read_bytes())
        found[body["leg"]] = (body["outcome"], body["reason"], path.read_bytes())
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_at_random_points_it_comes_to_the_same_verdicts(tmp_path: Path, seed: int) -> None:
    prepare(tmp_path)
    dice = random.Random(seed)
    seen: dict[str, tuple[str, str, bytes]] = {}
    code: int | None = None
    for life in range(40):
        child = start(tmp_path)
        if life == 3:
            finish(tmp_path, "a", ok=True)
        if life == 5:
            finish(tmp_path, "b", ok=False)
        wait_until_it_polls(tmp_path, child)
        ends = time.monotonic() + (30 if life > 7 else dice.random() * 0.3)
        while child.poll() is None and time.monotonic() < ends:
            time.sleep(0.005)
        if child.poll() is None:
            os.kill(child.pid, signal.SIGKILL)
        code = child.wait(10)
        now = verdicts(tmp_path)
        assert all(now[leg] == was for leg, was in seen.items()), "a restart changed a written verdict"
        seen = now
        if code >= 0:
            break
    assert code == 1
    assert {leg: row[:2] for leg, row in seen.items()} == {
        "a": ("PASS", "criteria_met"),
        "b": ("FAIL", "not_accepted"),
    }
    raw = (tmp_path / "run" / layout.decision(TAG)).read_bytes()
    assert documents.load(Decision, raw, "decision").exit_code == 1
    whole = (tmp_path / "run" / layout.observations(TAG)).read_bytes()
    assert len(list(journal.values(whole, "observations"))) > 3
    assert FolderEngine(tmp_path / "engine").live() == []
    assert not list((tmp_path / "run/gate").glob("lease.json"))


def test_two_pollers_at_once_exactly_one_decides(tmp_path: Path) -> None:
    """Each takes over from the other until one of them wins; every verdict has one author."""
    prepare(tmp_path)
    children = [start(tmp_path) for _ in range(3)]
    time.sleep(1.5)
    finish(tmp_path, "a", ok=True)
    finish(tmp_path, "b", ok=True)
    codes = sorted(child.wait(20) for child in children)
    assert codes[0] == 0
    assert set(codes[1:]) <= {0, 1}  # an uncaught RunHeld of the bare process; `gate poll` makes it exit code 2
    assert {leg: row[:2] for leg, row in verdicts(tmp_path).items()} == {
        "a": ("PASS", "criteria_met"),
        "b": ("PASS", "criteria_met"),
    }
