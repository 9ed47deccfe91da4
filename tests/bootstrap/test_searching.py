"""A large session is not walked at every look, and never where what is seen decides something."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.bootstrap import searching
from gate.bootstrap.searching import LONGEST, SHARE, StateSearch
from gate.rundir.statefile import Found, find_states

GLOBS = ("session/**/state.json",)


class Clock:
    """A walk takes `walk` seconds on it."""

    def __init__(self) -> None:
        self.now = 100.0
        self.walk = 0.0
        self.walks = 0

    def __call__(self) -> float:
        return self.now

    def find(self, base: Path, globs: tuple[str, ...]) -> Found:
        self.walks += 1
        self.now += self.walk
        return find_states(base, globs)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(searching, "find_states", made.find)
    return made


def state(base: Path, name: str) -> None:
    (base / "session" / name).mkdir(parents=True)
    (base / "session" / name / "state.json").write_text("{}")


def test_a_cheap_walk_is_made_at_every_look(tmp_path: Path, clock: Clock) -> None:
    search = StateSearch(GLOBS, clock)
    assert search.find(tmp_path, fresh=False).counting == ()
    state(tmp_path, "a")
    assert search.find(tmp_path, fresh=False).counting == ("session/a/state.json",)
    assert clock.walks == 2


def test_a_dear_walk_is_repeated_once_it_has_been_paid_for(tmp_path: Path, clock: Clock) -> None:
    clock.walk = 2.0
    search = StateSearch(GLOBS, clock)
    search.find(tmp_path, fresh=False)
    state(tmp_path, "a")

    clock.now += 2.0 * SHARE - 1.0
    assert search.find(tmp_path, fresh=False).counting == ()
    clock.now += 1.0
    assert search.find(tmp_path, fresh=False).counting == ("session/a/state.json",)
    assert clock.walks == 2


def test_no_walk_is_so_dear_that_a_state_file_waits_for_long(tmp_path: Path, clock: Clock) -> None:
    clock.walk = 600.0
    search = StateSearch(GLOBS, clock)
    search.find(tmp_path, fresh=False)
    state(tmp_path, "a")
    clock.now += LONGEST
    assert search.find(tmp_path, fresh=False).counting == ("session/a/state.json",)


def test_what_decides_something_is_looked_up_now(tmp_path: Path, clock: Clock) -> None:
    clock.walk = 2.0
    search = StateSearch(GLOBS, clock)
    search.find(tmp_path, fresh=False)
    state(tmp_path, "a")
    assert search.find(tmp_path, fresh=True).counting == ("session/a/state.json",)
