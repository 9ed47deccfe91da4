"""Where a run stands, from its directory alone: the journal folded once more, beside verdicts, leases and decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gate.machines import gate
from gate.machines.clock import Now
from gate.machines.gate_state import GateState
from gate.machines.observations import VerdictsFound
from gate.machines.verdict import Verdict
from gate.poll import journal
from gate.poll.rules import rules_of
from gate.reap.remaining import Remaining
from gate.report.decision import Closing
from gate.rundir import layout, lease
from gate.rundir.formats import Attempt, Decision, Kept, Lease, WorkloadEntry
from gate.rundir.run import Run


@dataclass(frozen=True, slots=True)
class Standing:
    """One attempt of a run. `now` is the last observation on the attempt's own time; `observed`: there was one."""

    attempt: Attempt
    state: GateState
    now: Now
    observed: bool
    verdicts: Mapping[str, Verdict]
    decision: Decision | None
    entries: tuple[WorkloadEntry, ...]
    kept: tuple[Kept, ...]
    poller: Lease | None
    """Who holds the run's lease; whether that process lives is not known from one look."""


async def standing_of(run: Run, attempt: Attempt) -> Standing:
    """Read one attempt. Raises StoreError, and DocumentError for a record that cannot be read."""
    state, now, observed = await _fold(run, attempt)
    # What is on disk stands; an attempt that nobody polled yet shows its carried legs so, too.
    state, _ = gate.step(state, VerdictsFound(tuple((await run.verdicts(attempt.tag)).values())), now)
    entries: list[WorkloadEntry] = []
    kept: list[Kept] = []
    for tag in attempt.tags:
        entries += (await run.entries(tag)).values()
        kept += (await run.kept(tag)).values()
    return Standing(
        attempt=attempt,
        state=state,
        now=now,
        observed=observed,
        verdicts={name: leg.verdict for name, leg in state.legs.items() if leg.verdict is not None},
        decision=await run.decision(attempt.tag),
        entries=tuple(entries),
        kept=tuple(kept),
        poller=await lease.current(run.store),
    )


async def closing_of(run: Run, decision: Decision, remaining: Sequence[Remaining], wall: float) -> Closing:
    """What the closing text of a decided attempt is made of. Raises StoreError, DocumentError."""
    attempt = await run.attempt(decision.attempt)
    tags = attempt.tags if attempt is not None else (decision.tag,)
    kept = [lease for tag in tags for lease in (await run.kept(tag)).values()]
    sentences = {leg: verdict.sentence for leg, verdict in (await run.verdicts(decision.tag)).items()}
    gone = {entry.id for entry in (await run.entries(decision.tag)).values() if entry.stage == "seen_gone"}
    return Closing(decision, sentences, [lease for lease in kept if lease.workload not in gone], remaining, wall)


async def _fold(run: Run, attempt: Attempt) -> tuple[GateState, Now, bool]:
    key = layout.observations(attempt.tag)
    raw = await run.store.read(key)
    found = journal.read(raw, key) if raw is not None else None
    if found is None:
        begin = Now(mono=0.0, wall=attempt.created, boot=0.0)
        return gate.start(await rules_of(run, attempt, list_lag=0.0), begin), begin, False
    codec, past = found
    now = codec.last.now()
    state, observed = gate.start(codec.header.rules, now), False
    for at, observation in past:
        now, observed = at.now(), True
        state, _ = gate.step(state, observation, now)
    return state, now, observed
