"""What campaigns found, shrunk and kept: each broke a promise once, in a core or because the promise was told wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.campaign.case import Case, check
from gate.documents import load

DATA = Path(__file__).parent / "data"
FOUND = {
    "lost-from-sight-then-ended": "its absence counted from when the engine had lost sight of it, and it ended later",
    "create-twice-incomplete-lists": "all that is recorded was gone, and the twin hid behind lists that lack some",
    "create-twice-lagging-lists": "the same behind lists that lag",
    "death-while-root-hangs": "what a dead poller could not see is not charged to the next one either",
    "deaths-and-dice": "a second call at the same time took the dice of the first",
    "deaths-and-order-of-tasks": "a world without deaths played its tasks in another order",
    "slow-answers-that-all-came": "no single answer was late, and all that one look takes was",
    "death-on-a-full-disk": "what a poller saw and could not write down died with it",
    "outage-across-a-death": "an outage goes on while nobody polls",
    "started-and-sent-back-between-looks": "it was said never to have started, and the engine said that it had",
    "kept-one-of-the-attempt-before-goes-on": "the state file of an earlier attempt changed, that of this one did not",
    "listed-nowhere-and-asked-in-vain": "a list that lacks it shows nothing of it, and the question by its id failed",
}
"""File to what was wrong."""


def test_every_file_is_told_of() -> None:
    assert {path.stem for path in DATA.glob("*.json")} == set(FOUND)


@pytest.mark.parametrize("name", sorted(FOUND))
def test_it_breaks_no_promise_any_more(name: str) -> None:
    path = DATA / f"{name}.json"
    case = load(Case, path.read_bytes(), path.name)

    assert case.said, "it was found for something"
    assert [str(violation) for violation in check(case).violations] == []
