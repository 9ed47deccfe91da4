"""Set-up: turns until the marker stands on the last line and the leg's own check agrees. Budgeted in time.

Between turns: something still changes, so go on with a short nudge; nothing changes, so pause, longer each time, and
nudge again. Only pauses are charged to the stall budget, and only a full scan that began after it ran out ends the leg.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from dataclasses import replace

from gate.contracts import TurnEnd
from gate.machines import leg_quiet, leg_turns
from gate.machines.clock import Now, reading
from gate.machines.duration import spell
from gate.machines.leg_model import (
    Action,
    Audit,
    Audited,
    FullScan,
    LegState,
    Looked,
    Note,
    RunVerify,
    Step,
    TurnEnded,
    TurnKind,
    Verified,
    finish,
)
from gate.machines.leg_task import begin_task
from gate.machines.verdict import Reason

EXTRA = 2000
"""Characters of the check's output that a nudge carries."""

UNFINISHED = frozenset(
    (
        *("apt", "apt-get", "dnf", "dpkg", "yum", "conda", "mamba", "npm", "pip", "pip3", "uv"),
        *("bazel", "cargo", "cc1", "cc1plus", "cmake", "g++", "gcc", "hipcc", "make", "ninja", "nvcc"),
        *("aria2c", "curl", "docker", "git", "huggingface-cli", "rsync", "tar", "unzip", "wget"),
    )
)
"""Programs that do set-up work: alive after the last set-up turn, they are noted."""


def begin(state: LegState, now: Now) -> Step:
    """The leg is prepared: its first turn."""
    state = replace(
        state, phase="setup", setup_began=reading(now, "setup"), quiet=replace(state.quiet, looked=now.mono)
    )
    return _turn(state, "setup", now)


def step(state: LegState, seen: TurnEnded | Verified | Audited | Looked, now: Now) -> Step:
    """One observation during set-up."""
    match seen:
        case TurnEnded():
            return _turn_ended(state, seen, now)
        case Verified():
            return _verified(state, seen, now)
        case Audited():
            return _audited(state, seen, now)
        case Looked():
            return _looked(state, seen, now)


def marked(text: str, marker: str) -> bool:
    """Is the completion marker the last line of `text` that is not empty?"""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return bool(lines) and lines[-1] == marker


def _turn(state: LegState, kind: TurnKind, now: Now) -> Step:
    left = state.left("setup", now)
    if left <= 0:
        return _deadline(state)
    if state.turns.recap and state.turns.session is None:
        kind = "setup"
    extra = state.verify_said if kind == "nudge" else ""
    return leg_turns.begin(state, kind, left, now, extra)


def _turn_ended(state: LegState, seen: TurnEnded, now: Now) -> Step:
    ran = state.turns.running
    prompts = state.leg.prompts
    assert ran is not None
    assert prompts is not None
    state, notes = leg_turns.ended(state, seen.outcome, now)
    if state.phase == "ended":
        return state, notes
    end = seen.outcome.end
    state = replace(
        state,
        quiet=leg_quiet.after_turn(state.quiet, now.mono, restart=False),
        watch_began=now.mono,
        retry=ran.kind if end in leg_turns.UNHEARD else None,
    )
    if end is TurnEnd.COMPLETED and marked(seen.outcome.text, prompts.marker):
        left = state.left("setup", now)
        if state.leg.verify is None:
            return _audit(state, notes)
        if left <= 0:
            return _with(_deadline(state), notes)
        return replace(state, doing="verify"), (*notes, RunVerify(min(left, state.leg.budgets.turn)))
    if end is TurnEnd.SESSION_LOST and state.turns.lost_in_row == 1:
        return _with(_turn(state, "setup", now), notes)
    return state, notes


