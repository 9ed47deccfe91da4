"""The journal of observations: what the gate machine was told, so that a fold over the file equals having run.

One JSON value a line. The first is an object: format, version, the rules, the attempt's first poll. Each further one
is a list: number, milliseconds since the first poll, by how much `boot` and `wall` differ from that, and what was
observed, as changes since the line before (left out where nothing changed: an unchanged tick is a few bytes).

    [17,300012,0,-3]                       a tick that showed what the one before showed
    [18,315013,0,-3,{"s":…,"l":…}]         changes: s/b engine seen or blind, l/r legs seen or root blind
    [19,…,{"gap":60.5}]  {"cancel":15}  {"newer":{…}}  {"found":[…]}
                                           with a gap: `interval` and `fail_fast`, where they are others from then on
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from gate import documents
from gate.contracts import LegView, NewerRun, Workload
from gate.documents import Json
from gate.errors import DocumentError
from gate.machines.observations import (
    CancelSeen,
    EngineBlind,
    EngineSeen,
    GateRules,
    Observation,
    Resumed,
    RootBlind,
    SupersedeSeen,
    Tick,
    VerdictsFound,
)
from gate.machines.verdict import Verdict
from gate.poll.timeline import Instant
from gate.rundir import journal

FORMAT = "gate.observations"
VERSION = 1
_VIEW_FIELDS = tuple(f.name for f in fields(LegView))


@dataclass(frozen=True, slots=True)
class Header:
    """The journal's first line. `rules` as the attempt was first polled with; `wall` of that poll, milliseconds."""

    rules: GateRules
    wall: int


