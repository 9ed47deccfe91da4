"""A leg's own journal, read for its picture: phases, turns, and when its state file changed.

The journal is the leg's claim and lies where the agent writes: what cannot be read is counted and left out, and nothing
here decides anything. Times are seconds since the journal's first entry, on the workload's clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from gate.documents import Json, parse_strict
from gate.report.html.page import SpanKind, TurnHow

TURNS = 200
NOTES = 50
SAID = 400
"""Characters of a turn's last words that are kept: their end, which holds the marker."""


@dataclass(slots=True)
class ToldTurn:
    """One turn as the journal tells it."""

    ordinal: int
    kind: str
    how: TurnHow
    begin: float
    budget: float
    end: float | None = None
    outcome: str = ""
    said: str = ""
    cost_usd: float | None = None


@dataclass(slots=True)
class Story:
    """One incarnation of a leg by its own account."""

    wall: float | None = None
    """Wall time of the first entry, on the workload's clock; None: there is no entry with a time."""
    last: float = 0.0
    phases: list[tuple[SpanKind, float]] = field(default_factory=list)
    ended: float | None = None
    turns: list[ToldTurn] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)
    notes: list[tuple[float, str]] = field(default_factory=list)
    version: str | None = None
    bad: int = 0
    """Entries that could not be read."""
    _boot: float = 0.0
    _state: str = ""


def story_of(raw: bytes, *, agent: bool) -> Story:
    """Read a journal; a torn last line is dropped. `agent`: an agent leg, whose set-up comes before its task."""
    story = Story()
    for text in raw.split(b"\n")[:-1]:
        story.bad += not _taken(story, text, agent=agent)
    return story


def _taken(story: Story, text: bytes, *, agent: bool) -> bool:
    try:
        _take(story, parse_strict(text), agent=agent)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, OverflowError):
        return False
    return True


def _take(story: Story, entry: Json, *, agent: bool) -> None:
    if entry["kind"] == "blind":
        return  # it carries no time; the pointer counts such seconds
    wall, boot = _number(entry["at"]), _number(entry["boot"])
    if story.wall is None:
        story.wall, story._boot = wall, boot  # noqa: SLF001 - its own module
    at = boot - story._boot  # noqa: SLF001 - its own module
    if at < story.last:
        raise ValueError("an entry of an earlier time")
    match entry["kind"]:
        case "started":
            _phase(story, "prepare", at)
        case "turn":
            _turn(story, entry, at)
        case "step":
            _step(story, entry, at, agent=agent)
        case _:
            raise ValueError("an unknown kind of entry")
    story.last = at


def _turn(story: Story, entry: dict[str, Any], at: float) -> None:
    kind, ordinal = str(entry["turn"]), int(entry["ordinal"])
    how: TurnHow = "recap" if entry["recap"] else "resumes" if entry["resume"] else "starts"
    if kind == "task":
        _phase(story, "launch", at)
    if len(story.turns) < TURNS:
        story.turns.append(ToldTurn(ordinal, kind, how, at, _number(entry["budget"])))


def _step(story: Story, entry: dict[str, Any], at: float, *, agent: bool) -> None:
    match entry["seen"]:
        case "Prepared":
            version = entry["agent_version"]
            story.version = version if version is None else str(version)
            if not entry["problem"]:
                _phase(story, "setup" if agent else "launch", at)
        case "TurnEnded":
            _turn_ended(story, entry["outcome"], at)
        case "Looked":
            _looked(story, entry["states"], at)
        case _:
            pass  # what else there is changes no picture
    for action in entry["actions"]:
        if action["kind"] == "Note" and len(story.notes) < NOTES:
            story.notes.append((at, str(action["text"])))
        elif action["kind"] == "Finish":
            story.ended = at


def _turn_ended(story: Story, outcome: dict[str, Any], at: float) -> None:
    turn = story.turns[-1]
    if turn.end is not None:
        raise ValueError("a turn that ended twice")
    cost = outcome["cost_usd"]
    turn.end, turn.outcome = at, str(outcome["end"])
    turn.said = (str(outcome["detail"]) or str(outcome["text"])).strip()[-SAID:]
    turn.cost_usd = None if cost is None else _number(cost)


def _looked(story: Story, states: Json, at: float) -> None:
    if not states:
        return
    # Several may be there; which one counts is the pointer's to say, and any change of them is a sign of life.
    found = [state for state in states if state["status"] != "absent"]
    seen = " ".join(str(state["sha256"]) for state in found if state["status"] == "ok")
    if found:
        _phase(story, "run", at)
    if seen and seen != story._state:  # noqa: SLF001 - its own module
        story._state = seen  # noqa: SLF001 - its own module
        story.writes.append(at)


ORDER: tuple[SpanKind, ...] = ("queue", "start", "prepare", "setup", "launch", "run", "read")


def _phase(story: Story, phase: SpanKind, at: float) -> None:
    """Phases go forwards only: another task turn does not undo a state file."""
    if phase == "run" and not any(kind == "launch" for kind, _ in story.phases):
        return
    if not story.phases or ORDER.index(phase) > ORDER.index(story.phases[-1][0]):
        story.phases.append((phase, at))


def _number(value: Json) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise TypeError("not a number")
    return float(value)
