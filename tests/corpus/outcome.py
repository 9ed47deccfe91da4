"""What the replay of a recorded run comes to, as the file of expectations has it."""

from __future__ import annotations

import json
from functools import cache

import anyio

from gate.documents import Json
from gate.poll.replay import Compared, Replay, replay_run
from gate.report.explain import deciding
from gate.rundir.files import FileStore
from gate.rundir.run import Run
from tests.corpus.paths import EXPECTED, RUNS, names


@cache
def replays(name: str) -> tuple[Replay, ...]:
    """The attempts of one entry, replayed with today's rules."""
    return anyio.run(replay_run, Run(FileStore(RUNS / name)))


def outcome(name: str) -> Json:
    """Attempt to its decision and verdicts. `differs` stands only where the record says something else."""
    return {str(one.attempt): _attempt(one) for one in replays(name)}


def outcomes() -> dict[str, Json]:
    """Of all entries."""
    return {name: outcome(name) for name in names()}


def expected() -> dict[str, Json]:
    """What was accepted last."""
    found: dict[str, Json] = json.loads(EXPECTED.read_text(encoding="utf-8")) if EXPECTED.exists() else {}
    return found


def _attempt(one: Replay) -> Json:
    decision = None if one.replayed is None else f"{one.replayed.word}, exit {one.replayed.exit_code}"
    found: dict[str, Json] = {"decision": decision, "legs": {leg.leg: _leg(leg) for leg in one.legs}}
    return {**found, "decision differs": list(one.decision_differs)} if one.decision_differs else found


def _leg(leg: Compared) -> Json:
    given = leg.replayed
    if given is None:
        found: dict[str, Json] = {"verdict": None}
    else:
        verdict, rule = given.verdict, deciding(given.verdict.rules)
        marks = (*(["flaky"] if verdict.flaky else []), *(["carried"] if verdict.carried_from else []))
        found = {
            "verdict": " ".join((verdict.outcome.value, verdict.reason.value, *marks)),
            "observation": given.observation,
            "decided by": None if rule is None else rule.name,
        }
    if leg.differs:
        found["differs"] = list(leg.differs)
    return {**found, "note": leg.note} if leg.note else found