class Codec:
    """Observations to lines and back. Remembers the last tick, which the next one is written as a change of."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.last = Instant(0, 0, header.wall)
        self._number = 0
        self._forget()

    @property
    def number(self) -> int:
        """The number of the last line written or read; 0 before the first."""
        return self._number

    def _forget(self) -> None:
        self._engine: EngineSeen | EngineBlind | None = None
        self._seen: Mapping[str, Workload] = {}
        self._root: RootBlind | None = None
        self._views: Mapping[str, LegView] = {}

    def restart(self) -> None:
        """Lines were lost: write the next tick in full."""
        self._forget()

    # --- writing -------------------------------------------------------------------------------------

    def head(self) -> bytes:
        """The first line."""
        body = {
            "format": FORMAT,
            "format_version": VERSION,
            "wall": self.header.wall,
            "rules": documents.encode(self.header.rules),
        }
        return journal.line(body)

    def encode(self, observation: Observation, at: Instant) -> bytes:
        """The next line."""
        self._number += 1
        self.last = at
        head: list[Json] = [self._number, at.mono, at.boot - at.mono, at.wall - self.header.wall - at.mono]
        body = self._body(observation)
        return journal.line([*head, body] if body else head)

    def _body(self, observation: Observation) -> dict[str, Json]:
        match observation:
            case Tick():
                return self._tick(observation)
            case Resumed():
                return {name: value for name, value in documents.encode(observation).items() if value is not None}
            case CancelSeen(signal):
                return {"cancel": signal}
            case SupersedeSeen(newer):
                return {"newer": documents.encode(newer)}
            case VerdictsFound(verdicts):
                return {"found": [documents.encode(verdict) for verdict in verdicts]}

    def _tick(self, tick: Tick) -> dict[str, Json]:
        body: dict[str, Json] = {"full": True} if self._engine is None else {}
        if tick.engine != self._engine:
            if isinstance(tick.engine, EngineBlind):
                body["b"] = [tick.engine.kind, tick.engine.detail]
            else:
                changed = _changes(self._seen, tick.engine.workloads)
                body["s"] = {"c": tick.engine.complete, "n": list(tick.engine.not_found), "w": changed}
                self._seen = tick.engine.workloads
            self._engine = tick.engine
        if isinstance(tick.legs, RootBlind):
            if tick.legs != self._root:
                body["r"] = tick.legs.detail
            self._root = tick.legs
            return body
        views = _view_changes(self._views, tick.legs)
        if views or self._root is not None or "full" in body:
            body["l"] = views
        self._root, self._views = None, tick.legs
        return body

    # --- reading -------------------------------------------------------------------------------------

    def decode(self, value: Json, where: str) -> tuple[Instant, Observation] | None:
        """One line after the first; None for one that is there already (written twice around a hang)."""
        try:
            number, mono, boot, wall = value[:4]
            body = value[4] if len(value) > 4 else {}
            if number <= self._number:
                return None
            at = Instant(mono, mono + boot, self.header.wall + mono + wall)
            observation = self._observation(body, where)
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
            raise DocumentError(f"{where}: not an observation: {value!r:.200}") from error
        self._number, self.last = number, at
        return at, observation

    def _observation(self, body: dict[str, Json], where: str) -> Observation:
        if "gap" in body:
            return documents.decode(Resumed, {"interval": None, "fail_fast": None, **body}, where)
        if "cancel" in body:
            return CancelSeen(body["cancel"])
        if "newer" in body:
            return SupersedeSeen(documents.decode(NewerRun, body["newer"], where))
        if "found" in body:
            return VerdictsFound(tuple(documents.decode(Verdict, verdict, where) for verdict in body["found"]))
        return self._read_tick(body, where)

    def _read_tick(self, body: dict[str, Json], where: str) -> Tick:
        if body.get("full"):
            self._forget()
        if "b" in body:
            kind, detail = body["b"]
            self._engine = documents.decode(EngineBlind, {"kind": kind, "detail": detail}, where)
        if "s" in body:
            seen = body["s"]
            self._seen = _apply(self._seen, seen["w"], where)
            self._engine = EngineSeen(self._seen, seen["c"], tuple(seen["n"]))
        if "r" in body:
            self._root = RootBlind(body["r"])
        if "l" in body:
            self._root, self._views = None, _apply_views(self._views, body["l"], where)
        if self._engine is None:
            raise ValueError("a change of nothing")
        return Tick(self._engine, self._views if self._root is None else self._root)


def read(raw: bytes, where: str) -> tuple[Codec, Iterator[tuple[Instant, Observation]]] | None:
    """The journal `raw`: its codec, ready to go on writing once all was read, and the observations in order.

    None where there is no whole first line yet. Raises DocumentError.
    """
    lines = journal.values(raw, where)
    head = next(lines, None)
    if head is None:
        return None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise DocumentError(f"{where}: expected a journal of observations, found {head!r:.100}")
    if head.get("format_version") != VERSION:
        raise DocumentError(
            f"{where}: {FORMAT} version {head.get('format_version')!r} is not the one this gate reads ({VERSION})",
            hint="Use the gate that wrote it, or a newer one.",
        )
    wall = head.get("wall")
    if not isinstance(wall, int):
        raise DocumentError(f"{where}: expected the time of the first poll, found {wall!r}")
    codec = Codec(Header(documents.decode(GateRules, head.get("rules"), where), wall))
    return codec, _observations(codec, lines, where)


def _observations(codec: Codec, lines: Iterator[Json], where: str) -> Iterator[tuple[Instant, Observation]]:
    for value in lines:
        if isinstance(value, dict):
            continue  # the first line once more, written twice around a hang
        found = codec.decode(value, where)
        if found is not None:
            yield found


def _changes(before: Mapping[str, Workload], after: Mapping[str, Workload]) -> dict[str, Json]:
    changed: dict[str, Json] = {name: None for name in before if name not in after}
    for name, workload in after.items():
        if before.get(name) != workload:
            changed[name] = documents.encode(workload)
    return changed


def _apply(before: Mapping[str, Workload], changes: Mapping[str, Json], where: str) -> Mapping[str, Workload]:
    after = dict(before)
    for name, change in changes.items():
        if change is None:
            del after[name]
        else:
            after[name] = documents.decode(Workload, change, where)
    return after


def _view_changes(before: Mapping[str, LegView], after: Mapping[str, LegView]) -> dict[str, Json]:
    changed: dict[str, Json] = {leg: None for leg in before if leg not in after}
    for leg, view in after.items():
        old = before.get(leg, _NOTHING)
        if view is not old and (view != old or leg not in before):
            parts = ((name, getattr(view, name)) for name in _VIEW_FIELDS if getattr(view, name) != getattr(old, name))
            changed[leg] = {name: documents.encode(value) for name, value in parts}
    return changed


_NOTHING = LegView()


def _apply_views(before: Mapping[str, LegView], changes: Mapping[str, Json], where: str) -> Mapping[str, LegView]:
    after = dict(before)
    for leg, change in changes.items():
        if change is None:
            del after[leg]
            continue
        old = after.get(leg, _NOTHING)
        whole = {
            name: change[name] if name in change else documents.encode(getattr(old, name)) for name in _VIEW_FIELDS
        }
        after[leg] = documents.decode(LegView, whole, where)
    return after
