"""One row a leg: where it is, for the board, the plain lines and `gate status`. Derived from the state alone."""

from __future__ import annotations

from dataclasses import dataclass

from gate.documents import Json
from gate.machines.clock import Now
from gate.machines.clock import reading as clock_reading
from gate.machines.gate_look import PHASES
from gate.machines.gate_state import GateState, LegState, WorkloadState
from gate.machines.gate_workloads import end_of
from gate.machines.judge import MISSING, show
from gate.machines.verdict import Outcome, Reason
from gate.plan.model import Judge


@dataclass(frozen=True, slots=True)
class LegRow:
    """A leg at one moment. Seconds throughout; texts are from outside and carry no markup."""

    leg: str
    blocking: bool
    workload: str
    phase: str
    """One word or two: queued, starting, preparing, set-up, launching, running, ended, reading, vanished, not seen."""
    elapsed: float
    """Since the workload started, or since it began to queue; until the verdict where there is one."""
    budget: float | None
    """What `elapsed` may reach: the workload's time-out, or the queue budget."""
    turns: int
    resumes: int
    recaps: int
    redrives: int
    cost_usd: float | None
    changed: float | None
    """Since anything of the leg advanced; None where nothing has been seen, or it is decided."""
    fields: tuple[tuple[str, str], ...]
    """Shown keys of the state file and what they hold."""
    note: str
    outcome: Outcome | None
    reason: Reason | None
    carried: bool
    flaky: bool


def rows(state: GateState, now: Now) -> tuple[LegRow, ...]:
    """A row for every leg, in the order of gate.yaml. `now` as for `step`."""
    return tuple(_row(state, leg, now) for leg in state.legs.values())


def tick_data(state: GateState, now: Now) -> dict[str, Json]:
    """The `data` of the `tick` event that each poll emits: all rows, and what could be seen."""
    outage = state.outage
    return {
        "rows": [row_json(row) for row in rows(state, now)],
        "engine": "seen" if outage is None else outage.kind,
        "engine_detail": "" if outage is None else outage.detail,
        "engine_blind": 0.0 if outage is None else round(now.boot - outage.boot, 3),
        "root_blind": 0.0 if state.root_blind_boot is None else round(now.boot - state.root_blind_boot, 3),
        "undecided": sum(leg.verdict is None for leg in state.legs.values()),
        "deadline": state.rules.poll.deadline,
    }


def row_json(row: LegRow) -> dict[str, Json]:
    """The row as plain JSON, for events."""
    return {
        "leg": row.leg,
        "blocking": row.blocking,
        "workload": row.workload,
        "phase": row.phase,
        "elapsed": round(row.elapsed, 3),
        "budget": row.budget,
        "turns": row.turns,
        "resumes": row.resumes,
        "recaps": row.recaps,
        "redrives": row.redrives,
        "cost_usd": row.cost_usd,
        "changed": None if row.changed is None else round(row.changed, 3),
        "fields": [list(pair) for pair in row.fields],
        "note": row.note,
        "outcome": row.outcome.value if row.outcome is not None else None,
        "reason": row.reason.value if row.reason is not None else None,
        "carried": row.carried,
        "flaky": row.flaky,
    }


def row_from_json(body: Json) -> LegRow:
    """What `row_json` made. Raises KeyError, TypeError or ValueError for anything else."""
    return LegRow(
        **{
            **body,
            "fields": tuple((key, value) for key, value in body["fields"]),
            "outcome": None if body["outcome"] is None else Outcome(body["outcome"]),
            "reason": None if body["reason"] is None else Reason(body["reason"]),
        }
    )


def _row(state: GateState, leg: LegState, now: Now) -> LegRow:
    workload = state.workloads.get(leg.rules.workload)
    pointer = leg.view.pointer if leg.view is not None else None
    verdict = leg.verdict
    elapsed, budget = _time(state, leg, workload, now)
    started = leg.view is not None and bool(leg.view.incarnations)
    return LegRow(
        leg=leg.rules.id,
        blocking=leg.rules.blocking,
        workload=leg.rules.workload,
        phase=_phase(leg, workload),
        elapsed=elapsed,
        budget=budget,
        turns=pointer.turns if pointer else 0,
        resumes=pointer.resumes if pointer else 0,
        recaps=pointer.recaps if pointer else 0,
        redrives=pointer.redrives if pointer else 0,
        cost_usd=pointer.cost_usd if pointer else None,
        changed=max(0.0, now.boot - leg.stamp_boot) if started and verdict is None else None,
        fields=_fields(leg),
        note=_note(leg, workload),
        outcome=verdict.outcome if verdict else None,
        reason=verdict.reason if verdict else None,
        carried=verdict is not None and verdict.carried_from is not None,
        flaky=verdict is not None and verdict.flaky,
    )


def _time(state: GateState, leg: LegState, workload: WorkloadState | None, now: Now) -> tuple[float, float | None]:
    if workload is None or (leg.verdict is not None and leg.verdict.carried_from is not None):
        return 0.0, None
    end = leg.verdict.elapsed if leg.verdict is not None else clock_reading(now, "poll")
    if workload.running_boot is None and workload.pending:
        return max(0.0, end - workload.pending_boot), state.rules.poll.queue
    return max(0.0, end - (workload.running_boot or 0.0)), workload.rules.timeout


def _phase(leg: LegState, workload: WorkloadState | None) -> str:
    if leg.verdict is not None and leg.verdict.carried_from is not None:
        return "carried"
    started = leg.view is not None and bool(leg.view.incarnations)
    if workload is None or (workload.seen is None and not started):
        return "not seen"
    if leg.verdict is None and (leg.ended_since is not None or leg.bad_since is not None):
        return "reading"
    return _going(leg, workload, started=started)


def _going(leg: LegState, workload: WorkloadState, *, started: bool) -> str:
    if workload.gone:
        return "vanished"
    if workload.pending and not started:
        return "queued"
    if leg.view is not None and leg.view.pointer is not None:
        return PHASES[leg.view.pointer.phase]
    return "ended" if workload.over else "starting"


def _fields(leg: LegState) -> tuple[tuple[str, str], ...]:
    view = leg.view
    state = view.state if view is not None else None
    if leg.verdict is not None and leg.verdict.evidence is not None:
        state = leg.verdict.evidence.state
    if state is None or state.status != "ok":
        return ()
    return tuple((key, show(state.fields.get(key, MISSING))) for key in _shown(leg.rules.judge))


def _shown(judge: Judge) -> tuple[str, ...]:
    return judge.show or tuple(dict.fromkeys((*judge.passes, *judge.limits)))


def _note(leg: LegState, workload: WorkloadState | None) -> str:
    if leg.verdict is not None:
        return leg.verdict.sentence
    if workload is None:
        return ""
    if (end := end_of(workload)) is not None:
        return end.words
    if leg.bad_since is not None:
        return leg.reading.words
    seen = workload.seen
    if workload.pending and seen is not None:
        position = f"position {seen.queue_position}" if seen.queue_position is not None else ""
        return ": ".join(part for part in (position, seen.message) if part)
    return ""
