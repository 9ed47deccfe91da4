"""A lane a leg for the terminal: what it was doing when, to one scale."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from gate.machines.verdict import Outcome
from gate.report.board_frame import GLYPHS, STYLES
from gate.simulate.played import LegLife, Played, PlayedWorkload
from gate.simulate.rungs import verdict_at

INK = {
    "queue": ("░", "dim"),
    "prepare": ("▒", "blue"),
    "set-up": ("▓", "blue"),
    "launch": ("▚", "cyan"),
    "run": ("█", "cyan"),
    "read": ("·", "yellow"),
    "held": ("┈", "dim"),
}
LEGEND = ("queue", "prepare", "set-up", "launch", "run", "held")


@dataclass(frozen=True, slots=True)
class Stretch:
    """One phase of one lane, in seconds of the play."""

    phase: str
    begin: float
    end: float


def stretches(played: Played, leg: str) -> tuple[Stretch, ...]:
    """What a leg did when, in the last attempt; all its starts, its workload's waits and what was held open."""
    attempt = played.attempt
    if attempt is None:
        return ()
    tags = {attempt.attempt.tag, *attempt.attempt.adopted.values()}
    found: list[Stretch] = []
    for workload in played.workloads:
        if not workload.foreign and workload.tag in tags and leg in workload.legs:
            found += _workload(workload, played.ended)
    until = verdict_at(played, leg)
    for life in played.legs:
        if life.leg == leg and life.tag in tags:
            found += _life(life, until)
    return tuple(sorted(found, key=lambda each: each.begin))


def _workload(workload: PlayedWorkload, ended: float) -> Iterator[Stretch]:
    for number, phased in enumerate(workload.history):
        if phased.phase.value == "Pending":
            after = workload.history[number + 1].at if number + 1 < len(workload.history) else ended
            yield Stretch("queue", phased.at, after)
    for begin, end in workload.kept:
        yield Stretch("held", begin, end)


def _life(life: LegLife, until: float) -> Iterator[Stretch]:
    names = {"prepare": "prepare", "setup": "set-up", "launch": "launch", "wait": "run"}
    ended = life.ended if life.ended is not None else until
    phase, since = "prepare", life.began
    for at, pointer in life.pointers:
        now = names.get(pointer.phase)
        if now is None or now == phase:
            continue
        yield Stretch(phase, since, at)
        phase, since = now, at
    yield Stretch(phase, since, ended)
    if until > ended:
        yield Stretch("read", ended, until)


def picture(played: Played, legs: Sequence[str], width: int) -> Iterator[Text]:
    """Lines of text: an axis, a lane for each of `legs`, one for what went wrong, a legend."""
    name = max(map(len, (*legs, "went wrong")), default=10)
    columns = max(20, width - name - 6)
    scale = _Scale(max(_last(played), 1.0), columns)
    yield Text(" " * (name + 2)).append(scale.axis(), "dim")
    for leg in legs:
        yield Text(f"{leg:<{name}}  ").append_text(_lane(played, leg, scale))
    wrong = _wrong(played, scale)
    if wrong is not None:
        yield Text(f"{'went wrong':<{name}}  ", "red").append_text(wrong)
    legend = Text(" " * (name + 2))
    for phase in LEGEND:
        ink, style = INK[phase]
        legend.append(f"{ink} ", style).append(f"{phase}  ", "dim")
    yield legend


def _last(played: Played) -> float:
    """Where the axis ends: with the last verdict or job; what is merely held open runs out of it."""
    attempt = played.attempt
    ends = [process.ended for process in played.processes if process.role in ("dispatcher", "poller", "reaper")]
    ends += [written.at for written in attempt.verdicts] if attempt is not None else []
    return max(ends, default=played.ended)


@dataclass(frozen=True, slots=True)
class _Scale:
    seconds: float
    columns: int

    def at(self, moment: float) -> int:
        return min(self.columns, max(0, round(moment / self.seconds * self.columns)))

    def axis(self) -> str:
        """Ticks at round times, as many as stay apart."""
        steps = (60, 300, 600, 1800, 3600, 7200, 14400, 28800, 86400)
        step = next((s for s in steps if self.seconds / s * 8 <= self.columns), steps[-1])
        line = [" "] * (self.columns + 8)
        for tick in range(math.floor(self.seconds / step) + 1):
            label = f"╷{_short(tick * step)}"
            start = self.at(tick * step)
            line[start : start + len(label)] = label
        return "".join(line).rstrip()


def _short(seconds: int) -> str:
    hours, minutes = seconds // 3600, seconds // 60 % 60
    if not hours:
        return f"{minutes}m" if minutes else "0"
    return f"{hours}h{minutes:02}" if minutes else f"{hours}h"


def _lane(played: Played, leg: str, scale: _Scale) -> Text:
    cells = [(" ", "")] * (scale.columns + 1)
    for each in stretches(played, leg):
        begin, end = scale.at(each.begin), scale.at(each.end)
        ink = INK[each.phase]
        for column in range(begin, max(begin + 1, end) if each.phase != "read" else end):
            cells[min(column, scale.columns)] = ink
    attempt = played.attempt
    verdict = attempt.standing.get(leg) if attempt is not None else None
    if verdict is not None:
        word = verdict.outcome.value
        cells[scale.at(verdict_at(played, leg))] = (GLYPHS[word], STYLES[word])
    text = Text()
    for cell, style in cells:
        text.append(cell, style)
    if verdict is not None and verdict.outcome is not Outcome.PASS:
        text.rstrip()
        text.append(f" {verdict.reason.value}", STYLES[verdict.outcome.value])
    return text


def _wrong(played: Played, scale: _Scale) -> Text | None:
    cells = [" "] * (scale.columns + 1)
    for window in played.blind:
        for column in range(scale.at(window.since), scale.at(window.until) + 1):
            cells[column] = "▁"
    for struck in played.struck:
        cells[scale.at(struck.at)] = "↯"
    line = "".join(cells).rstrip()
    return Text(line, "red") if line else None
