"""What happened when in a played gate: one line a thing, in the order of time, from the truth and not from any view."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from gate.contracts import Phase
from gate.machines.duration import spell
from gate.simulate.played import LegLife, Played, PlayedTurn, PlayedWorkload, StateWritten

Kind = Literal["process", "workload", "turn", "state", "verdict", "decision", "fault", "blind", "kept"]

TURNS = {
    "setup": "set-up turn",
    "nudge": "nudge",
    "task": "task turn",
    "finish_launch": "asked to launch",
    "redrive": "asked to go on",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that happened. `subject`: a leg, a workload, a process, or "" for the gate."""

    at: float
    kind: Kind
    subject: str
    text: str
    leg: str = ""
    """The leg it is about, where it is about one."""


def timeline(played: Played) -> tuple[Line, ...]:
    """All lines."""
    writes: dict[tuple[str, str, str], list[StateWritten]] = {}
    for state in played.states:
        writes.setdefault((state.leg, state.tag, state.incarnation), []).append(state)
    found = [
        *_processes(played),
        *(line for w in played.workloads if not w.foreign for line in _workload(w)),
        *(line for life in played.legs for line in _leg(life, writes)),
        *_verdicts(played),
        *(Line(s.at, "fault", s.subject, f"{s.fault.kind} {s.detail}".strip()) for s in played.struck),
        *_blind(played),
    ]
    return tuple(sorted(found, key=lambda line: (line.at, _rank(line))))


def _rank(line: Line) -> int:
    """What comes first of what happens in the same moment."""
    if line.kind == "process":
        return 0 if line.text == "starts" else len(_AT_ONCE)
    return _AT_ONCE.index(line.kind)


_AT_ONCE: tuple[Kind, ...] = ("process", "fault", "turn", "state", "workload", "verdict", "decision", "blind", "kept")


def _processes(played: Played) -> Iterator[Line]:
    for process in played.processes:
        if process.role not in ("dispatcher", "poller", "reaper"):
            continue
        yield Line(process.began, "process", process.name, "starts")
        if process.killed:
            ended = "killed"
        elif process.error:
            ended = f"fails: {process.error.splitlines()[0]}"
        else:
            ended = "ends" if process.exit_code in (0, None) else f"ends with {process.exit_code}"
        yield Line(process.ended, "process", process.name, ended)


def _workload(workload: PlayedWorkload) -> Iterator[Line]:
    name, since = workload.workload, workload.created
    yield Line(since, "workload", name, f"created as {workload.engine_id}")
    for number, phased in enumerate(workload.history):
        if phased.phase is Phase.RUNNING:
            text = f"runs, after {spell(phased.at - since)} in the queue"
        elif phased.phase is Phase.PENDING:
            since = phased.at
            if number == 0:
                continue
            text = "is back in the queue" + (f" ({phased.reason})" if phased.reason else "")
        elif phased.phase is Phase.UNKNOWN:
            text = "has vanished"
        else:
            reason = f" ({phased.reason.replace('_', ' ')})" if phased.reason not in ("", "exit") else ""
            text = f"{phased.phase.value}{reason}"
        yield Line(phased.at, "workload", name, text)
    for begin, end in workload.kept:
        yield Line(begin, "kept", name, f"held open for {spell(end - begin)} more")


def _leg(life: LegLife, writes: Mapping[tuple[str, str, str], Sequence[StateWritten]]) -> Iterator[Line]:
    for turn in life.turns:
        yield Line(turn.began, "turn", life.leg, _turn(turn), life.leg)
    written = writes.get((life.leg, life.tag, life.incarnation), [])
    if not written:
        return
    yield Line(written[0].at, "state", life.leg, "first state file", life.leg)
    gaps = [(after.at - before.at, before.at) for before, after in pairwise(written)]
    if gaps:
        gap, since = max(gaps)
        text = f"last state file; {len(written)} writes, the longest gap {spell(gap)} (from {clock(since)})"
        yield Line(written[-1].at, "state", life.leg, text, life.leg)


def _turn(turn: PlayedTurn) -> str:
    how = " (resumed)" if turn.resume else ""
    end = turn.end.replace("_", " ") or "cut off"
    fault = f" ← {turn.fault}" if turn.fault else ""
    return f"{TURNS[turn.kind]} {turn.ordinal}{how}: {spell(turn.ended - turn.began)}, {end}{fault}"


def _verdicts(played: Played) -> Iterator[Line]:
    for attempt in played.attempts:
        for written in attempt.verdicts:
            if written.effect:
                verdict = written.verdict
                text = f"{verdict.outcome.value} {verdict.reason.value}: {verdict.sentence}"
                yield Line(written.at, "verdict", verdict.leg, text, verdict.leg)
        for decided in attempt.decisions:
            if decided.effect:
                yield Line(decided.at, "decision", "", f"{decided.decision.word}: {decided.decision.cause}")


def _blind(played: Played) -> Iterator[Line]:
    for window in played.blind:
        what = "the engine" if window.what == "engine" else "the shared root"
        text = f"cannot see {what} for {spell(window.until - window.since)}: {window.detail}"
        yield Line(window.since, "blind", window.process, text)


def clock(seconds: float) -> str:
    """`1:02:03`, or `2:03` below an hour."""
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