def _verified(state: LegState, seen: Verified, now: Now) -> Step:
    result = seen.result
    if result.exit_code == 0:
        return _audit(state, ())
    ended = "ran out of time" if result.exit_code is None else f"ended with exit code {result.exit_code}"
    said = f"When it was last run, the check `{state.leg.verify}` {ended}:\n{result.output[-EXTRA:].strip()}".strip()
    note = Note("verify_disagrees", f"the marker was there, but the check {ended}")
    state = replace(state, doing="judge", verify_said=said, watch_began=now.mono)
    # the check's own time is a turn's time: it is not charged
    return replace(state, quiet=leg_quiet.after_turn(state.quiet, now.mono, restart=False)), (note,)


def _audit(state: LegState, notes: tuple[Action, ...]) -> Step:
    return replace(state, doing="audit"), (*notes, Audit())


def _audited(state: LegState, seen: Audited, now: Now) -> Step:
    if seen.states is None and state.left("setup", now) + state.leg.budgets.task > 0:
        # Without knowing what lies there now, a trial run's state file could not be told from the task's. Set-up has
        # converged: what this takes beyond its deadline is the task's time.
        return _audit(state, ())
    busy = tuple(one for one in seen.survivors if _unfinished(one))
    state = replace(state, survivors=busy)
    notes: tuple[Action, ...] = (Note("converged", f"set-up converged after {state.turns.count} turns"),)
    if busy:
        text = "set-up converged, but what looks like unfinished set-up work is alive: " + "; ".join(busy)
        notes = (*notes, Note("unfinished_work", text))
    return _with(begin_task(state, seen.states or (), now), notes)


def _unfinished(survivor: str) -> bool:
    words = survivor.split()[1:3]
    return any(word.rpartition("/")[2] in UNFINISHED for word in words)


def _looked(state: LegState, seen: Looked, now: Now) -> Step:
    scan = seen.scan
    changed = scan is not None and not scan.blind and scan.changed
    state = replace(state, quiet=leg_quiet.look(state.quiet, scan, now.mono))
    if state.doing not in ("judge", "pause", "confirm"):
        return state, ()
    if state.left("setup", now) <= 0:
        return _deadline(state)
    if state.doing == "judge":
        return _paused(_judge(state, now, changed=changed), now)
    if changed:
        soon = min(state.until, state.turns.ended + leg_turns.spacing(state))
        state = replace(state, doing="pause", until=soon if state.turns.last in leg_turns.LONG else state.until)
    elif state.doing == "confirm" and scan is not None and scan.full:
        if not scan.blind:
            return _stalled(state)
        state = replace(state, doing="pause")
    return _paused(state, now)


def _judge(state: LegState, now: Now, *, changed: bool) -> LegState:
    """The first look after a turn that did not converge: how long to pause before the next."""
    state = leg_turns.fruitful(state, changed=changed)
    soon = state.turns.began + leg_turns.spacing(state)
    later = now.mono + leg_turns.backoff(state)
    return replace(state, doing="pause", until=later if state.turns.fruitless else soon)


def _paused(state: LegState, now: Now) -> Step:
    if state.doing == "confirm":
        return state, ()
    if state.quiet.spent(state.leg.budgets.stall) and not state.scanning:
        return replace(state, doing="confirm", scanning=True), (FullScan(),)
    if now.mono >= state.until:
        return _turn(state, state.retry or "nudge", now)
    return state, ()


def _stalled(state: LegState) -> Step:
    why = (
        f"Nothing below the leg's directory changed for {spell(state.quiet.seconds)} between turns; after "
        f"{state.turns.count} turns set-up had not converged, the last one: {leg_turns.last(state.turns)}."
    )
    return finish(state, "failed", Reason.SETUP_STALLED, _and_verify(state, why))


def _deadline(state: LegState) -> Step:
    why = (
        f"Set-up had not converged after {spell(state.leg.budgets.setup)} and {state.turns.count} turns; the last one: "
        f"{leg_turns.last(state.turns)}."
    )
    return finish(state, "failed", Reason.SETUP_DEADLINE, _and_verify(state, why))


def _and_verify(state: LegState, why: str) -> str:
    return f"{why} The agent said that it was done. {state.verify_said[:300]}" if state.verify_said else why


def _with(step_: Step, notes: tuple[Action, ...]) -> Step:
    return step_[0], (*notes, *step_[1])
