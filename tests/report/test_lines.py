"""Plain lines and JSON lines."""

from __future__ import annotations

import io
import json
import os
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from gate.contracts import Event, Phase
from gate.errors import UsageError
from gate.report.jsonlines import JsonLines
from gate.report.lines import PlainLines, summary
from gate.report.outlet import Outlet
from tests.machines.gate_world import BUSY, GOOD, LOST, Player, leg, pointer, rules, view
from tests.report.reports import HOSTILE, OBEYED, events, heading, tell


def run(work: Callable[[], Awaitable[None]]) -> None:
    anyio.run(work)


def short_gate() -> tuple[Player, list[Event]]:
    """Two legs: one resumed and passed, one that failed."""
    play = Player(rules(leg("a"), leg("b"), fail_fast=False))
    told = events(play, play.tick(0))
    told += events(play, play.tick(a=view(None, pointer=pointer(phase="setup", turns=1)), b=view(BUSY, "b")))
    told += events(play, play.tick(a=view(BUSY, pointer=pointer(turns=2, resumes=1))))
    told += events(play, play.tick(a=view(GOOD), b=view(LOST, "b")))
    return play, told


def lines_of(play: Player, told: list[Event], **more: float) -> list[str]:
    stream = io.StringIO()

    async def work() -> None:
        reporter = PlainLines(heading(play), stream, **more)
        await tell(reporter, told)
        await reporter.aclose()

    run(work)
    return stream.getvalue().splitlines()


def test_one_line_a_change_with_both_times() -> None:
    lines = lines_of(*short_gate())
    assert lines[0] == ("2027-01-15T08:00:00Z +0:00:00 gate quickstart 1.4: run run-7, attempt 1; 2 legs, 2 blocking")
    assert lines[1:3] == [
        "2027-01-15T08:00:00Z +0:00:00 a: workload Running",
        "2027-01-15T08:00:00Z +0:00:00 b: workload Running",
    ]
    text = "\n".join(lines)
    assert "+0:00:30 a: set-up (1 turn)" in text
    assert "+0:01:00 a: turn 2 goes on with the same conversation" in text
    assert '+0:01:30 a: PASS (criteria_met): stop_reason is "converged", crashes is 0' in text
    assert '+0:01:30 b: FAIL (not_accepted): stop_reason is "gave_up"' in text
    assert lines[-1].endswith('NO-GO: leg b: stop_reason is "gave_up", expected one of "converged", "target_reached"')


def test_a_summary_when_nothing_was_said_for_long() -> None:
    play = Player(rules(leg("a"), leg("b")))
    told = events(play, play.tick(a=view(BUSY)))
    for _ in range(50):
        told += events(play, play.tick())
    quiet = [line for line in lines_of(play, told) if "quiet the longest" in line]
    assert len(quiet) == 2
    assert quiet[0].endswith("1 running, 1 starting; quiet the longest: a (10 min)")
    assert not [line for line in lines_of(play, told, summary=1e9) if "quiet" in line]


def test_a_summary_of_no_legs() -> None:
    assert summary(()) == "no legs"


def test_what_was_told_before_is_not_told_again() -> None:
    play, told = short_gate()
    again = [
        Event(e.kind, e.at, e.elapsed, e.leg, e.text, {**e.data, "again": True}) for e in told if e.kind == "verdict"
    ]
    assert len(lines_of(play, again)) == 1, "only the opening"


def test_text_from_outside_is_shown_and_never_obeyed() -> None:
    play = Player(rules())
    play.says("a", Phase.PENDING, message=HOSTILE)
    told = events(play, play.tick(0))
    told += events(play, play.tick(a=view({**LOST, "stop_reason": HOSTILE})))
    lines = lines_of(play, told)
    assert len(lines) == 5, "opening, two phases, verdict, decision: no forged line"
    assert "[bold red]x[/]\\x1b[2J" in lines[1]
    assert not [char for char in OBEYED if char in "".join(lines)]


# --- JSON lines --------------------------------------------------------------------------------------


def json_of(path: Path, play: Player, told: list[Event]) -> list[dict[str, object]]:
    async def work() -> None:
        reporter = JsonLines(path, heading(play))
        await tell(reporter, told)
        await reporter.aclose()

    run(work)
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_event_is_a_line_of_a_known_version(tmp_path: Path) -> None:
    play, told = short_gate()
    lines = json_of(tmp_path / "events", play, told)
    assert {line["version"] for line in lines} == {1}
    assert [line["kind"] for line in lines if line["kind"] not in ("phase", "leg_phase")] == [
        *("run", "tick", "tick", "resumed", "tick", "verdict", "verdict", "decision", "tick")
    ]
    first = lines[0]["data"]
    assert isinstance(first, dict)
    assert first["legs"] == [
        {"leg": "a", "blocking": True, "workload": "a"},
        {"leg": "b", "blocking": True, "workload": "b"},
    ]


def test_a_tick_holds_only_what_changed_and_nothing_is_no_line(tmp_path: Path) -> None:
    play = Player(rules(leg("a"), leg("b")))
    told = events(play, play.tick(0)) + events(play, play.tick(a=view(BUSY)))
    told += [event for _ in range(20) for event in events(play, play.tick())]
    told += events(play, play.tick(b=view(BUSY, "b")))
    ticks = [line["data"] for line in json_of(tmp_path / "events", play, told) if line["kind"] == "tick"]
    assert [[row["leg"] for row in tick["rows"]] for tick in ticks] == [["a", "b"], ["a"], ["b"]]  # type: ignore[index]


def test_a_second_poller_appends(tmp_path: Path) -> None:
    play, told = short_gate()
    once = json_of(tmp_path / "events", play, told)
    assert len(json_of(tmp_path / "events", play, told)) == 2 * len(once)


def test_a_file_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        JsonLines(tmp_path / "no" / "events", heading(Player(rules())))


def test_a_full_disk_ends_the_file_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    play, told = short_gate()

    async def work() -> None:
        reporter = JsonLines(Path("/dev/full"), heading(play))
        await tell(reporter, told)
        await reporter.aclose()
        await reporter.emit(told[0])

    run(work)
    assert "--events /dev/full: [Errno 28]" in capsys.readouterr().err


# --- outlets -----------------------------------------------------------------------------------------


def test_a_place_that_nobody_reads_delays_nothing() -> None:
    """A log pipe that is full: emitting and closing go on, within their patience."""
    reading, writing = os.pipe()
    play, told = short_gate()
    stream = os.fdopen(writing, "w")

    async def work() -> None:
        reporter = PlainLines(heading(play), stream)
        began = time.monotonic()
        for _ in range(3000):
            await tell(reporter, told)
        assert time.monotonic() - began < 2.0
        began = time.monotonic()
        await reporter.aclose()
        assert time.monotonic() - began < 3.0

    run(work)
    drain = threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(reading, 1 << 20), b"")])
    drain.start()
    for thread in threading.enumerate():
        if thread.name == "gate-report-the log":
            thread.join(20)
    stream.close()
    drain.join(20)
    os.close(reading)
    assert not drain.is_alive()


def test_an_outlet_beats_while_nothing_comes() -> None:
    beats: list[str | None] = []
    beaten = threading.Event()

    def write(item: str | None) -> None:
        beats.append(item)
        if beats.count(None) >= 2:
            beaten.set()

    async def work() -> None:
        outlet: Outlet[str] = Outlet("test", write, beat=0.01)
        outlet.put("a")
        assert beaten.wait(5)
        await outlet.aclose()

    run(work)
    assert beats[0] == "a"
