"""What this process has seen of its jobs: one that leaves the queue is asked after, never taken for finished. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gate.engines.slurm.comment import decode
from gate.engines.slurm.identity import SlurmId
from gate.engines.slurm.jobs import Job
from gate.engines.slurm.view import Seen, phase_of

PATIENCE = 60.0
"""Seconds for accounting, which lags, to say how a job ended that has left the queue."""
MOST = 20_000
"""Ended workloads remembered."""


def recognise(jobs: Iterable[Job]) -> dict[SlurmId, Seen]:
    """Those of `jobs` that are workloads, by what their comments say."""
    found: dict[SlurmId, Seen] = {}
    for job in jobs:
        if (note := decode(job.comment)) is not None:
            own = SlurmId(job.id, job.name, note.key)
            found[own] = Seen(own, note, job)
    return found


def matching(wanted: SlurmId, jobs: Sequence[Job]) -> Job | None:
    """The one of `jobs` that is `wanted`: number and name, and the key where the comment was kept."""
    for job in reversed(jobs):
        note = decode(job.comment)
        if (job.id, job.name) == (wanted.job, wanted.name) and (note is None or note.key == wanted.key):
            return job
    return None


class Memory:
    """Workloads by id. Those that ended stay as they were; times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._seen: dict[SlurmId, Seen] = {}
        self._left: dict[SlurmId, float] = {}
        self._lost: set[SlurmId] = set()

    def take(self, listed: Mapping[SlurmId, Seen]) -> list[Seen]:
        """Take in what the queue shows; returns those whose end is not known and that it no longer shows."""
        self._seen.update(listed)
        self._lost -= listed.keys()
        for own in listed:
            self._left.pop(own, None)
        return [seen for own, seen in self._seen.items() if own not in listed and not seen.phase.terminal]

    def settle(self, vanished: Sequence[Seen], answers: Mapping[int, Sequence[Job]], mono: float) -> None:
        """Take in what accounting says of them. What stays open for `PATIENCE` is known to nobody any more."""
        for seen in vanished:
            job = matching(seen.id, answers.get(seen.id.job, ()))
            if job is not None and phase_of(job).terminal:
                self._seen[seen.id] = replace(seen, job=_completed(job, seen.job), doubt="")
            elif mono - self._left.setdefault(seen.id, mono) > PATIENCE:
                self._seen.pop(seen.id, None)
                del self._left[seen.id]
                self._lost.add(seen.id)
            else:
                said = f"accounting still says {'+'.join(job.states)}" if job else "accounting does not know it"
                self._seen[seen.id] = replace(seen, doubt=f"it left Slurm's queue, and {said}")

    def doubt(self, vanished: Sequence[Seen], why: str) -> None:
        """Nobody could be asked."""
        for seen in vanished:
            self._seen[seen.id] = replace(seen, doubt=f"it left Slurm's queue, and {why}")

    def get(self, own: SlurmId) -> Seen | None:
        """What is known of the workload."""
        return self._seen.get(own)

    def lost(self, own: SlurmId) -> bool:
        """It was waited for in vain: nobody knows what became of it."""
        return own in self._lost

    def all(self) -> list[Seen]:
        """Every workload that is known of; the oldest ended ones are forgotten beyond `MOST`."""
        if len(self._seen) > MOST:
            ended = [own for own, seen in self._seen.items() if seen.phase.terminal]
            for own in ended[: len(self._seen) - MOST]:
                del self._seen[own]
        return list(self._seen.values())


def _completed(job: Job, before: Job) -> Job:
    """What accounting may lack, from when the queue still showed it."""
    return replace(
        job,
        comment=job.comment or before.comment,
        folder=job.folder or before.folder,
        nodes=job.nodes or before.nodes,
        restarts=max(job.restarts, before.restarts),
    )
