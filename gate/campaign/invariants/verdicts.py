"""A verdict never changes, and every leg of a decided attempt has one."""

from __future__ import annotations

from collections.abc import Iterator

from gate.rundir import layout
from gate.simulate.played import Played


def check_unchanged(played: Played) -> Iterator[str]:
    """The first bytes written under a verdict's or a decision's key are the last ones."""
    first: dict[tuple[str, str], bytes] = {}
    for write in played.writes:
        if not write.effect or not write.key.startswith(("gate/verdicts/", "gate/decisions/")):
            continue
        key = (write.run, write.key)
        if write.op == "remove":
            yield f"{write.key} was removed by {write.process}"
        elif key not in first:
            first[key] = write.data
        elif first[key] != write.data:
            yield f"{write.key} was written again by {write.process}, differently"
    for (run, name), data in first.items():
        if played.files.get(run, {}).get(name) != data:
            yield f"{name} reads differently at the end"


def check_complete(played: Played) -> Iterator[str]:
    """A decision on disk stands on a verdict of every leg, and says of each what its verdict says."""
    for one in played.attempts:
        if one.decision is None:
            continue
        for leg in one.attempt.plan.legs:
            verdict = one.standing.get(leg.id)
            if verdict is None:
                yield f"attempt {one.attempt.attempt} is decided, and {leg.id} has no verdict"
                continue
            row = next((row for row in one.decision.legs if row.leg == leg.id), None)
            if row is None or (row.outcome, row.reason) != (verdict.outcome, verdict.reason):
                said = f"{verdict.outcome.value} {verdict.reason.value}"
                yield f"the decision of attempt {one.attempt.attempt} says of {leg.id} {row}, its verdict {said}"
            if leg.blocking is not verdict.blocking:
                yield f"{leg.id} is {'blocking' if leg.blocking else 'informing'} in the plan and not in its verdict"


def check_one_word(played: Played) -> Iterator[str]:
    """Nobody tried to write a verdict that says something else than the one that stands."""
    for one in played.attempts:
        for written in one.verdicts:
            key = layout.verdict(one.attempt.tag, written.verdict.leg)
            stands = one.standing.get(written.verdict.leg)
            if written.effect and stands is not None and stands.outcome is not written.verdict.outcome:
                yield f"{key} was written as {written.verdict.outcome.value} and stands as {stands.outcome.value}"
