"""Every deliberately broken core is found: a campaign that lets one live checks too little, or meets too little."""

from __future__ import annotations

import statistics

import pytest

from gate.campaign.campaign import campaign
from tests.campaign.mutants import MUTANTS

SEED = 11
AT_MOST = 2000
MEDIAN = 200
RARE = {
    "charge_blind_time_as_silence",
    "charge_turns_as_stall",
    "not_listed_is_gone",
    "skip_the_list_lag",
    "forget_the_intent",
    "say_nothing_of_survivors",
    "an_engine_that_rejects_us_has_nothing_left",
    "ignore_the_poll_deadline",
}
"""Those that take some hundred gates: what they do wrong matters in rare company only."""


def found_after(name: str) -> int:
    """Gates until a promise is broken; one more than all where none is."""
    with MUTANTS[name].alive():
        tally = campaign(SEED, AT_MOST)
    return tally.gates if tally.broken else AT_MOST + 1


def test_there_are_enough_mutants() -> None:
    assert len(MUTANTS) >= 18
    assert set(MUTANTS) >= RARE


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", sorted(set(MUTANTS) - RARE))
def test_a_campaign_finds(name: str) -> None:
    assert found_after(name) <= AT_MOST


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_campaign_finds_every_mutant_and_half_of_them_soon() -> None:
    found = {name: found_after(name) for name in MUTANTS}

    assert {name: gates for name, gates in found.items() if gates > AT_MOST} == {}
    assert statistics.median(found.values()) < MEDIAN
