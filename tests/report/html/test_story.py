"""A leg's journal lies where the agent writes: whatever stands there, the page is made, and says what it left out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.report.html.story import SAID, TURNS, story_of
from tests.report.html.course import Course, Leg
from tests.report.html.made import BEGIN, TAG, agent_leg
from tests.report.html.scenes import CUT, OK

LEG = Leg(agent_leg("a"), TAG, Course(turns=((600.0, OK), (300.0, CUT), (200.0, OK)), lost=True), BEGIN)


def test_a_journal_tells_turns_and_phases_as_they_were() -> None:
    story = story_of(LEG.journal, agent=True)
    start = LEG.phases["prepare"]
    assert [kind for kind, _ in story.phases] == ["prepare", "setup", "launch", "run"]
    assert [start + at for _, at in story.phases] == pytest.approx(
        [LEG.phases[phase] for phase in ("prepare", "setup", "launch", "run")]
    )
    assert [(turn.ordinal, turn.kind, turn.how, turn.outcome) for turn in story.turns] == [
        (1, "setup", "starts", "completed"),
        (2, "nudge", "recap", "failed"),
        (3, "nudge", "resumes", "completed"),
        (4, "task", "resumes", "completed"),
    ]
    times = [(start + turn.begin, start + (turn.end or 0)) for turn in story.turns]
    assert times == [pytest.approx(turn) for turn in LEG.turns]
    assert story.turns[1].said == "the turn ended badly: failed"
    assert story.ended is not None
    assert start + story.ended == pytest.approx(LEG.ended)
    assert story.version == "2.1.0"
    assert [text for _, text in story.notes] == ["the marker was there, but the check ended with exit code 2"] * 2
    assert story.bad == 0


def test_a_torn_last_line_is_dropped_without_a_word() -> None:
    torn = LEG.journal[:-40]
    assert story_of(torn, agent=True).bad == 0
    assert story_of(torn, agent=True).ended is None


LINES = LEG.journal.splitlines(keepends=True)
BAD = [
    b"not json\n",
    b"[]\n",
    b"null\n",
    b'{"kind":"turn"}\n',
    b'{"at":"noon","mono":1,"boot":1,"kind":"started"}\n',
    b'{"at":1e400,"mono":1,"boot":1,"kind":"started"}\n',
    b'{"at":1,"mono":1,"boot":-1e9,"kind":"step","seen":"Looked","states":[],"actions":[]}\n',
    b'{"at":1,"mono":1,"boot":9e9,"kind":"step","seen":"Looked","states":7,"actions":[]}\n',
    b'{"at":1,"mono":1,"boot":9e9,"kind":"step","seen":"TurnEnded","outcome":{},"actions":[]}\n',
    b'{"at":1,"mono":1,"boot":9e9,"kind":"what"}\n',
    b"\xff\xfe\n",
    b"[" * 100_000 + b"\n",
]


@pytest.mark.parametrize("line", BAD)
def test_a_line_that_cannot_be_read_is_counted_and_the_others_stand(line: bytes) -> None:
    middle = len(LINES) // 2
    story = story_of(b"".join([*LINES[:middle], line, *LINES[middle:]]), agent=True)
    whole = story_of(LEG.journal, agent=True)
    assert story.bad == 1
    assert [turn.ordinal for turn in story.turns] == [turn.ordinal for turn in whole.turns]


def test_the_forger_does_not_fill_the_page() -> None:
    turns = [line for line in LINES if b'"kind":"turn"' in line] * 500
    story = story_of(LINES[0] + b"".join(sorted(turns)), agent=True)
    assert len(story.turns) <= TURNS
    assert all(len(turn.said) <= SAID for turn in story.turns)


@given(st.binary(max_size=300), st.integers(0, len(LINES)))
def test_nothing_in_a_journal_stops_the_page(noise: bytes, place: int) -> None:
    story = story_of(b"".join([*LINES[:place], noise, b"\n", *LINES[place:]]), agent=True)
    assert story.last >= 0
