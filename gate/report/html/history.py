"""The journal of observations folded once more, keeping what the fold itself forgets: when each thing was first seen.

Everything here is on the poller's clock, to within one poll interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gate.contracts import LegView
from gate.machines import gate
from gate.machines.clock import Now
from gate.machines.gate_state import GateState, WorkloadState
from gate.machines.observations import Observation, Resumed, RootBlind, Say, Tick
from gate.report.html.page import Blind, Moment, Unseen

TOLD = frozenset(("blind", "seen_again", "root_blind", "root_seen_again", "resumed_watch"))
"""What happens to the gate as a whole, as the gate machine says it."""
TOLD_ONCE = frozenset(("loss_announced",))


@dataclass(frozen=True, slots=True)
class Sign:
    """Something a leg had done, first seen at `by` and not yet at `after` (None: nobody had looked before).

    `what` is start, turn or end; `count` the turns begun.
    """

    what: str
    incarnation: str
    count: int
    after: float | None
    by: float


@dataclass(slots=True)
class LegPast:
    """What was seen of one leg, in order."""

    phases: list[tuple[str, float]] = field(default_factory=list)
    """Phases of its session pointer, and when each was first seen."""
    writes: list[float] = field(default_factory=list)
    """When its state file was first seen with new content."""
    signs: list[Sign] = field(default_factory=list)
    looked: float | None = None
    view: LegView | None = None


@dataclass(slots=True)
class WorkloadPast:
    """A workload's phases (pending, running, over) in the engine's eyes, and when each was first seen."""

    phases: list[tuple[str, float]] = field(default_factory=list)


@dataclass(slots=True)
class History:
    """The fold's end, and what it passed through."""

    state: GateState
    now: Now
    begin: float
    """Wall time of the first poll."""
    observed: bool = False
    legs: dict[str, LegPast] = field(default_factory=dict)
    workloads: dict[str, WorkloadPast] = field(default_factory=dict)
    blind: list[Blind] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)


def history_of(state: GateState, begin: Now, past: Iterable[tuple[Now, Observation]]) -> History:
    """Fold `past`, on the attempt's own time, over the state of its first poll."""
    found = History(state, begin, begin.wall - begin.boot)
    found.legs = {leg: LegPast() for leg in state.legs}
    found.workloads = {name: WorkloadPast() for name in state.workloads}
    open_blind: dict[Unseen, float] = {}
    for now, observation in past:
        before = found.state
        if isinstance(observation, Resumed):
            start = max(0.0, now.boot - observation.gap)
            found.blind.append(Blind("poller", start, now.boot, "nobody polled"))
        found.state, actions = gate.step(before, observation, now)
        found.now, found.observed = now, True
        for action in actions:
            if isinstance(action, Say) and action.kind in TOLD | TOLD_ONCE:
                named = f"{action.leg}: " if action.leg is not None else ""
                found.moments.append(Moment(now.boot, f"{named}{action.text}"))
        _note_blind(found, before, open_blind)
        _note_workloads(found, before)
        if isinstance(observation, Tick) and not isinstance(observation.legs, RootBlind):
            _note_legs(found, observation.legs, now.boot)
    found.blind += [_blind(what, start, None, found.state) for what, start in open_blind.items()]
    return found


def _note_blind(found: History, before: GateState, begun: dict[Unseen, float]) -> None:
    state, now = found.state, found.now.boot
    since: dict[Unseen, float | None] = {
        "engine": state.outage.boot if state.outage is not None else None,
        "root": state.root_blind_boot,
    }
    for what, start in since.items():
        if start is not None:
            begun.setdefault(what, start)
        elif what in begun:
            found.blind.append(_blind(what, begun.pop(what), now, before))


def _blind(what: Unseen, begin: float, end: float | None, state: GateState) -> Blind:
    if what == "root":
        return Blind(what, begin, end, "the shared root did not answer")
    detail = f" ({state.outage.detail})" if state.outage is not None and state.outage.detail else ""
    kind = f": {state.outage.kind.replace('_', ' ')}" if state.outage is not None else ""
    return Blind(what, begin, end, f"the engine could not be seen{kind}{detail}")


def _note_workloads(found: History, before: GateState) -> None:
    if found.state.workloads is before.workloads:
        return
    for name, workload in found.state.workloads.items():
        if workload is before.workloads.get(name):
            continue
        phases = found.workloads[name].phases
        phase = _phase(workload)
        if phase and (not phases or phases[-1][0] != phase):
            phases.append((phase, found.now.boot))


def _phase(workload: WorkloadState) -> str:
    if workload.over:
        return "over"
    if workload.seen is None:
        return ""
    return "pending" if workload.pending else "running"


def _note_legs(found: History, views: Mapping[str, LegView], now: float) -> None:
    for leg, view in views.items():
        past = found.legs.get(leg)
        if past is None:
            continue
        if view is not past.view and view != past.view:
            _note_leg(past, past.view or LegView(), view, now)
            past.view = view
        past.looked = now


def _note_leg(past: LegPast, before: LegView, view: LegView, now: float) -> None:
    last = view.incarnations[-1] if view.incarnations else ""
    again = bool(before.incarnations) and last != before.incarnations[-1]
    if last and (again or not before.incarnations):
        past.signs.append(Sign("start", last, 0, past.looked, now))
    old, new = (None if again else before.pointer), view.pointer
    if new is not None:
        if old is None or old.phase != new.phase:
            past.phases.append((new.phase, now))
        if new.turns > (old.turns if old is not None else 0):
            past.signs.append(Sign("turn", last, new.turns, past.looked, now))
    if view.result is not None and (before.result is None or again):
        past.signs.append(Sign("end", last, 0, past.looked, now))
    if view.state.status == "ok" and view.state.sha256 != before.state.sha256:
        past.writes.append(now)
