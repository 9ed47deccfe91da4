"""Every created workload ends stopped or is listed; none is created twice; a kept one is kept."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from gate import documents
from gate.campaign.views import CLOCK_FAULTS, befell
from gate.reap.remaining import UNLISTED, Remaining
from gate.rundir import layout
from gate.rundir.formats import Kept
from gate.simulate.clock import EPOCH
from gate.simulate.played import Played, PlayedAttempt, PlayedWorkload, Poll


def check_gone(played: Played) -> Iterator[str]:
    """When everything is over nothing of ours lives that is not named."""
    for workload in played.workloads:
        if workload.foreign or workload.ended is not None or _unknown(played, workload):
            continue
        if not _named(played, workload, played.remaining) and not _failed_aloud(played):
            yield f"{workload.name} ({workload.engine_id}) lives on at the end, and nobody names it"


def check_silent(played: Played) -> Iterator[str]:
    """When a poller is done, what still lives of its attempt has a lease or is named by it."""
    for one in played.attempts:
        for poll in one.polls:
            if poll.exit_code is not None and poll.decision is not None:
                yield from _silent(played, one, poll)


def _silent(played: Played, one: PlayedAttempt, poll: Poll) -> Iterator[str]:
    tags = {one.attempt.tag, *one.attempt.adopted.values()}
    for workload in played.workloads:
        alive = workload.created < poll.ended and (workload.ended is None or workload.ended > poll.ended)
        ours = not workload.foreign and workload.tag in tags and workload.run == one.attempt.run
        if not alive or not ours or _unknown(played, workload) or _named(played, workload, poll.remaining):
            continue
        if not any(lease.since <= poll.ended < lease.gone for lease in _leases(played, workload)):
            yield f"{workload.name} ({workload.engine_id}) lived on when {poll.process} had ended, without a word"


@dataclass(frozen=True, slots=True)
class _Lease:
    """A lease of a workload: from when to when it lay on disk, and until when it says."""

    since: float
    gone: float
    until: float


def _leases(played: Played, workload: PlayedWorkload) -> list[_Lease]:
    key = layout.kept(workload.tag, workload.workload)
    found: list[_Lease] = []
    for write in played.writes:
        if write.key != key or write.run != workload.run or not write.effect:
            continue
        if found:
            found[-1] = replace(found[-1], gone=min(found[-1].gone, write.at))
        if write.op != "remove":
            until = documents.load(Kept, write.data, key).until - EPOCH
            found.append(_Lease(write.at, float("inf"), until))
    return found


def _unknown(played: Played, workload: PlayedWorkload) -> bool:
    """Does an engine that has forgotten it keep it from being seen: neither in lists, nor by its id?"""
    return any(True for leg in workload.legs for _ in befell(played, frozenset(("api_404",)), leg))


def _named(played: Played, workload: PlayedWorkload, remaining: Collection[Remaining]) -> bool:
    """By its id; or by its name where no id is known, or where a create that was sent twice made two of the name."""
    twice = any(befell(played, frozenset(("create_twice",))))
    return any(
        one.workload == UNLISTED
        or one.engine_id == workload.engine_id
        or ((one.engine_id is None or twice) and one.workload in (workload.workload, workload.name))
        for one in remaining
    )


def _failed_aloud(played: Played) -> bool:
    """Did the last process that was to see everything gone end with an error that it told?"""
    cleaning = [process for process in played.processes if process.role in ("poller", "reaper", "dispatcher")]
    return bool(cleaning) and bool(max(cleaning, key=lambda process: process.ended).error)


def check_once(played: Played) -> Iterator[str]:
    """While a workload of an attempt lives it is not created again, whoever died around the create."""
    twice = {struck.subject for struck in played.struck if struck.fault.kind == "create_twice"}
    seen: dict[tuple[str, str, str], PlayedWorkload] = {}
    for workload in sorted(played.workloads, key=lambda w: w.created):
        key = (workload.run, workload.tag, workload.workload)
        before = seen.get(key)
        alive = before is not None and (before.ended is None or before.ended > workload.created)
        if alive and not workload.foreign and workload.workload not in twice:
            yield f"{workload.workload} of {workload.tag} was created again at {workload.created:.0f} s, while it lived"
        seen[key] = workload


def check_kept(played: Played) -> Iterator[str]:
    """A lease that has not ended is honoured by the run that gave it, except where it is asked to start afresh."""
    if any(befell(played, CLOCK_FAULTS)) or any(rerun.fresh for rerun in played.scenario.reruns):
        return
    runs = {attempt.attempt.tag: attempt.attempt.run for attempt in played.attempts}
    twins = {struck.subject for struck in played.struck if struck.fault.kind == "create_twice"}
    for workload in (one for one in played.workloads if one.workload not in twins):
        for lease in _leases(played, workload):
            for at, process in workload.stops:
                held = lease.since <= at < min(lease.until, lease.gone)
                if held and process in _processes(played, runs.get(workload.tag, "")):
                    yield f"{workload.name} was stopped by {process} at {at:.0f} s, kept until {lease.until:.0f} s"


def _processes(played: Played, run: str) -> set[str]:
    """Processes whose own run this is: a newer run's dispatcher writes to older ones too, later."""
    first: dict[str, str] = {}
    for write in played.writes:
        first.setdefault(write.process, write.run)
    return {process for process, own in first.items() if own == run}
