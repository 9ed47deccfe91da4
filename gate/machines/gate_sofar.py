"""What is known so far of a leg that is not judged: what was seen, and how far each budget that may end it has run."""

from __future__ import annotations

from collections.abc import Iterator

from gate.machines.clock import Now
from gate.machines.clock import reading as clock_reading
from gate.machines.gate_clock import moment_of
from gate.machines.gate_derive import (
    AFTER_END,
    DEADLINE,
    EVER,
    MOVES,
    QUEUE,
    READABLE,
    blind_root,
    evidence_rules,
    going,
)
from gate.machines.gate_state import GateState, LegState, Moment, WorkloadState
from gate.machines.verdict import Rule


def so_far(state: GateState, leg_id: str, now: Now) -> tuple[Rule, ...]:
    """The derivation as far as it has come; no rule in it decides. `now` as for `step`.

    Raises KeyError for a leg that the rules do not have. A carried leg, which has no workload, has nothing to show.
    """
    leg = state.legs[leg_id]
    workload = state.workloads.get(leg.rules.workload)
    if workload is None:
        return ()
    moment = moment_of(state, now, seen=state.watch.engine)
    root = blind_root(state.root_blind_boot, now.boot)
    return (*evidence_rules(leg, workload, moment.ages), *root, *_budgets(leg, workload, moment))


def _budgets(leg: LegState, workload: WorkloadState, moment: Moment) -> Iterator[Rule]:
    poll = moment.rules.poll
    if workload.pending:
        yield going(QUEUE, clock_reading(moment.now, "queue") - workload.pending_boot, poll.queue)
    if leg.ended_since is not None:
        yield going(AFTER_END, moment.looks - leg.ended_since, leg.rules.evidence)
    elif leg.bad_since is not None:
        yield going(READABLE, moment.looks - leg.bad_since, leg.rules.evidence)
    if leg.rules.silence is not None and leg.reading.kind == "running":
        yield going(EVER, moment.clear - leg.state_clear, leg.rules.silence)
    if moment.outage is not None:
        yield going(MOVES, moment.looks - max(moment.outage.since, leg.stamp_looks), poll.outage)
    yield going(DEADLINE, clock_reading(moment.now, "poll"), poll.deadline)
