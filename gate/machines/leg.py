"""The leg machine: prepare, set-up, launch, wait, ended. Pure: `step(state, observation, now) -> (state, actions)`.

Each step says anew what is watched (`Watch`: until when to look again; none: not at all) and, where its facts changed,
that the session pointer is to be rewritten. Long work (a turn, a check, a full scan) is asked for once and comes back
as an observation; meanwhile looks and stop requests go on.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from dataclasses import replace

from gate.machines import leg_command, leg_setup, leg_task
from gate.machines.clock import Now
from gate.machines.leg_model import (
    Audited,
    CommandStarted,
    LegState,
    Looked,
    Observation,
    PointerFacts,
    Prepare,
    Prepared,
    Publish,
    Quiet,
    Step,
    StopAsked,
    TurnEnded,
    Verified,
    Watch,
    finish,
)
from gate.machines.verdict import Reason
from gate.plan.model import LegPlan

TICK = 0.001
"""Seconds that a look is put off at the least: a wait that rounding makes shorter than a clock can tell would spin."""

SIGNALS = {1: "SIGHUP", 2: "SIGINT", 15: "SIGTERM"}


def start(leg: LegPlan, now: Now) -> Step:
    """A leg's first state, and the first thing to do."""
    return LegState(leg, quiet=Quiet(looked=now.mono)), (Prepare(leg.budgets.prepare),)


def step(state: LegState, seen: Observation, now: Now) -> Step:
    """What follows from `seen`. After the end nothing follows from anything."""
    if state.phase == "ended":
        return state, ()
    state, actions = _reduce(state, seen, now)
    facts = _facts(state)
    if facts != state.published and state.incarnation:
        state, actions = replace(state, published=facts), (Publish(facts), *actions)
    watch = _watch(state, now)
    return state, actions if watch is None else (*actions, watch)


def _reduce(state: LegState, seen: Observation, now: Now) -> Step:
    match seen:
        case StopAsked():
            name = SIGNALS.get(seen.signal, f"signal {seen.signal}")
            why = f"Asked to stop by {name} during {state.phase}."
            return finish(state, "stopped", Reason.WORKLOAD_STOPPED, why)
        case Prepared():
            return _prepared(state, seen, now)
        case CommandStarted():
            return leg_command.step(state, seen, now)
        case Verified() | Audited():
            return leg_setup.step(state, seen, now)
        case TurnEnded():
            return (leg_setup.step if state.phase == "setup" else leg_task.step)(state, seen, now)
        case Looked():
            return _looked(state, seen, now)


def _prepared(state: LegState, seen: Prepared, now: Now) -> Step:
    state = replace(state, incarnation=seen.incarnation, agent_version=seen.agent_version)
    if seen.problem:
        reason = Reason.AGENT_UNAVAILABLE if seen.problem == "agent" else Reason.PREPARE_FAILED
        return finish(state, "failed", reason, seen.detail)
    if restarted(seen.incarnation) and not state.leg.allow_restart:
        why = f"The workload was started again (incarnation {seen.incarnation}), and this leg does not allow that."
        return finish(state, "failed", Reason.WORKLOAD_RESTARTED, why)
    if state.leg.kind == "command":
        return leg_command.begin(state, seen.states, now)
    return leg_setup.begin(state, now)


def restarted(incarnation: str) -> bool:
    """Is this (`N-hex`) a second or later start?"""
    return incarnation.partition("-")[0] not in ("", "1")


def _looked(state: LegState, seen: Looked, now: Now) -> Step:
    if seen.scan is not None and seen.scan.full:
        state = replace(state, scanning=False)
    match state.phase:
        case "setup":
            return leg_setup.step(state, seen, now)
        case "launch" | "wait":
            return (leg_command.step if state.leg.kind == "command" else leg_task.step)(state, seen, now)
        case "prepare" | "ended":
            return state, ()


def _facts(state: LegState) -> PointerFacts:
    chosen = state.files.chosen
    before = state.published
    turns = state.turns
    earlier = state.files.earlier
    return PointerFacts(
        phase=state.phase,
        state=chosen.path if chosen is not None else None,
        turns=turns.count,
        resumes=turns.resumes,
        recaps=turns.recaps,
        redrives=turns.redrives,
        # told when an episode is over: rewriting the pointer at every look would count as the leg's own progress
        blind=state.quiet.blind if state.quiet.seeing or before is None else before.blind,
        cost_usd=turns.cost_usd,
        earlier=None if earlier is None else tuple(view.path for view in earlier),
    )


def _watch(state: LegState, now: Now) -> Watch | None:
    """When to look next: often at first, then rarer, and exactly when a clock may run out."""
    doing, budgets = state.doing, state.leg.budgets
    if doing in ("prepare", "verify", "audit", "start", "done") or (doing == "turn" and state.phase == "setup"):
        return None
    if doing == "judge":
        return Watch(0.0, 0.0, scan=True)
    agent = state.leg.kind == "agent"
    beat = min(30.0, max(0.2, (now.mono - state.watch_began) / 20))
    if agent:
        beat = min(beat, max(0.2, budgets.stall / 10))
    return Watch(beat, max(TICK, _longest(state, now, beat)), scan=agent and doing != "turn")


def _longest(state: LegState, now: Now, beat: float) -> float:
    """Seconds until a clock may run out although nothing changes."""
    budgets = state.leg.budgets
    if state.doing == "turn":
        return budgets.turn
    if state.doing == "close":
        return state.until - now.mono if now.mono < state.until else beat
    waits = [state.left("setup" if state.phase == "setup" else "task", now)]
    if state.doing == "pause":
        waits.append(state.until - now.mono)
    if state.leg.kind == "agent" and state.doing != "confirm":
        stalls = state.quiet.seeing and not state.scanning
        waits.append(budgets.stall - state.quiet.seconds if stalls else beat)
    elif not state.quiet.seeing:
        waits.append(beat)
    return min(waits)
