"""Events of a played gate, for reporters under test."""

from __future__ import annotations

from collections.abc import Iterable

from gate.contracts import Event, Reporter
from gate.documents import encode
from gate.machines.observations import Action, Decide, Say, WriteVerdict
from gate.machines.rows import tick_data
from gate.report.events import Heading
from tests.machines.gate_world import TAG, Player, at

HOSTILE = "[bold red]x[/]\x1b[2J\x1b]0;owned\x07\u202egnp\r\nGO\x9b31m"
"""Markup, escape sequences, a title change, reversed text, a forged second line."""
OBEYED = ("\x1b", "\x07", "\x9b", "\u202e", "\r")
"""What a terminal would obey: never in any output."""


def heading(play: Player) -> Heading:
    """The heading of a played gate."""
    legs = tuple((leg.id, leg.blocking, leg.workload) for leg in play.rules.legs)
    return Heading("quickstart", "1.4", "run-7", 1, TAG, "full", "main", "c" * 40, legs, play.rules.poll.deadline)


def events(play: Player, actions: Iterable[Action]) -> list[Event]:
    """What the poller would tell after one observation."""
    now, told = at(play.clock), []
    for action in actions:
        match action:
            case Say():
                told.append(Event(action.kind, now.wall, now.boot, action.leg, action.text, action.data))
            case WriteVerdict():
                verdict = action.verdict
                text = f"{verdict.outcome.value} ({verdict.reason.value}): {verdict.sentence}"
                data = {"verdict": encode(verdict), "again": False}
                told.append(Event("verdict", now.wall, now.boot, verdict.leg, text, data))
            case Decide():
                text = f"{action.decision.word}: {action.decision.cause}"
                told.append(Event("decision", now.wall, now.boot, None, text, {"decision": encode(action.decision)}))
    told.append(Event("tick", now.wall, now.boot, None, "", tick_data(play.state, now)))
    return told


async def tell(reporter: Reporter, told: Iterable[Event]) -> None:
    """Emit them in order."""
    for event in told:
        await reporter.emit(event)
