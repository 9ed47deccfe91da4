"""One leg of one run, and the workload that carries it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from gate.errors import UsageError
from gate.rundir.formats import Attempt, WorkloadEntry
from gate.rundir.run import Run


@dataclass(frozen=True, slots=True)
class Chosen:
    """A leg, the tag under which it lives, and the entry of its workload (None: never launched)."""

    leg: str
    tag: str
    workload: str
    entry: WorkloadEntry | None


async def choose(run: Run, attempt: Attempt, leg: str) -> Chosen:
    """The leg of that id in this attempt. Raises UsageError, which lists what there is."""
    ids = [one.id for one in attempt.plan.legs]
    if leg not in ids:
        raise no_leg(attempt, leg)
    workload = next(one.id for one in attempt.plan.workloads if leg in one.legs)
    tag = attempt.carried.get(leg) or attempt.adopted.get(workload) or attempt.tag
    return Chosen(leg, tag, workload, (await run.entries(tag)).get(workload))


def no_leg(attempt: Attempt, leg: str) -> UsageError:
    """The error of a leg that this attempt has not, with those that it has."""
    ids = [one.id for one in attempt.plan.legs]
    close = difflib.get_close_matches(leg, ids, n=1)
    meant = f"Did you mean {close[0]}? " if close else ""
    return UsageError(f"run {attempt.run} has no leg {leg!r}", hint=f"{meant}Its legs are: {', '.join(ids)}.")


async def attempt_of(run: Run, number: int | None) -> Attempt:
    """The attempt of that number, or the latest. Raises UsageError, which lists what there is."""
    if number is None:
        return await run.latest_attempt()
    attempt = await run.attempt(number)
    if attempt is None:
        numbers = ", ".join(map(str, await run.attempt_numbers()))
        raise UsageError(f"--attempt {number}: the run has no such attempt", hint=f"There are: {numbers}.")
    return attempt
