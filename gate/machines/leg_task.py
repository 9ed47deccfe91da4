"""Launch and wait: the task turn, then the state file until it says finished. Two clocks.

The task deadline is never reset. The stall clock restarts after each turn and never runs during one. Nothing is asked
of the agent on a short grace: an install may run for ten minutes before the first state file, and a second launch would
double the run.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from dataclasses import replace

from gate.contracts import TurnEnd
from gate.machines import judge, leg_quiet, leg_states, leg_turns
from gate.machines.clock import Now, reading
from gate.machines.duration import spell
from gate.machines.leg_model import (
    Files,
    Finish,
    FullScan,
    LegState,
    Looked,
    Note,
    Quiet,
    Step,
    TurnEnded,
    TurnKind,
    finish,
)
from gate.machines.verdict import Reason, StateView

UNSETTLED = ("empty", "torn", "unreadable")
"""What a state file may be for a moment: it is read again before it decides anything."""

LIVELY = 300.0
"""While something changes, looks get rarer as if watching had begun this many seconds ago at the most."""


def begin_task(state: LegState, states: tuple[StateView, ...], now: Now) -> Step:
    """Set-up has converged: the task turn. What set-up took beyond its own deadline is the task's: the ladder holds."""
    files = leg_states.begin(states)
    began = min(reading(now, "task"), state.setup_began + state.leg.budgets.setup)
    state = replace(state, phase="launch", task_began=began, verify_said="", files=files)
    return _turn(state, "task", now)


def step(state: LegState, seen: TurnEnded | Looked, now: Now) -> Step:
    """One observation while the task is launched and waited for."""
    match seen:
        case TurnEnded():
            return _turn_ended(state, seen, now)
        case Looked():
            return looked(state, seen, now)


def _turn(state: LegState, kind: TurnKind, now: Now) -> Step:
    left = state.left("task", now)
    if left <= 0:
        return _over(state)
    return leg_turns.begin(state, kind, left, now)


def _turn_ended(state: LegState, seen: TurnEnded, now: Now) -> Step:
    ran = state.turns.running
    assert ran is not None
    state, notes = leg_turns.ended(state, seen.outcome, now)
    if state.phase == "ended":
        return state, notes
    unheard = seen.outcome.end in (*leg_turns.UNHEARD, TurnEnd.SESSION_LOST)
    quiet = leg_quiet.after_turn(state.quiet, now.mono, restart=not unheard)
    state = replace(state, quiet=quiet, watch_began=now.mono)
    if seen.outcome.end is TurnEnd.SESSION_LOST and state.turns.lost_in_row == 1:
        state, next_turn = _turn(state, ran.kind, now)
        return state, (*notes, *next_turn)
    if unheard:
        # Nobody read the prompt, so nothing was launched by it: it is sent again, without waiting for a stall.
        state = leg_turns.fruitful(state, changed=False)
        return replace(state, doing="pause", until=now.mono + leg_turns.backoff(state), retry=ran.kind), notes
    state = replace(state, turns=replace(state.turns, fruitless=0))
    return replace(state, doing="watch"), notes


def looked(state: LegState, seen: Looked, now: Now) -> Step:
    """One look at the leg: liveness and state files."""
    state = replace(state, quiet=_quiet(state, seen, now), files=_files(state, seen))
    if state.phase == "launch" and state.files.seen:
        state = replace(state, phase="wait")
    if state.doing == "turn":
        return state, ()
    if is_finished(state):
        return finish(state, "finished", None, f"{_path(state)} says that the run is finished.")
    if state.doing == "close":
        return close(state, seen, now)
    if state.left("task", now) <= 0:
        return _deadline(state, seen, now)
    return _confirm(state, seen, now) if state.doing == "confirm" else _wait(state, seen, now)


def is_finished(state: LegState) -> bool:
    """Does the leg's state file say that the run is finished?"""
    view = state.files.chosen
    return view is not None and view.status == "ok" and judge.finished(state.leg.judge, view.fields).word == "yes"


def closing(state: LegState, ending: Finish, now: Now) -> Step:
    """End the leg, after reading the evidence again for as long as an attribute cache or a writer may need."""
    return replace(state, doing="close", until=now.mono + evidence(state), ending=ending, watch_began=now.mono), ()


def evidence(state: LegState) -> float:
    """Seconds for which evidence is read again; never so long that the wait margin would be used up."""
    return min(state.leg.budgets.evidence, state.leg.budgets.wait_margin / 2)


