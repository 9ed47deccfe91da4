"""`gate campaign` as people call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gate import cli
from gate.campaign.case import Case, check
from gate.campaign.watchdog import Endless, watched
from gate.documents import load
from gate.errors import EXIT_PASSED, EXIT_REMAINS, EXIT_USAGE
from tests.campaign.mutants import MUTANTS


def test_a_clean_campaign_says_what_was_played(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["campaign", "-n", "12", "--seed", "3", "--workers", "1"]) == EXIT_PASSED
    shown = capsys.readouterr().out
    assert "12 gates" in shown
    assert "seed 3" in shown
    assert "no promise was broken" in shown


def test_the_summary_for_programs_is_the_same_for_a_seed(capsys: pytest.CaptureFixture[str]) -> None:
    def summary() -> dict[str, object]:
        assert cli.run(["campaign", "-n", "12", "--seed", "3", "--workers", "1", "--json"]) == EXIT_PASSED
        found: dict[str, object] = json.loads(capsys.readouterr().out)
        return {key: value for key, value in found.items() if key not in ("seconds", "gates_per_minute")}

    assert summary() == summary()


def test_a_broken_promise_is_shrunk_written_down_and_played_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with MUTANTS["ignore_a_limit"].alive():
        code = cli.run(["campaign", "-n", "40", "--seed", "11", "--workers", "1", "--out", str(tmp_path)])
        assert code == EXIT_REMAINS
        (path,) = tmp_path.glob("campaign-11-*.json")
        case = load(Case, path.read_bytes(), path.name)
        assert [violation.invariant for violation in check(case).violations] == ["evidence"] * len(case.said)
    shown = capsys.readouterr().out
    assert f"play it again: gate simulate {path}" in shown
    assert case.said
    assert len(case.scenario.faults) <= 1, "what does not matter is left out"
    assert check(case).violations == (), "mended, it breaks nothing"
    assert cli.run(["simulate", str(path)]) in (EXIT_PASSED, EXIT_REMAINS)
    assert "leg-" in capsys.readouterr().out


def test_no_gates_are_no_campaign() -> None:
    assert cli.run(["campaign", "-n", "0"]) == EXIT_USAGE


def test_a_core_that_crashes_breaks_a_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_args: object, **_more: object) -> None:
        raise AssertionError("what nobody expected")

    monkeypatch.setattr("gate.poll.driver.rules_of", broken)
    code = cli.run(["campaign", "-n", "3", "--seed", "3", "--workers", "1", "--out", str(tmp_path), "--keep-going"])
    assert code == EXIT_REMAINS
    assert "no-crash: AssertionError: what nobody expected" in capsys.readouterr().out


def test_a_play_that_goes_round_in_circles_is_ended() -> None:
    def circles() -> None:
        with watched(0.2):
            while True:
                pass

    with pytest.raises(Endless):
        circles()
