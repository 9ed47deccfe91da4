"""Nothing of another tag is touched."""

from __future__ import annotations

from collections.abc import Iterator

from gate.simulate.played import Played

TAGGED = (
    "gate/workloads/",
    "gate/verdicts/",
    "gate/observations/",
    "gate/kept/",
    "gate/cancel/",
    "staged/assignments/",
)


def check(played: Played) -> Iterator[str]:
    """No workload of others is stopped, and no record of another run or attempt is written."""
    for workload in played.workloads:
        if workload.foreign and not workload.stale and workload.stops:
            at, process = workload.stops[0]
            yield f"{workload.name} of run {workload.run} was stopped by {process} at {at:.0f} s"
    tags: dict[str, set[str]] = {}
    for one in played.attempts:
        tags.setdefault(one.attempt.run, set()).add(one.attempt.tag)
    for write in played.writes:
        prefix = next((prefix for prefix in TAGGED if write.key.startswith(prefix)), None)
        if prefix is None or write.run not in tags:
            continue
        tag = write.key.removeprefix(prefix).partition("/")[0].removesuffix(".jsonl").removesuffix(".json")
        if tag not in tags[write.run]:
            yield f"{write.process} wrote {write.key}, which is of no attempt of run {write.run}"
