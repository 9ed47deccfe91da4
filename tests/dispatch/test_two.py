"""Two dispatchers of one run at once, as real processes on one run directory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.dispatch.fake_engine import FolderEngine


class Place:
    """A run directory and an engine that outlive processes."""

    def __init__(self, folder: Path) -> None:
        self.run_dir = folder / "run"
        self.workloads = folder / "engine"
        self.run_dir.mkdir()
        self.workloads.mkdir()
        self.started: list[subprocess.Popen[str]] = []

    def start(self, seconds: float) -> subprocess.Popen[str]:
        command = [
            sys.executable,
            "-m",
            "tests.dispatch.dispatcher",
            str(self.run_dir),
            str(self.workloads),
            str(seconds),
        ]
        self.started.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return self.started[-1]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(autouse=True)
def none_left(place: Place) -> object:
    yield
    for process in place.started:
        process.kill()
        process.communicate()


def test_exactly_one_proceeds_and_the_other_is_told_who_holds_the_run(place: Place) -> None:
    both = [place.start(2.5), place.start(2.5)]
    ends = sorted(process.communicate(timeout=60)[0].splitlines()[-1] for process in both)
    assert ends == ["done", "held"]
    assert len(FolderEngine(place.workloads).live()) == 1


def test_one_that_was_killed_is_waited_for_and_then_its_work_goes_on(place: Place) -> None:
    first = place.start(60)
    assert first.stdout is not None
    assert first.stdout.readline() == "creating\n"
    first.kill()
    lines = place.start(0).communicate(timeout=60)[0].splitlines()
    assert lines[0].startswith("run r1 was last held by 'gate dispatch'")
    assert lines[-1] == "done"
    assert len(FolderEngine(place.workloads).live()) == 1
