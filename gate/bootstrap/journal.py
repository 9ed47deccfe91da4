"""The leg's journal: every observation that says something new, every action, each with its times.

Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections.abc import Sequence

from gate.bootstrap.ledger import Ledger
from gate.documents import Json, encode
from gate.machines.clock import Now
from gate.machines.leg_model import Action, Looked, Note, Observation, Publish, RunTurn, TurnEnded, Watch
from gate.plan.model import LegPlan

TEXT = 4000
"""Characters of a turn's last words that the journal keeps: their end, which holds the marker."""


class Journal:
    """Turns what the driver sees and does into journal entries."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._last: tuple[object, ...] | None = None
        self._same = 0
        self._blind = ""

    def started(self, leg: LegPlan, now: Now) -> None:
        """The driver begins."""
        self._write(now, {"kind": "started", "leg": leg.id, "digest": leg.digest})

    def stepped(self, seen: Observation, actions: Sequence[Action], now: Now) -> None:
        """One step of the machine. Looks that show nothing new are counted, not written."""
        done = [action for action in actions if not isinstance(action, (Watch, Publish))]
        if isinstance(seen, Looked):
            now_seen = (seen.scan and seen.scan.blind, seen.states, seen.command)
            if now_seen == self._last and not done:
                self._same += 1
                return
            self._last = now_seen
        entry: dict[str, Json] = {"kind": "step", "seen": type(seen).__name__, **_fields(seen)}
        if isinstance(seen, TurnEnded):
            entry["outcome"]["text"] = seen.outcome.text[-TEXT:]
        entry["actions"] = [{"kind": type(action).__name__, **_fields(action)} for action in done]
        if self._same:
            entry["looks_without_news"], self._same = self._same, 0
        self._write(now, entry)

    def turn(self, action: RunTurn, session: str, now: Now) -> None:
        """A turn is about to begin under this session id, which is used up by it however it ends."""
        self._write(now, {**_fields(action), "kind": "turn", "session": session})

    def blind(self, why: str) -> None:
        """The leg's files could not be seen; the same reason is written once."""
        if why != self._blind:
            self._blind = why
            self._ledger.note({"kind": "blind", "why": why})

    def _write(self, now: Now, entry: dict[str, Json]) -> None:
        self._ledger.note({"at": now.wall, "mono": now.mono, "boot": now.boot, **entry})


def _fields(value: Observation | Action) -> dict[str, Json]:
    fields: dict[str, Json] = encode(value)
    if isinstance(value, Note):
        fields["note"] = fields.pop("kind")
    elif "kind" in fields:
        fields["turn"] = fields.pop("kind")
    return fields
