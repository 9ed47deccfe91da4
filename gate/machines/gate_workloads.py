"""The engine's word on each workload: phases that may go backwards, lists that may lag, ids that may be unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gate.contracts import EndReason, Phase, Workload
from gate.machines.gate_state import Moment, WorkloadState
from gate.machines.observations import EngineSeen, Say
from gate.machines.verdict import Reason

MISSING_LISTS = 2
"""Complete lists in a row that must lack a workload before it has vanished."""

REASONS: dict[EndReason, Reason] = {
    "": Reason.ENDED_WITHOUT_RESULT,
    "exit": Reason.ENDED_WITHOUT_RESULT,
    "out_of_memory": Reason.OUT_OF_MEMORY,
    "evicted": Reason.EVICTED,
    "node_lost": Reason.NODE_LOST,
    "timeout": Reason.WORKLOAD_TIMEOUT,
    "stopped": Reason.WORKLOAD_STOPPED,
    "image_unavailable": Reason.IMAGE_UNAVAILABLE,
    "unschedulable": Reason.UNSCHEDULABLE,
    "preempted": Reason.EVICTED,
    "lost": Reason.VANISHED,
}

WORDS: dict[EndReason, str] = {
    "": "ended",
    "exit": "ended",
    "out_of_memory": "ran out of memory",
    "evicted": "was evicted",
    "node_lost": "lost its node",
    "timeout": "was ended by its time-out",
    "stopped": "was stopped",
    "image_unavailable": "could not get its image",
    "unschedulable": "cannot be scheduled",
    "preempted": "was preempted",
    "lost": "is gone: its supervisor left no exit code",
}


@dataclass(frozen=True, slots=True)
class End:
    """Why nothing more will come from a workload. `plain`: the engine knows of nothing but an exit."""

    reason: Reason
    words: str
    plain: bool


def step_workloads(
    states: Mapping[str, WorkloadState], engine: EngineSeen, moment: Moment
) -> tuple[Mapping[str, WorkloadState], list[Say]]:
    """Take in one answer of the engine. The same mapping comes back where nothing changed."""
    changed: dict[str, WorkloadState] = {}
    said: list[Say] = []
    for name, state in states.items():
        after = _step(state, engine, moment)
        if after is state:
            continue
        changed[name] = after
        if (say := _say(state, after)) is not None:
            said.append(say)
    return ({**states, **changed} if changed else states), said


def end_of(state: WorkloadState) -> End | None:
    """How the workload ended, or None while it may still do something.

    One that its supervisor holds open for post-mortem has ended too: only leases begin after bootstrap's end, and a
    bootstrap that could not even make its leg's directory says so nowhere else.
    """
    if state.gone:
        return End(Reason.VANISHED, "the workload vanished: the engine no longer knows it", plain=False)
    seen = state.seen
    if seen is None or not (seen.phase.terminal or seen.kept_until is not None):
        return None
    why: EndReason = "stopped" if seen.phase is Phase.STOPPED and not seen.reason else seen.reason
    plain = why in ("", "exit")
    return End(REASONS[why], f"the workload {WORDS[why]}{_details(seen)}", plain)


def words_of(state: WorkloadState) -> str:
    """The engine's last word, as one phrase: `Failed, out_of_memory, exit code 137`."""
    if state.gone:
        return "not found"
    if state.seen is None:
        return "not seen"
    reason = "" if state.seen.reason == "exit" else state.seen.reason
    parts = [state.seen.phase.value, reason]
    if state.seen.exit_code is not None:
        parts.append(f"exit code {state.seen.exit_code}")
    return ", ".join(part for part in parts if part)


def _step(state: WorkloadState, engine: EngineSeen, moment: Moment) -> WorkloadState:
    name = state.rules.id
    seen = engine.workloads.get(name)
    if seen is None:
        return _missing(state, engine.complete, name in engine.not_found, moment)
    if seen == state.seen and state.missing_lists == 0 and not state.gone:
        return state
    pending, running = state.pending_boot, state.running_boot
    before = state.seen.phase if state.seen is not None else None
    if seen.phase is Phase.PENDING and before not in (None, Phase.PENDING, Phase.UNKNOWN):
        pending, running = moment.now.boot, None  # preempted and queued again
    if seen.phase is Phase.RUNNING and running is None:
        running = moment.now.boot
    return WorkloadState(state.rules, seen, pending, running)


def _missing(state: WorkloadState, complete: bool, unknown: bool, moment: Moment) -> WorkloadState:
    if state.over or state.rules.create_problem or not (complete or unknown):
        return state  # an engine forgets what has ended; absence in an incomplete list means nothing
    since = moment.now.mono if state.missing_mono is None else state.missing_mono
    lists = state.missing_lists + 1
    lagged = moment.now.mono - since >= moment.rules.list_lag
    gone = lagged and (unknown or lists >= MISSING_LISTS)
    return replace(state, missing_mono=since, missing_lists=lists, gone=gone)


def _say(before: WorkloadState, after: WorkloadState) -> Say | None:
    old, new = before.seen, after.seen
    legs = after.rules.legs
    name = "workload" if len(legs) == 1 else f"workload {after.rules.id}"
    if after.gone:
        said, word = f"{name} vanished: the engine no longer knows it", "Vanished"
    elif new is None or (old is not None and not before.gone and (old.phase, old.reason) == (new.phase, new.reason)):
        return None
    else:
        came = f"{old.phase.value} → " if old is not None and old.phase is not new.phase else ""
        why = f" ({WORDS[new.reason]})" if new.reason not in ("", "exit") else ""
        said, word = f"{name} {came}{new.phase.value}{why}{_details(new)}", new.phase.value
    data = {"workload": after.rules.id, "phase": word, "reason": new.reason if new else "", "legs": list(legs)}
    return Say("phase", legs[0] if len(legs) == 1 else None, said, data)


def _details(seen: Workload) -> str:
    position = f" at position {seen.queue_position} of the queue" if seen.queue_position is not None else ""
    if seen.exit_code is None:
        code = ""
    elif seen.exit_code == 137 and seen.reason != "out_of_memory":
        code = " with exit code 137 (killed; often for want of memory)"
    else:
        code = f" with exit code {seen.exit_code}"
    message = f": {seen.message}" if seen.message else ""
    return f"{position}{code}{message}"
