"""How one made-up leg goes: its own journal, written by the code that writes real ones, and what a poller sees when."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gate.bootstrap.journal import Journal
from gate.bootstrap.jsonl import line
from gate.contracts import CommandResult, LegView, Scan, TurnEnd, TurnOutcome
from gate.documents import Json
from gate.machines.clock import Now
from gate.machines.leg_model import (
    Action,
    CommandStarted,
    Finish,
    Looked,
    Note,
    Observation,
    Prepared,
    RunTurn,
    StartCommand,
    TurnEnded,
    TurnKind,
    Verified,
)
from gate.machines.verdict import Reason, Scalar, StateView
from gate.plan.model import LegPlan
from gate.rundir.formats import LegResult, Pointer
from gate.rundir.statefile import parse

INCARNATION = "1-0badcafe"
TOUCH = 900.0
"""Seconds between two writes of a state file."""


@dataclass(frozen=True)
class Course:
    """Seconds throughout, from the attempt's first poll where absolute. `turns`: (seconds, end) of the set-up."""

    queue: float = 60.0
    start: float = 10.0
    prepare: float = 15.0
    turns: tuple[tuple[float, TurnEnd], ...] = ((600.0, TurnEnd.COMPLETED),)
    lost: bool = False
    """The conversation is lost at the second turn."""
    launch: float = 120.0
    run: float = 3600.0
    state: Mapping[str, Scalar] = field(
        default_factory=lambda: {"done": True, "stop_reason": "converged", "gain": 1.25}
    )
    """The last state file; the ones before say that it is not done."""
    silent: tuple[float, float] | None = None
    """(after, for): a write gap in the run."""
    fails: tuple[Reason, str] | None = None
    """Set-up ends the leg with this reason."""
    never: bool = False
    """It never leaves the queue."""
    skew: float = 0.0
    """By how much the workload's clock is ahead of the poller's."""
    said: str = "The wheel is installed and the server answers.\n\nGATE-SETUP-COMPLETE"


class _Pages:
    """In place of a ledger: entries as they would lie on disk."""

    def __init__(self) -> None:
        self.raw = b""

    def note(self, entry: Mapping[str, Json]) -> None:
        self.raw += line(entry)


