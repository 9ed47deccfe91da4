"""Campaigns: the promises hold, for a seed always the same, on any number of processes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gate.campaign import campaign as module
from gate.campaign.campaign import Gate, Tally, campaign, play_one
from gate.campaign.case import Case, case_of, check
from gate.campaign.violation import Violation
from gate.documents import dump, load

SEED = 3


def test_a_small_campaign_breaks_no_promise() -> None:
    tally = campaign(SEED, 150, keep_going=True)

    assert tally.gates == 150
    assert [(gate.number, str(one)) for gate in tally.broken for one in gate.violations] == []
    assert tally.words["GO"] > 0
    assert tally.words["NO-GO"] > 0
    assert tally.words["NOT MEASURED"] > 0
    assert len(tally.struck) > 30
    assert tally.second > 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_large_campaign_breaks_no_promise() -> None:
    tally = campaign(SEED + 1, 6000, workers=2, keep_going=True)

    assert [(gate.number, str(one)) for gate in tally.broken for one in gate.violations] == []


def _without_cost(gate: Gate) -> Gate:
    return replace(gate, cpu=0.0)


def test_a_gate_is_the_same_whenever_it_is_played() -> None:
    numbers = (0, 3, 11)
    once = [_without_cost(play_one(SEED, number)) for number in numbers]
    again = [_without_cost(play_one(SEED, number)) for number in reversed(numbers)]

    assert once == again[::-1]


def test_two_plays_of_a_case_agree_in_everything() -> None:
    case = case_of(SEED, 5)

    assert check(case).played == check(case).played


def test_another_seed_plays_other_gates() -> None:
    assert case_of(SEED, 0) != case_of(SEED + 1, 0)
    assert case_of(SEED, 0) != case_of(SEED, 1)


def test_the_number_of_processes_changes_nothing() -> None:
    def summary(tally: Tally) -> object:
        return tally.gates, tally.words, tally.struck, round(tally.hours, 6)

    assert summary(campaign(SEED, 30, workers=2)) == summary(campaign(SEED, 30))


@pytest.mark.parametrize(("keep_going", "gates", "broken"), [(False, 4, 1), (True, 10, 3)])
def test_it_stops_at_the_first_broken_promise_unless_asked(
    monkeypatch: pytest.MonkeyPatch, keep_going: bool, gates: int, broken: int
) -> None:
    def play(seed: int, number: int) -> Gate:
        found = (Violation("evidence", f"{seed}"),) if number % 3 == 0 and number else ()
        return Gate(number, found, (), (), 0.0, second=False, cpu=0.0)

    monkeypatch.setattr(module, "play_one", play)

    tally = campaign(1, 10, keep_going=keep_going)

    assert (tally.gates, len(tally.broken)) == (gates, broken)


def test_a_case_survives_its_file(tmp_path: Path) -> None:
    for number in range(60):
        case = case_of(SEED, number)
        path = tmp_path / "case.json"
        path.write_bytes(dump(case))
        assert load(Case, path.read_bytes(), "case.json") == case
