"""Durations, sizes, times and foreign text as the page writes them."""

from __future__ import annotations

import pytest
from rich.text import Text

from gate.report.html.texts import all_shown, pieces, short, shown, size, utc

DURATIONS = {
    0: "0s",
    0.04: "0s",
    0.4: "0.4s",
    1: "1s",
    9.94: "9.9s",
    9.96: "10s",
    45: "45s",
    59.6: "1m",
    60: "1m",
    725: "12m 5s",
    3599.7: "1h",
    4920: "1h 22m",
    4979: "1h 22m",
    86399: "23h 59m",
    86400: "1d",
    183600: "2d 3h",
    -90: "-1m 30s",
}
"""Seconds to what is shown; the browser test puts the same to the script's twin."""


@pytest.mark.parametrize(("seconds", "words"), DURATIONS.items())
def test_durations_read_in_two_units(seconds: float, words: str) -> None:
    assert short(seconds) == words


def test_sizes_and_times() -> None:
    assert [size(17), size(422582), size(42258200)] == ["17 bytes", "412.7 KiB", "40.3 MiB"]
    assert utc(1_796_000_000) == "2026-11-30 00:53:20 UTC"


def test_what_could_turn_text_round_or_hide_it_is_visible_and_lines_stay() -> None:
    assert shown("a\u202eb\x1b[31m\x07\nc\td\u2028e\ud800") == "a\\u202eb\\x1b[31m\\x07\nc\td\\u2028e\\ud800"
    assert all_shown({"k\u202e": ["\x00", 1, None, {"x": "\u2066"}]}) == {
        "k\\u202e": ["\\x00", 1, None, {"x": "\\u2066"}]
    }


def test_pieces_are_the_text_and_nothing_but_the_text() -> None:
    text = Text("plain ").append("bold", "bold red").append(" then ").append_text(Text("dim", "dim"))
    text.stylize("green", 0, 3)
    made = pieces(text)
    assert "".join(piece for _, piece in made) == text.plain
    assert ["b r", "bold"] in made
    assert ["d", "dim"] in made
    assert made[0] == ["g", "pla"]
