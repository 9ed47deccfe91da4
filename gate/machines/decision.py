"""All verdicts of an attempt to one decision: the word, the exit code, the cause in one sentence, whom to keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from gate import errors
from gate.machines.clock import Now
from gate.machines.gate_state import WorkloadState
from gate.machines.observations import CancelSeen, GateRules, SupersedeSeen
from gate.machines.verdict import Outcome, Reason, Verdict
from gate.rundir.formats import Decision, LegDecision

Stop = CancelSeen | SupersedeSeen | None
"""What ended the attempt from outside, if anything did."""

SIGINT = 2
SIGNALS = {SIGINT: "SIGINT", 15: "SIGTERM"}

NAMED = 5
"""Legs that a cause names before it counts the rest."""

WORST = (Outcome.FAIL, Outcome.ERROR, Outcome.NOT_JUDGED, Outcome.PASS)
"""Outcomes, worst first: what the product did before what the infrastructure did."""

PHRASES: dict[Reason, str] = {
    Reason.NOT_ACCEPTED: "a value outside the success set",
    Reason.LIMIT_EXCEEDED: "a limit exceeded",
    Reason.FLAKY: "passed only on a later attempt",
    Reason.OUT_OF_MEMORY: "out of memory",
    Reason.WORKLOAD_TIMEOUT: "workload time-out",
    Reason.POLL_DEADLINE: "not decided before the poll deadline",
    Reason.FAIL_FAST: "not judged: another leg decided first",
    Reason.SUPERSEDED: "not judged: superseded",
    Reason.CANCELLED: "not judged: cancelled",
}
"""Reasons whose code alone reads badly."""


def decide(rules: GateRules, verdicts: Mapping[str, Verdict], now: Now, stop: Stop = None) -> Decision:
    """The decision over a verdict of every leg. Informing legs never change word or exit code."""
    ordered = [verdicts[leg.id] for leg in rules.legs]
    blocking = [v for v in ordered if v.blocking]
    word, code = _word(rules, blocking, stop)
    return Decision(
        run=rules.run,
        attempt=rules.attempt,
        tag=rules.tag,
        scope=rules.scope,
        word=word,
        exit_code=code,
        cause=_cause(ordered, stop),
        legs=tuple(
            LegDecision(v.leg, v.blocking, v.outcome, v.reason, v.carried_from is not None, v.flaky) for v in ordered
        ),
        at=now.wall,
        elapsed=now.boot,
    )


def to_keep(workloads: Iterable[WorkloadState], verdicts: Mapping[str, Verdict], stop: Stop = None) -> tuple[str, ...]:
    """Workloads to keep, as far as they were seen to run.

    After a supersede all of them; after a cancel none; else those with a leg that did not pass, for post-mortem. One
    that waits in the queue has nothing to look at, and no supervisor that would end its lease: kept, it would wait for
    ever.
    """
    if isinstance(stop, CancelSeen):
        return ()
    alive = [w.rules for w in workloads if w.seen is not None and not w.over and not w.pending]
    if isinstance(stop, SupersedeSeen):
        return tuple(w.id for w in alive)
    return tuple(w.id for w in alive if any(verdicts[leg].outcome is not Outcome.PASS for leg in w.legs))


def phrase(reason: Reason) -> str:
    """A reason code as words."""
    return PHRASES.get(reason, reason.value.replace("_", " "))


def grouped(verdicts: Sequence[Verdict]) -> str:
    """What did not pass, worst first, one group a reason: `leg d: …; 3 legs (a, b, c): out of memory`.

    Legs that were not judged because of these are counted at the end.
    """
    groups: dict[tuple[Outcome, Reason], list[Verdict]] = {}
    for verdict in sorted(verdicts, key=lambda v: WORST.index(v.outcome)):
        if verdict.outcome in (Outcome.FAIL, Outcome.ERROR):
            groups.setdefault((verdict.outcome, verdict.reason), []).append(verdict)
    said = [_group(members) for members in groups.values()]
    unjudged = [v for v in verdicts if v.outcome is Outcome.NOT_JUDGED]
    if unjudged:
        said.append(f"{_legs(len(unjudged))} {phrase(unjudged[0].reason)}")
    return "; ".join(said)


def _word(
    rules: GateRules, blocking: Sequence[Verdict], stop: Stop
) -> tuple[Literal["GO", "PASSED", "NO-GO", "NOT MEASURED", "SUPERSEDED", "CANCELLED"], int]:
    if isinstance(stop, CancelSeen):
        interrupted = stop.signal == SIGINT
        return "CANCELLED", errors.EXIT_CANCELLED_INT if interrupted else errors.EXIT_CANCELLED_TERM
    if isinstance(stop, SupersedeSeen):
        return "SUPERSEDED", errors.EXIT_SUPERSEDED
    if any(v.outcome is Outcome.FAIL for v in blocking):
        return "NO-GO", errors.EXIT_FAILED
    if not blocking or any(v.outcome is not Outcome.PASS for v in blocking):
        # hew-lang#2857: an empty result is not a pass
        return "NOT MEASURED", errors.EXIT_NOT_MEASURED
    return ("GO" if rules.scope == "full" else "PASSED"), errors.EXIT_PASSED


def _cause(verdicts: Sequence[Verdict], stop: Stop) -> str:
    judged = [v for v in verdicts if v.outcome is not Outcome.NOT_JUDGED]
    if stop is not None:
        first = (
            f"cancelled by {SIGNALS.get(stop.signal, f'signal {stop.signal}')}"
            if isinstance(stop, CancelSeen)
            else _newer(stop)
        )
        lost = grouped([v for v in judged if v.blocking])
        return f"{first}; {len(judged)} of {_legs(len(verdicts))} had a verdict" + (f"; {lost}" if lost else "")
    blocking = [v for v in verdicts if v.blocking]
    informing = grouped([v for v in verdicts if not v.blocking])
    aside = f"; informing only: {informing}" if informing else ""
    if not blocking:
        return f"no blocking leg was judged{aside}"
    lost = grouped(blocking)
    if lost:
        return lost
    count = "the blocking leg" if len(blocking) == 1 else f"all {len(blocking)} blocking legs"
    flaky = [v.leg for v in blocking if v.flaky]
    again = f"; only on a later attempt: {_names(flaky)}" if flaky else ""
    return f"{count} passed{again}{aside}"


def _group(members: Sequence[Verdict]) -> str:
    first = members[0]
    if len(members) == 1:
        return f"leg {first.leg}: {first.sentence}"
    return f"{len(members)} legs ({_names([m.leg for m in members])}): {phrase(first.reason)}"


def _names(legs: Sequence[str]) -> str:
    shown = ", ".join(legs[:NAMED])
    return f"{shown} and {len(legs) - NAMED} more" if len(legs) > NAMED else shown


def _legs(count: int) -> str:
    return "1 leg" if count == 1 else f"{count} legs"


def _newer(stop: SupersedeSeen) -> str:
    return f"superseded by run {stop.newer.run} ({stop.newer.commit[:12]})"
