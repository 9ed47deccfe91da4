"""How an attempt ends: every leg has its verdict, fail-fast, the poll deadline, a cancel, a newer run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gate.machines.clock import Now
from gate.machines.clock import reading as clock_reading
from gate.machines.decision import decide, to_keep
from gate.machines.gate_state import Finding, GateState, LegState, WorkloadState
from gate.machines.gate_verdicts import first_loss, overdue, overtaken, stopped, verdict_of
from gate.machines.observations import Action, CancelSeen, Decide, Say, SupersedeSeen, WriteVerdict
from gate.machines.verdict import Verdict
from gate.plan.model import PollBudgets

LOOK = 30.0
"""Seconds that the last look before the poll deadline may take, beyond one interval."""


def last_call(poll: PollBudgets) -> float:
    """Seconds since the first poll at which the last look falls due, so that poll ends before its deadline."""
    return poll.deadline - min(poll.deadline / 10, poll.interval + LOOK)


def close(state: GateState, now: Now, actions: list[Action]) -> GateState:
    """After a tick in which everything that could be judged was: does the attempt end with it?"""
    loss = first_loss(state.legs.values()) if not state.lost else None
    if loss is not None and state.rules.fail_fast:
        state = _rest(state, now, actions, lambda leg, workload: overtaken(state, leg, workload, loss, now))
    if clock_reading(now, "poll") >= last_call(state.rules.poll):
        state = _rest(state, now, actions, lambda leg, workload: overdue(state, leg, workload, now))
    if all(leg.verdict is not None for leg in state.legs.values()):
        return _decide(state, now, actions, None)
    if loss is None:
        return state
    actions.append(_announce(loss))
    return replace(state, lost=True)


def stop(state: GateState, why: CancelSeen | SupersedeSeen, now: Now, actions: list[Action]) -> GateState:
    """End the attempt from outside. What its last look could judge has its verdict already."""
    state = _rest(state, now, actions, lambda leg, workload: stopped(state, leg, workload, why, now))
    return _decide(state, now, actions, why)


def _rest(
    state: GateState, now: Now, actions: list[Action], find: Callable[[LegState, WorkloadState], Finding]
) -> GateState:
    legs = dict(state.legs)
    for leg_id, leg in state.legs.items():
        if leg.verdict is not None:
            continue
        workload = state.workloads[leg.rules.workload]
        verdict = verdict_of(state, leg, workload, find(leg, workload), now)
        legs[leg_id] = replace(leg, verdict=verdict)
        actions.append(WriteVerdict(verdict))
    return replace(state, legs=legs)


def _decide(state: GateState, now: Now, actions: list[Action], why: CancelSeen | SupersedeSeen | None) -> GateState:
    verdicts = {leg_id: leg.verdict for leg_id, leg in state.legs.items() if leg.verdict is not None}
    decision = decide(state.rules, verdicts, now, why)
    actions.append(Decide(decision, to_keep(state.workloads.values(), verdicts, why)))
    return replace(state, decision=decision)


def _announce(loss: Verdict) -> Say:
    text = f"the gate is lost: {loss.outcome.value} {loss.reason.value}; the other legs go on to their own verdicts"
    return Say("loss_announced", loss.leg, text, {"outcome": loss.outcome.value, "reason": loss.reason.value})
