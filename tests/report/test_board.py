"""The live board: what a frame holds at any size, and a whole gate on a real pseudo-terminal."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from gate.contracts import Phase
from gate.machines.observations import EngineBlind
from gate.machines.rows import row_from_json, row_json, rows
from gate.machines.verdict import Outcome, Reason
from gate.report.board_frame import Frame, render
from gate.rundir.formats import Decision, LegDecision
from tests.machines.gate_world import BUSY, GOOD, INTERVAL, LOST, Player, at, leg, pointer, rules, view
from tests.report.reports import HOSTILE, OBEYED, events, heading


def shown(frame: Frame, width: int = 120, height: int = 30) -> list[str]:
    stream = io.StringIO()
    console = Console(file=stream, width=width, height=height, markup=False, highlight=False, emoji=False)
    console.print(render(frame, width, height))
    return stream.getvalue().splitlines()


def frame(play: Player) -> Frame:
    return Frame(heading(play), rows(play.state, at(play.clock)), play.clock)


def mixed() -> Player:
    play = Player(rules(leg("a"), leg("b"), leg("c", blocking=False), leg("d"), fail_fast=False))
    play.says("d", Phase.PENDING, queue_position=3, message="0/4 nodes")
    play.tick(a=view(BUSY, pointer=pointer(turns=3, resumes=2)), b=view(LOST, "b"), c=view(GOOD, "c"))
    play.ticks(900)
    return play


def test_a_row_a_leg() -> None:
    lines = shown(frame(mixed()))
    text = "\n".join(lines)
    assert "quickstart 1.4" in lines[1]
    assert "0:15:30" in lines[1]
    assert "✘ 1 FAIL" in lines[2]
    a, b, c, d = (next(line for line in lines if line.startswith(f"{name} ")) for name in "abcd")
    assert "● running" in a
    assert "of 11 h 6 min" in a
    assert "↻" not in a, "a resumed conversation is how it should be"
    assert "15 min" in a
    assert "gain 1.0" in a
    assert "✘ FAIL" in b
    assert 'not accepted  stop_reason is "gave_up"' in b
    assert "✔ PASS" in c
    assert "informing  gain 1.25" in c
    assert "◌ queued" in d
    assert "position 3: 0/4 nodes" in d
    assert "deadline in 13 h 37 min" in text


def test_time_goes_on_between_two_looks() -> None:
    before = frame(mixed())
    line = next(line for line in shown(before.later(65)) if line.startswith("a "))
    assert "0:16:05" in line
    assert "16 min 5 s" in line
    b = next(line for line in shown(before.later(65)) if line.startswith("b "))
    assert "0:00:00" in b, "what is decided stands still"


def test_blindness_is_said() -> None:
    blind = replace(frame(mixed()), engine="refused", engine_detail="HTTP 503", engine_blind=90.0, root_blind=30.0)
    text = "\n".join(shown(blind.later(10)))
    assert "engine not seen for 1 min 40 s: refused (HTTP 503)" in text
    assert "shared root not seen for 40 s: nothing is decided meanwhile" in text


def test_what_is_unusual_about_turns_is_marked() -> None:
    play = Player(rules(leg("a")))
    play.tick(a=view(BUSY, pointer=pointer(turns=5, resumes=2, recaps=1, redrives=1)))
    assert "5 ↻2" in "\n".join(shown(frame(play)))


def test_eighty_columns_have_room_for_the_reason() -> None:
    play = Player(rules(leg("docker-12h"), fail_fast=False))
    play.tick(INTERVAL, **{"docker-12h": view(LOST, "docker-12h", pointer=pointer("docker-12h", turns=0))})
    lines = shown(frame(play), 80)
    assert any("✘ FAIL" in line and 'stop_reason is "gave_up"' in line for line in lines)
    assert "TURNS" not in "\n".join(lines), "a column in which nothing stands takes room"


def test_shown_keys_go_by_their_last_word_where_that_tells_them_apart() -> None:
    row = frame(mixed()).rows[0]
    fields = (("result.step", "5"), ("a.gain", "1"), ("b.gain", "2"))
    text = "\n".join(shown(replace(frame(mixed()), rows=(replace(row, fields=fields),)), 160))
    assert "step 5  a.gain 1  b.gain 2" in text


def test_the_last_frame_of_a_cancelled_run_shows_nothing_as_running() -> None:
    legs = tuple(LegDecision(x, True, Outcome.NOT_JUDGED, Reason.CANCELLED, False, False) for x in "abcd")
    end = Decision("run-7", 1, "t", "full", "CANCELLED", 130, "cancelled by SIGINT", legs, 0.0, 0.0)
    lines = shown(frame(mixed()).decided(end))
    text = "\n".join(lines)
    assert "running" not in text
    assert "queued" not in text
    assert "NOT_JUDGED" in next(line for line in lines if line.startswith("a "))
    assert "✘ FAIL" in next(line for line in lines if line.startswith("b ")), "what was judged stays"


def thousand() -> Player:
    play = Player(rules(*(leg(f"leg{i}") for i in range(1000)), fail_fast=False))
    looks = {f"leg{i}": view(GOOD if i < 300 else LOST if i < 303 else BUSY, f"leg{i}") for i in range(900)}
    play.tick(INTERVAL, **looks)
    return play


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 30), (200, 60), (60, 12)])
def test_a_thousand_legs_fit_any_screen_the_worst_first(width: int, height: int) -> None:
    lines = shown(frame(thousand()), width, height)
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)
    first = next(i for i, line in enumerate(lines) if line.startswith("LEG")) + 1
    found = lines[first : first + 3]
    assert sum("✘ FAIL" in line for line in found) == min(3, max(3, height - 10) - 1)
    assert any("more:" in line and "PASS" in line for line in lines)


def test_hostile_text_is_text() -> None:
    play = Player(rules(leg(f"a{HOSTILE}"), fail_fast=False))
    name = play.rules.legs[0].id
    play.tick(INTERVAL, **{name: view({**BUSY, "gain": HOSTILE}, name)})
    text = "\n".join(shown(frame(play), 300))
    assert "[bold red]x[/]\\x1b[2J" in text
    play.tick(INTERVAL, **{name: view({**LOST, "stop_reason": HOSTILE}, name)})
    after = replace(frame(play), decision=play.decision)
    text += "\n".join(shown(after, 300))
    assert "NO-GO" in text
    assert not [char for char in OBEYED if char in text]


def test_rows_survive_their_events() -> None:
    play = mixed()
    play.engine = EngineBlind("gone", "HTTP 404")
    play.ticks(60)
    told = events(play, play.tick())[-1]
    assert told.data["engine"] == "gone"
    assert tuple(row_from_json(row) for row in told.data["rows"]) == tuple(
        row_from_json(row_json(row)) for row in rows(play.state, at(play.clock))
    )


SCRIPT = """
import anyio
from gate.report.board import Board
from tests.machines.gate_world import *
from tests.report.reports import events, heading, tell

async def main():
    play = Player(rules(leg("a"), leg("b", blocking=False), fail_fast=False))
    board = Board(heading(play))
    await tell(board, events(play, play.tick(0)))
    await tell(board, events(play, play.tick(a=view(BUSY), b=view(LOST, "b"))))
    await anyio.sleep(0.2)
    await tell(board, events(play, play.tick(a=view(GOOD))))
    await board.aclose()

anyio.run(main)
"""


def test_a_whole_gate_on_a_terminal() -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "110", "LINES": "30"}
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        cwd=Path(__file__).parent.parent.parent,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the kernel's way to say that the other side of a pseudo-terminal is closed
            break
        seen += piece
    os.close(ours)
    assert child.wait(20) == 0
    text = seen.decode()
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") == 1, "the cursor is given back"
    assert "FAIL" in text
    assert text.index("● running") < text.rindex(" GO ")
    assert "the blocking leg passed; informing only: leg b" in text
