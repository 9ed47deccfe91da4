"""Taking in one view of a leg's files: what changed, since when, and what people want to hear of it."""

from __future__ import annotations

from dataclasses import replace

from gate.contracts import LegView
from gate.machines.gate_reading import classify
from gate.machines.gate_state import LegState, Moment
from gate.machines.observations import Say
from gate.rundir.formats import Pointer

PHASES = {
    "prepare": "preparing",
    "setup": "set-up",
    "launch": "launching",
    "wait": "running",
    "ended": "ended",
}
"""Phases of the session pointer, for people."""


def look(leg: LegState, view: LegView, moment: Moment) -> tuple[LegState, list[Say]]:
    """The leg with `view` taken in; the same object where nothing of the leg changed."""
    before = leg.view
    if view is before or view == before:
        return leg, []
    advanced = before is None or view.stamp != before.stamp
    rewritten = before is None or view.state != before.state
    after = replace(
        leg,
        view=view,
        reading=classify(leg.rules, view),
        stamp_looks=moment.looks if advanced else leg.stamp_looks,
        stamp_boot=moment.now.boot if advanced else leg.stamp_boot,
        state_clear=moment.clear if rewritten else leg.state_clear,
    )
    return after, _news(leg.rules.id, before, view)


def _news(leg: str, before: LegView | None, after: LegView) -> list[Say]:
    said: list[Say] = []
    starts = len(after.incarnations)
    if before is not None and before.incarnations and starts > len(before.incarnations):
        text = f"started again ({starts} starts)"
        said.append(Say("restarted", leg, text, {"incarnations": list(after.incarnations)}))
    if after.pointer is not None:
        said += _progress(leg, before.pointer if before is not None else None, after.pointer)
    return said


def _progress(leg: str, before: Pointer | None, after: Pointer) -> list[Say]:
    if before is not None and before.incarnation != after.incarnation:
        before = None
    said: list[Say] = []
    data = {
        "phase": after.phase,
        "turns": after.turns,
        "resumes": after.resumes,
        "recaps": after.recaps,
        "redrives": after.redrives,
    }
    for kind, was, now, text in (
        ("resumed", before.resumes if before else 0, after.resumes, "goes on with the same conversation"),
        ("recapped", before.recaps if before else 0, after.recaps, "begins a fresh conversation with a recap"),
        ("redriven", before.redrives if before else 0, after.redrives, "asks the agent to go on: nothing moved"),
    ):
        if now > was:
            said.append(Say(kind, leg, f"turn {after.turns} {text}", data))
    if before is None or before.phase != after.phase:
        turns = f" ({_turns(after.turns)})" if after.turns else ""
        said.append(Say("leg_phase", leg, f"{PHASES[after.phase]}{turns}", data))
    return said


def _turns(count: int) -> str:
    return f"{count} turn" if count == 1 else f"{count} turns"