class Leg:
    """One made-up leg. `journal` is its file; `view(at)` what a look at its files shows."""

    def __init__(self, plan: LegPlan, tag: str, course: Course, begin: float) -> None:
        self.plan, self.tag, self.course, self.begin = plan, tag, course, begin
        self._pages = _Pages()
        self._journal = Journal(self._pages)  # type: ignore[arg-type]
        self._pointers: list[tuple[float, Pointer]] = []
        self._states: list[tuple[float, StateView]] = []
        self.result: tuple[float, LegResult] | None = None
        self.runs_from = float("inf") if course.never else course.queue
        self.turns: list[tuple[float, float]] = []
        self.phases: dict[str, float] = {}
        self.ended = float("inf")
        self._views: dict[tuple[int | bool, ...], LegView] = {}
        if not course.never:
            self._go()

    @property
    def journal(self) -> bytes:
        return self._pages.raw

    def view(self, at: float) -> LegView:
        """The leg's files at `at`; the same object while nothing changes."""
        if at < self.phases.get("prepare", float("inf")):
            return self._views.setdefault((), LegView())
        pointers, states = _count(self._pointers, at), _count(self._states, at)
        ended = self.result is not None and self.result[0] <= at
        found = self._views.get((pointers, states, ended))
        if found is None:
            state = self._states[states - 1][1] if states else StateView("absent")
            result = self.result[1] if ended and self.result is not None else None
            found = LegView((INCARNATION,), self._pointers[pointers - 1][1], result, state, "", f"{pointers}.{states}")
            self._views[(pointers, states, ended)] = found
        return found

    @property
    def lost(self) -> bool:
        """It will not pass: its supervisor holds the workload open, where that is wanted."""
        return self.course.fails is not None or self.course.state.get("stop_reason") != "converged"

    # --- the leg's own doing --------------------------------------------------------------------------

    def _now(self, at: float) -> Now:
        return Now(mono=5000.0 + at, wall=self.begin + at + self.course.skew, boot=5000.0 + at)

    def _told(self, at: float, seen: Observation, *actions: Action) -> None:
        self._journal.stepped(seen, actions, self._now(at))

    def _point(self, at: float, phase: str, **more: int | str | None) -> None:
        last = self._pointers[-1][1] if self._pointers else None
        base = last or Pointer(
            leg=self.plan.id,
            tag=self.tag,
            incarnation=INCARNATION,
            sequence=0,
            phase="prepare",
            state=None,
            turns=0,
            resumes=0,
            recaps=0,
            redrives=0,
            blind=0.0,
            cost_usd=None,
            gpu=0,
            updated=0.0,
        )
        made = replace(base, phase=phase, sequence=base.sequence + 1, updated=self._now(at).wall, **more)  # type: ignore[arg-type]
        self._pointers.append((at, made))

    def _go(self) -> None:
        course, agent = self.course, self.plan.kind == "agent"
        at = course.queue + course.start
        self.phases["prepare"] = at
        self._journal.started(self.plan, self._now(at))
        self._point(at, "prepare")
        at += course.prepare
        if agent:
            at = self._set_up(at)
            if course.fails is not None:
                self._end(at, "failed", course.fails[0], course.fails[1], TurnEnded(_outcome(TurnEnd.COMPLETED, "")))
                return
        self._run(at, agent=agent)

    def _set_up(self, at: float) -> float:
        self.phases["setup"] = at
        turn = self._turn(at, "setup")
        self._told(at, Prepared(INCARNATION, "2.1.0"), turn)
        for index, (seconds, end) in enumerate(self.course.turns):
            if index:
                turn = self._turn(at, "nudge")
            self._begin_turn(at, turn, "setup")
            at += seconds
            detail = "" if end is TurnEnd.COMPLETED else f"the turn ended badly: {end.value}"
            self.turns.append((at - seconds, at))
            self._told(at, TurnEnded(_outcome(end, self.course.said, detail)))
            at += 30.0
            note = Note("verify_disagrees", "the marker was there, but the check ended with exit code 2")
            last = index + 1 == len(self.course.turns)
            self._told(at, Verified(CommandResult(0 if last else 2, "")), *(() if last else (note,)))
        return at

    def _turn(self, at: float, kind: TurnKind) -> RunTurn:
        count = len(self.turns) + 1
        lost = self.course.lost and count == 2
        return RunTurn(count, kind, count if lost else 1, count > 1 and not lost, lost, self.plan.budgets.turn)

    def _begin_turn(self, at: float, turn: RunTurn, phase: str) -> None:
        self._journal.turn(turn, f"0000-{turn.session}", self._now(at))
        recaps = int(self.course.lost and turn.ordinal >= 2)
        self._point(at, phase, turns=turn.ordinal, resumes=turn.ordinal - 1 - recaps, recaps=recaps)

    def _run(self, at: float, *, agent: bool) -> None:
        course = self.course
        self.phases["launch"] = at
        if agent:
            self._begin_turn(at, self._turn(at, "task"), "launch")
            self.turns.append((at, at + course.launch))
            self._told(at + course.launch, TurnEnded(_outcome(TurnEnd.COMPLETED, "It runs, detached.")))
        else:
            self._told(at, Prepared(INCARNATION, None), StartCommand())
            self._told(at, CommandStarted())
            self._point(at, "launch")
        first, end = at + course.launch + 5.0, at + course.launch + course.run
        self.phases["run"] = first
        self._point(first, "wait", state="session/run/state.json")
        when, step = first, 0
        while when < end:
            self._write(when, {"done": False, "stop_reason": None, "gain": round(1 + step / 100, 2)})
            step, when = step + 1, when + TOUCH
            if course.silent is not None and first + course.silent[0] <= when < first + sum(course.silent):
                when = first + sum(course.silent)
        view = self._write(end, course.state)
        self._end(end, "finished", None, "session/run/state.json says that the run is finished.", self._looked(view))

    def _write(self, at: float, body: Mapping[str, Scalar]) -> StateView:
        path = f"legs/{self.plan.id}/{self.tag}/{INCARNATION}/session/run/state.json"
        view = parse(json.dumps(dict(body)).encode(), self.plan.judge.keys(), path)
        self._states.append((at, view))
        self._told(at, self._looked(view))
        return view

    def _looked(self, view: StateView) -> Looked:
        return Looked(Scan(changed=True, full=False, blind=False, entries=3), (view,))

    def _end(self, at: float, outcome: str, reason: Reason | None, sentence: str, seen: Observation) -> None:
        self.ended = at
        self._told(at, seen, Finish(outcome, reason, sentence))  # type: ignore[arg-type]
        pointer = self._pointers[-1][1]
        self._point(at, "ended")
        self.result = (
            at,
            LegResult(
                leg=self.plan.id,
                tag=self.tag,
                incarnation=INCARNATION,
                outcome=outcome,  # type: ignore[arg-type]
                reason=reason,
                sentence=sentence,
                state=pointer.state,
                turns=pointer.turns,
                resumes=pointer.resumes,
                recaps=pointer.recaps,
                redrives=0,
                cost_usd=None,
                agent_version="2.1.0",
                survivors=(),
                secret_hits=(),
                ended=self._now(at).wall,
            ),
        )


def _outcome(end: TurnEnd, text: str, detail: str = "") -> TurnOutcome:
    return TurnOutcome(end, text, detail, "s", 0, None, None)


def _count(found: Sequence[tuple[float, object]], at: float) -> int:
    return bisect_right(found, at, key=lambda each: each[0])
