"""The dispatcher, killed with a real SIGKILL before and after everything it does."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest


@pytest.fixture(scope="module")
def instants(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("killed")
    done = subprocess.run(
        [sys.executable, "-m", "tests.dispatch.killed", str(folder)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_it_was_killed_at_every_instant_and_then_once_not_at_all(instants: list[dict[str, Any]]) -> None:
    assert [one["killed"] for one in instants] == [True] * (len(instants) - 1) + [False]
    assert len(instants) > 20, "before and after each of at least ten effects"


def test_run_again_it_leaves_exactly_one_workload_a_leg(instants: list[dict[str, Any]]) -> None:
    for one in instants:
        assert one["again"] == 0, one
        assert [name.split("-")[1] for name in one["live"]] == ["a", "b"], one


def test_run_again_it_continues_the_same_attempt(instants: list[dict[str, Any]]) -> None:
    assert {one["attempts"] for one in instants} == {1}


def test_k8s_sandbox_81_a_crash_between_the_create_and_its_id_is_reaped_by_tag(instants: list[dict[str, Any]]) -> None:
    for one in instants:
        assert one["reap"] == 0, one
        assert one["left"] == [], one