def close(state: LegState, seen: Looked, now: Now) -> Step:
    """A look while the leg is about to end."""
    assert state.ending is not None
    if now.mono < state.until:
        return state, ()
    if seen.states is None and state.command_ended and state.left("task", now) > 0:
        return state, ()  # the leg's files cannot be seen: that is no evidence against it
    ending = state.ending
    return finish(state, ending.outcome, ending.reason, f"{ending.sentence} {_evidence(state)}")


def _quiet(state: LegState, seen: Looked, now: Now) -> Quiet:
    if state.doing == "turn":
        return state.quiet
    if seen.states is None or (seen.scan is not None and seen.scan.blind):
        return leg_quiet.look(state.quiet, None, now.mono)
    if seen.scan is None:
        return leg_quiet.seen(state.quiet, now.mono)
    return leg_quiet.look(state.quiet, seen.scan, now.mono)


def _files(state: LegState, seen: Looked) -> Files:
    return state.files if seen.states is None else leg_states.look(state.files, seen.states, state.turns.count)


def _wait(state: LegState, seen: Looked, now: Now) -> Step:
    if state.doing == "pause" and now.mono >= state.until:
        return _turn(state, state.retry or "task", now)
    if seen.scan is not None and seen.scan.changed and not seen.scan.blind:
        state = replace(state, watch_began=max(state.watch_began, now.mono - LIVELY))
    if state.quiet.spent(state.leg.budgets.stall) and not state.scanning:
        return replace(state, doing="confirm", scanning=True), (FullScan(),)
    return state, ()


def _confirm(state: LegState, seen: Looked, now: Now) -> Step:
    """A full scan that began after the stall budget ran out is under way, or has just ended."""
    if state.quiet.spent(state.leg.budgets.stall):
        done = seen.scan is not None and seen.scan.full
        return _stalled(state, now) if done else (state, ())
    if state.quiet.seeing or (seen.scan is not None and seen.scan.full):
        return replace(state, doing="watch", watch_began=max(state.watch_began, now.mono - LIVELY)), ()
    return state, ()


def _stalled(state: LegState, now: Now) -> Step:
    return _ask_to_launch(state, now) if state.phase == "launch" else _ask_to_go_on(state, now)


def _ask_to_launch(state: LegState, now: Now) -> Step:
    turns, still = state.turns, _still(state)
    if turns.launches >= state.leg.launches:
        why = (
            f"The task left nothing running: no state file, and {still}, after {turns.launches} requests to finish the"
        )
        return _fail(state, Reason.LAUNCH_FAILED, f"{why} launch; the last turn: {leg_turns.last(turns)}.")
    state = replace(state, turns=replace(turns, launches=turns.launches + 1), quiet=replace(state.quiet, seconds=0.0))
    state, actions = _turn(state, "task" if turns.last in leg_turns.UNHEARD else "finish_launch", now)
    return state, (Note("finish_launch", f"no state file, and {still}: asking to finish the launch"), *actions)


def _ask_to_go_on(state: LegState, now: Now) -> Step:
    turns, still = state.turns, _still(state)
    if turns.redrives >= state.leg.redrives:
        why = f"The run stopped making progress: {still}, after {turns.redrives} requests to go on"
        return _fail(state, Reason.TASK_STALLED, f"{why}; the last turn: {leg_turns.last(turns)}.")
    state = replace(state, turns=replace(turns, redrives=turns.redrives + 1), quiet=replace(state.quiet, seconds=0.0))
    state, actions = _turn(state, "redrive", now)
    return state, (Note("redrive", f"{still}: asking to go on"), *actions)


def _still(state: LegState) -> str:
    return f"nothing changed for {spell(state.quiet.seconds)}"


def _fail(state: LegState, reason: Reason, why: str) -> Step:
    return finish(state, "failed", reason, f"{why} {_evidence(state)}")


def _deadline(state: LegState, seen: Looked, now: Now) -> Step:
    view = state.files.chosen
    if seen.states is None or view is None or view.status in UNSETTLED:
        return closing(state, Finish("failed", Reason.TASK_DEADLINE, _late(state)), now)
    return _over(state)


def _over(state: LegState) -> Step:
    return _fail(state, Reason.TASK_DEADLINE, _late(state))


def _late(state: LegState) -> str:
    return f"The run had not finished {spell(state.leg.budgets.task)} after its task began."


def _evidence(state: LegState) -> str:
    said = leg_states.describe(state.files, state.incarnation)
    view = state.files.chosen
    if view is not None and view.status == "ok":
        said += f": {judge.finished(state.leg.judge, view.fields).sentence}"
    return f"{said[:1].upper()}{said[1:]}."


def _path(state: LegState) -> str:
    return leg_states.below(state.files.chosen.path, state.incarnation) if state.files.chosen is not None else ""
