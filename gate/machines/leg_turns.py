"""The conversation: which turn comes next, under which session, and what a turn that ended badly means for it.

A turn that ends badly is a warning, the first one included; clocks decide. What grows with bad and fruitless turns is
the pause before the next one, so that a broken command line does not spin.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from dataclasses import replace

from gate.contracts import TurnEnd, TurnOutcome
from gate.machines.clock import Now
from gate.machines.leg_model import Action, LegState, Note, RunTurn, Step, TurnKind, Turns, finish
from gate.machines.verdict import Reason

MAX_RECAPS = 3
"""Conversations that may be lost before the agent counts as unable to keep one."""
MAX_UNAVAILABLE = 3
"""Turns in a row that could not be executed at all before the agent counts as unavailable."""

LONG = (TurnEnd.COMPLETED, TurnEnd.TIMED_OUT)
"""Ends of turns in which the agent had its say."""
UNHEARD = (TurnEnd.NO_START, TurnEnd.SESSION_USED, TurnEnd.UNAVAILABLE)
"""Ends of turns whose prompt nobody read: it is sent again."""


def spacing(state: LegState) -> float:
    """Seconds from the start of one turn to the next at the least, in set-up."""
    return min(20.0, max(0.2, state.leg.budgets.stall / 60))


def backoff(state: LegState) -> float:
    """Seconds to pause after turns in a row that ended badly or changed nothing."""
    longest = max(spacing(state), state.leg.budgets.stall / 4)
    doublings = min(max(state.turns.fruitless - 1, 0), 16)
    return float(min(longest, spacing(state) * 2**doublings))


def begin(state: LegState, kind: TurnKind, budget: float, now: Now, extra: str = "") -> Step:
    """Start the next turn, or end the leg where the cap against token spend is reached."""
    turns = state.turns
    if turns.count >= state.leg.max_turns:
        said = f"; the last one: {last(turns)}" if turns.last else ""
        why = f"The cap of {state.leg.max_turns} turns was reached before the leg {_missing(state)}{said}."
        return finish(state, "failed", Reason.TURNS_SPENT, why)
    ordinal = turns.count + 1
    resume = turns.session is not None
    action = RunTurn(
        ordinal=ordinal,
        kind=kind,
        session=ordinal if turns.session is None else turns.session,
        resume=resume,
        recap=turns.recap and not resume,
        budget=min(state.leg.budgets.turn, budget),
        extra=extra,
    )
    turns = replace(
        turns,
        count=ordinal,
        running=action,
        began=now.mono,
        session=action.session,
        resumes=turns.resumes + resume,
    )
    return replace(state, turns=turns, doing="turn", retry=None), (action,)


def ended(state: LegState, outcome: TurnOutcome, now: Now) -> tuple[LegState, tuple[Action, ...]]:
    """Book a turn that ended. Where the agent is of no use any more, the returned state has ended."""
    turns = _book(state.turns, outcome, now)
    state = replace(state, turns=turns, doing="judge")
    notes = _notes(turns, outcome)
    if turns.unavailable_in_row >= MAX_UNAVAILABLE:
        why = f"The agent could not be run {turns.unavailable_in_row} times in a row: {last(turns)}."
        state, end = finish(state, "failed", Reason.AGENT_UNAVAILABLE, why)
        return state, (*notes, *end)
    if turns.recaps > MAX_RECAPS:
        why = f"The agent lost its conversation {turns.recaps} times: {last(turns)}."
        state, end = finish(state, "failed", Reason.AGENT_UNAVAILABLE, why)
        return state, (*notes, *end)
    return state, notes


def _book(turns: Turns, outcome: TurnOutcome, now: Now) -> Turns:
    ran = turns.running
    assert ran is not None
    end = outcome.end
    cost = None if turns.cost_usd is None or outcome.cost_usd is None else turns.cost_usd + outcome.cost_usd
    turns = replace(
        turns,
        running=None,
        ended=now.mono,
        cost_usd=cost,
        last=end,
        last_detail=outcome.detail,
        unavailable_in_row=turns.unavailable_in_row + 1 if end is TurnEnd.UNAVAILABLE else 0,
        # the recap has been read once the agent had its say; until then the next fresh turn brings it again
        recap=turns.recap and end in (*UNHEARD, TurnEnd.SESSION_LOST),
    )
    if end is TurnEnd.SESSION_LOST and ran.resume:
        return replace(turns, session=None, recap=True, recaps=turns.recaps + 1, lost_in_row=turns.lost_in_row + 1)
    if end in (*UNHEARD, TurnEnd.SESSION_LOST):
        return replace(turns, session=turns.session if ran.resume else None)
    return replace(turns, lost_in_row=0 if ran.resume else turns.lost_in_row)


def _notes(turns: Turns, outcome: TurnOutcome) -> tuple[Note, ...]:
    if outcome.end is TurnEnd.COMPLETED:
        return ()
    found = (Note("turn_bad", f"turn {turns.count}: {last(turns)}", {"end": outcome.end.value}),)
    if turns.recap and outcome.end is TurnEnd.SESSION_LOST:
        return (*found, Note("session_lost", "the conversation is gone: one fresh turn with a recap"))
    return found


def last(turns: Turns) -> str:
    """How the last turn ended, for sentences."""
    if turns.last is None:
        return "no turn yet"
    word = turns.last.value.replace("_", " ")
    return f"{word} ({turns.last_detail})" if turns.last_detail else word


def fruitful(state: LegState, *, changed: bool) -> LegState:
    """Count whether the last turn was of use: it had its say, and something changed."""
    good = changed and state.turns.last in LONG
    return replace(state, turns=replace(state.turns, fruitless=0 if good else state.turns.fruitless + 1))


def _missing(state: LegState) -> str:
    return "was set up" if state.phase == "setup" else "finished"
