"""The gate machine: what is observed of all legs of one attempt, to verdicts and one decision. Pure.

`state = fold(step, observations)`: after a restart the poller folds its journal and is where it was. A verdict is
written once; after the decision nothing happens any more. Time enters only through `Now`, whose `mono` and `boot` are
seconds since the attempt's first poll.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gate.contracts import LegView
from gate.machines.clock import Now
from gate.machines.gate_clock import advance, blind_tick, moment_of, resumed, root_tick, seen_tick
from gate.machines.gate_conclude import conclude
from gate.machines.gate_ends import close, last_call, stop
from gate.machines.gate_look import look
from gate.machines.gate_state import GateState, LegState, Moment, Watch, WorkloadState
from gate.machines.gate_verdicts import carried, verdict_of
from gate.machines.gate_workloads import step_workloads
from gate.machines.observations import (
    Action,
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
    WriteVerdict,
)

__all__ = ["GateState", "last_call", "start", "step"]


def start(rules: GateRules, now: Now) -> GateState:
    """The state before the first observation; `now` is the attempt's first poll (`mono` and `boot` 0).

    Raises ValueError where a leg that is not carried names a workload that the rules do not have.
    """
    workloads = {w.id: WorkloadState(w, pending_boot=now.boot) for w in rules.workloads}
    for leg in rules.legs:
        if leg.carried is None and leg.workload not in workloads:
            raise ValueError(f"leg {leg.id}: no workload {leg.workload!r}")
    legs = {leg.id: LegState(leg, stamp_boot=now.boot) for leg in rules.legs}
    return GateState(rules, Watch(now), workloads, legs)


def step(state: GateState, observation: Observation, now: Now) -> tuple[GateState, tuple[Action, ...]]:
    """Take in one observation. The same state comes back, without actions, once the attempt is decided."""
    if state.decision is not None:
        return state, ()
    actions: list[Action] = []
    if not state.opened:
        state = _open(state, actions)
    match observation:
        case Tick():
            state = _tick(state, observation, now, actions)
        case Resumed():
            state = resumed(state, observation, actions)
        case VerdictsFound():
            state = _found(state, observation)
        case CancelSeen() | SupersedeSeen():
            state = stop(state, observation, now, actions)
    return state, tuple(actions)


def _open(state: GateState, actions: list[Action]) -> GateState:
    legs = dict(state.legs)
    for leg_id, leg in state.legs.items():
        verdict = carried(state.rules, leg)
        if verdict is not None:
            legs[leg_id] = replace(leg, verdict=verdict)
            actions.append(WriteVerdict(verdict))
    return replace(state, legs=legs, opened=True)


def _found(state: GateState, found: VerdictsFound) -> GateState:
    ours = {v.leg: v for v in found.verdicts if v.leg in state.legs and v.tag == state.rules.tag}
    legs = {leg_id: replace(leg, verdict=ours.get(leg_id, leg.verdict)) for leg_id, leg in state.legs.items()}
    return replace(state, legs=legs)


def _tick(state: GateState, tick: Tick, now: Now, actions: list[Action]) -> GateState:
    seen = isinstance(tick.engine, EngineSeen)
    blind = tick.legs if isinstance(tick.legs, RootBlind) else None
    interval = state.rules.poll.interval
    state = replace(state, watch=advance(state.watch, now, root=blind is None, engine=seen, interval=interval))
    if isinstance(tick.engine, EngineBlind):
        state = blind_tick(state, tick.engine, now, actions)
    else:
        state = seen_tick(state, now, actions)
    state = root_tick(state, blind, now, actions)
    moment = moment_of(state, now, seen=seen)
    if isinstance(tick.engine, EngineSeen):
        workloads, said = step_workloads(state.workloads, tick.engine, moment)
        actions += said
        state = state if workloads is state.workloads else replace(state, workloads=workloads)
    if not isinstance(tick.legs, RootBlind):
        state = _legs(state, tick.legs, moment, actions)
    return close(state, now, actions)


def _legs(state: GateState, views: Mapping[str, LegView], moment: Moment, actions: list[Action]) -> GateState:
    changed: dict[str, LegState] = {}
    for leg_id, leg in state.legs.items():
        view = views.get(leg_id)
        if leg.verdict is not None or view is None:
            continue
        workload = state.workloads[leg.rules.workload]
        after, said = look(leg, view, moment)
        after, finding, waiting = conclude(after, workload, moment)
        actions += said
        if finding is not None:
            after = replace(after, verdict=verdict_of(state, after, workload, finding, moment.now))
            assert after.verdict is not None
            actions.append(WriteVerdict(after.verdict))
        elif waiting is not None:
            actions.append(waiting)
        if after is not leg:
            changed[leg_id] = after
    return replace(state, legs={**state.legs, **changed}) if changed else state
