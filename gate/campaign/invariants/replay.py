"""The fold of the recorded journal is the state that was lived through: a replay differs nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from gate.machines import gate
from gate.poll import journal
from gate.poll.timeline import Instant
from gate.rundir import layout
from gate.simulate.played import Played, PlayedAttempt


def check(played: Played) -> Iterator[str]:
    """Every decided attempt's journal, folded again."""
    for one in played.attempts:
        if one.decision is None:
            continue
        key = layout.observations(one.attempt.tag)
        raw = played.files.get(one.attempt.run, {}).get(key)
        found = None if raw is None else journal.read(raw, key)
        if found is None or _lossy(played, one, key):
            continue
        codec, past = found
        state = gate.start(codec.header.rules, Instant(0, 0, codec.header.wall).now())
        for at, observation in past:
            state, _ = gate.step(state, observation, at.now())
        for leg_id, leg in state.legs.items():
            if leg.verdict != one.standing.get(leg_id):
                yield f"{leg_id} of {one.attempt.tag} folds to {leg.verdict}, and {one.standing.get(leg_id)} stands"
        if state.decision != one.decision:
            yield f"{one.attempt.tag} folds to {state.decision}, and the decision on disk is {one.decision}"


def _lossy(played: Played, one: PlayedAttempt, key: str) -> bool:
    """Did a write of the journal fail, so that a death may have taken what was only in memory?"""
    return any(w.key == key and not w.effect for w in played.writes if w.run == one.attempt.run)
