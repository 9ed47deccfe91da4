"""What an `Event` carries, by kind: the contract between the poller and everything that reports.

`at` is wall time (Unix seconds), `elapsed` seconds since the attempt's first poll, `text` one sentence for people,
`leg` the leg it is about, or None. `data` by kind; more keys may come within a version, none goes or changes its type:

    run               gate, version, run, attempt, tag, scope, ref, commit, legs [{leg, blocking, workload}], deadline;
                      written by reporters themselves as their first word, from `Heading`
    tick              one a poll: rows [LegRow as JSON], engine ("seen", or how it is blind), engine_detail,
                      engine_blind, root_blind (seconds, 0 where it can be seen), undecided (count), deadline
    phase             workload, phase, reason, legs: the engine's word on a workload changed
    leg_phase         phase, turns, resumes, recaps, redrives: the leg's own progress
    resumed, recapped, redriven     the same keys: a further turn, and what kind of one it is
    restarted         incarnations
    evidence_waiting  budget: a leg has ended, or its state file cannot be read; it is read again
    loss_announced    outcome, reason: a blocking leg did not pass, the others go on
    blind, seen_again            kind, detail; gap, polls: the engine
    root_blind, root_seen_again  detail; gap: the shared root
    resumed_watch     gap: the poller was down
    verdict           verdict (the document's fields), again: told before, by an earlier poller
    decision          decision (the document's fields)

Other kinds (`cancelled`, `kept`, `remains` …) are the driver's own notes: their text says all.
"""

from __future__ import annotations

from dataclasses import dataclass

from gate.contracts import Event
from gate.documents import decode
from gate.machines.rows import LegRow, row_from_json
from gate.machines.verdict import Verdict
from gate.rundir.formats import Attempt, Decision

EVENTS_VERSION = 1
"""Version of the JSON lines that `--events FILE` holds."""

QUIET = frozenset({"tick"})
"""Kinds that no line is written for."""


@dataclass(frozen=True, slots=True)
class Heading:
    """Whose events they are: the first line of every report."""

    gate: str
    version: str
    run: str
    attempt: int
    tag: str
    scope: str
    ref: str
    commit: str
    legs: tuple[tuple[str, bool, str], ...]
    """(leg, blocking, workload)."""
    deadline: float


def heading_of(attempt: Attempt) -> Heading:
    """The heading of one attempt."""
    plan = attempt.plan
    workload = {leg: w.id for w in plan.workloads for leg in w.legs}
    return Heading(
        gate=plan.gate,
        version=plan.version,
        run=attempt.run,
        attempt=attempt.attempt,
        tag=attempt.tag,
        scope=plan.scope,
        ref=plan.ref,
        commit=plan.commit,
        legs=tuple((leg.id, leg.blocking, workload[leg.id]) for leg in plan.legs),
        deadline=plan.poll.deadline,
    )


def rows_of(event: Event) -> tuple[LegRow, ...]:
    """The rows of a `tick` event; none of any other."""
    return tuple(row_from_json(row) for row in event.data["rows"]) if event.kind == "tick" else ()


def verdict_of(event: Event) -> Verdict | None:
    """The verdict that a `verdict` event tells, or None of any other."""
    return decode(Verdict, event.data["verdict"], "event") if event.kind == "verdict" else None


def decision_of(event: Event) -> Decision | None:
    """The decision that a `decision` event tells, or None of any other."""
    return decode(Decision, event.data["decision"], "event") if event.kind == "decision" else None
