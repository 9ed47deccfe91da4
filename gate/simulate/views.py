"""Faults of the poller's view of a leg's files, as a decorator around its contract."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import trio

from gate.contracts import LegFiles, LegQuery, LegView
from gate.machines.verdict import StateView
from gate.rundir.statefile import parse

OTHER_TAG = "otherrunxx"
"""Tag of an earlier run whose files lie about."""


@dataclass(frozen=True, slots=True)
class ViewFault:
    """From `start` until `end` the poller sees the leg `leg` wrongly. `seconds`: how late, for `delayed`."""

    kind: Literal["unreadable", "stale", "foreign", "delayed"]
    leg: str
    start: float
    end: float
    seconds: float = 0.0
    chance: float = 1.0
    other: bytes = b""
    """The other run's state file, for `foreign`."""


class BlurredLegFiles:
    """What a poller sees of legs whose files are delayed by an attribute cache, unreadable, stale, or mixed up."""

    def __init__(self, files: LegFiles, faults: Sequence[ViewFault], dice: random.Random) -> None:
        self._files = files
        self._dice = dice
        self._faults: dict[str, list[ViewFault]] = {}
        for fault in faults:
            self._faults.setdefault(fault.leg, []).append(fault)
        self._seen: dict[str, list[tuple[float, LegView]]] = {}

    async def look(self, queries: Sequence[LegQuery]) -> Mapping[str, LegView]:
        found = dict(await self._files.look(queries))
        now = trio.current_time()
        for query in queries:
            if query.leg in self._faults and query.leg in found:
                found[query.leg] = self._blur(query, found[query.leg], now)
        return found

    def _blur(self, query: LegQuery, view: LegView, now: float) -> LegView:
        past = self._seen.setdefault(query.leg, [])
        if not past or past[-1][1] != view:
            past.append((now, view))
        for fault in self._faults[query.leg]:
            if fault.start <= now < fault.end and (fault.chance >= 1.0 or self._dice.random() < fault.chance):
                view = _faulted(fault, query, view, past, now)
        return view


def _faulted(
    fault: ViewFault, query: LegQuery, view: LegView, past: Sequence[tuple[float, LegView]], now: float
) -> LegView:
    match fault.kind:
        case "delayed":
            return _as_of(past, now - fault.seconds)
        case "stale":
            old = _as_of(past, fault.start)
            return replace(view, state=old.state) if old.incarnations == view.incarnations else view
        case "unreadable":
            if view.state.status == "absent":
                return view
            denied = StateView("unreadable", view.state.path, detail="cannot be read: Permission denied")
            return replace(view, state=denied)
        case "foreign":
            if view.pointer is None:
                return view
            pointer = replace(view.pointer, tag=OTHER_TAG, phase="ended")
            return replace(view, pointer=pointer, state=parse(fault.other, query.keys, view.state.path), result=None)


def _as_of(past: Sequence[tuple[float, LegView]], moment: float) -> LegView:
    """The newest view that is at least that old; nothing where there is none."""
    return next((view for at, view in reversed(past) if at <= moment), LegView())
