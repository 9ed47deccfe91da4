"""One leg's lane: its rows of the history and its own journals, put together on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate.machines.duration import spell
from gate.machines.gate_sofar import so_far
from gate.machines.rows import LegRow
from gate.machines.verdict import Outcome, Verdict
from gate.plan.model import LegPlan, Plan, WorkloadPlan
from gate.report.html.clocks import place
from gate.report.html.history import History, LegPast, Sign
from gate.report.html.page import Lane, Moment, Turn
from gate.report.html.phases import OF_POINTER, Change, gaps_of, spans_of
from gate.report.html.records import TAIL, Record
from gate.report.html.rungs import leg_rungs
from gate.report.html.story import Story, story_of

SKEW = 60.0
"""Seconds of clock skew from which people are told."""


@dataclass(slots=True)
class _Own:
    """What the leg itself tells, on the page's axis."""

    changes: list[Change]
    turns: list[Turn]
    writes: list[float]
    notes: list[Moment]
    remarks: list[str]
    version: str | None = None


def lane_of(
    plan: Plan, leg: LegPlan, workload: WorkloadPlan, row: LegRow, history: History, records: Sequence[Record]
) -> Lane:
    """The lane of one leg. A carried one has a verdict and nothing else."""
    state = history.state.legs[leg.id]
    verdict = state.verdict
    if verdict is not None and verdict.carried_from is not None:
        return Lane(row, verdict)
    past = history.legs[leg.id]
    end = verdict.elapsed if verdict is not None else None
    now = history.now.boot if end is None else end
    own = _own(records, history, past, now, agent=leg.kind == "agent")
    engine = history.workloads[workload.id].phases if workload.id in history.workloads else []
    spans = spans_of(engine, own.changes, end)
    wrote = [write for write in own.writes if write <= now]
    ended = next((span.begin for span in spans if span.kind == "read"), None)
    gaps = gaps_of(wrote, now if ended is None else ended, going=end is None and ended is None)
    judging = state.reading.words if verdict is None else ""
    rules = so_far(history.state, leg.id, history.now) if verdict is None else ()
    result = state.view.result if state.view is not None else None
    pointer = state.view.pointer if state.view is not None else None
    if pointer is not None and pointer.blind >= 1:
        own.remarks.append(
            f"the workload itself could not see its files for {spell(pointer.blind)}: charged to no stall budget"
        )
    return Lane(
        row=row,
        verdict=verdict,
        sentence=judging,
        rules=rules,
        spans=spans,
        turns=tuple(own.turns),
        gaps=gaps,
        rungs=leg_rungs(
            leg.budgets, workload, plan.poll, spans=spans, turns=own.turns, gaps=gaps, now=now, verdict=verdict
        ),
        moments=tuple(own.notes),
        incarnations=tuple(record.incarnation for record in records if record.incarnation),
        agent_version=own.version,
        survivors=result.survivors if result is not None else (),
        secret_hits=result.secret_hits if result is not None else (),
        log=_log(records),
        remarks=tuple(own.remarks),
    )


def wants_log(verdict: Verdict | None) -> bool:
    """The end of its transcript helps where a leg did not pass, or is not done."""
    return verdict is None or verdict.outcome in (Outcome.FAIL, Outcome.ERROR)


def _own(records: Sequence[Record], history: History, past: LegPast, now: float, *, agent: bool) -> _Own:
    own = _Own([], [], [], [], [])
    for record in records:
        if record.problem:
            own.remarks.append(f"not all of its records could be read: {record.problem}")
        if record.cut:
            own.remarks.append("its journal is very long: only the beginning was read")
        if record.journal is None:
            continue
        story = story_of(record.journal, agent=agent)
        if story.bad:
            own.remarks.append(f"{story.bad} entries of its journal could not be read and are left out")
        _put(own, story, history, [sign for sign in past.signs if sign.incarnation == record.incarnation], now)
    if not own.changes:  # no journal of its own: the pointer, as the poller saw it
        own.changes = [Change(at, OF_POINTER[phase]) for phase, at in past.phases]
        own.writes = past.writes
    return own


def _put(own: _Own, story: Story, history: History, signs: Sequence[Sign], now: float) -> None:
    placed = place(story, history.begin, signs)
    offset = placed.offset
    if abs(placed.skew) >= SKEW:
        ahead = "ahead of" if placed.skew > 0 else "behind"
        own.remarks.append(
            f"the workload's clock is about {spell(abs(placed.skew))} {ahead} the poller's; its times are shifted by it"
        )
    # The page tells of the last observation: what the leg did since is not mixed in.
    own.changes += [Change(offset + at, phase) for phase, at in story.phases if offset + at <= now]
    if story.ended is not None and offset + story.ended <= now:
        own.changes.append(Change(offset + story.ended, "read"))
    own.writes += [offset + at for at in story.writes]
    own.notes += [Moment(offset + at, text) for at, text in story.notes if offset + at <= now]
    own.version = story.version or own.version
    for turn in story.turns:
        if offset + turn.begin <= now:
            last = story.ended if turn.end is None else turn.end
            known = last is not None and offset + last <= now
            end = offset + last if known and last is not None else None
            own.turns.append(
                Turn(
                    turn.ordinal,
                    turn.kind,
                    turn.how,
                    offset + turn.begin,
                    end,
                    turn.outcome if known else "",
                    turn.said if known else "",
                    turn.budget,
                    turn.cost_usd,
                )
            )


def _log(records: Sequence[Record]) -> str:
    raw = next((record.log for record in reversed(records) if record.log), b"")
    text = raw.decode("utf-8", "replace")
    whole = text.partition("\n")[2] if len(raw) >= TAIL else text
    return whole.strip("\n")
