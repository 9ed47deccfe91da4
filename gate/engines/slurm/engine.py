"""The Slurm engine: every workload is one batch job, found again by what its comment says."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gate.adapters.threads import Lane
from gate.bootstrap.supervise_files import Supervised
from gate.contracts import Capabilities, Listing, LogChunk, Phase, Scope, Workload, WorkloadRequest
from gate.documents import Json
from gate.engines.local.logs import read_log
from gate.engines.slurm import accounting
from gate.engines.slurm.comment import Note, decode, encode
from gate.engines.slurm.identity import SlurmId, new_key, parse
from gate.engines.slurm.limits import CAPABILITIES, check
from gate.engines.slurm.memory import Memory, matching, recognise
from gate.engines.slurm.queue import Queue, positions
from gate.engines.slurm.records import Records, log_path, record_path
from gate.engines.slurm.secretfiles import SecretFiles, check_place
from gate.engines.slurm.submit import Program, cancel, submit, words_for
from gate.engines.slurm.view import Seen, workload
from gate.errors import (
    ConfigError,
    CreateUnclear,
    EngineAuthError,
    EngineError,
    EngineRefused,
    EngineUnreachable,
    WorkloadNotFound,
)

CALL_SECONDS = 60.0
"""For a call that may take several commands; each has a deadline of its own."""
ROOT_SECONDS = 10.0
"""For the shared root to take a folder."""
RECORDS_SECONDS = 2.0
"""For what the supervisors left there: a hung root must not delay the scheduler's word."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """`parameters` are the plan's."""

    parameters: Mapping[str, Json]
    secrets_dir: Path
    program: Program


class SlurmEngine:
    """The engine contract over Slurm's commands. Blocking work is done in threads with a deadline."""

    def __init__(self, settings: Settings, queue: Queue | None = None) -> None:
        self._settings = settings
        self._secrets = SecretFiles(settings.secrets_dir)
        self._queue = queue or Queue()
        self._memory = Memory()
        self._records = Records()
        self._reads = Lane("slurm", limit=2)
        self._writes = Lane("slurm-writes", limit=8)
        self._root = Lane("slurm-root", limit=2)

    @property
    def kind(self) -> str:
        return "slurm"

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    async def create(self, request: WorkloadRequest) -> str:
        check(request)
        note = _note(request)
        words = words_for(request, encode(note), self._settings.parameters)
        try:
            await self._root.call(ROOT_SECONDS, lambda: self._make_room(request, note))
        except (TimeoutError, OSError, ConfigError) as error:
            raise EngineRefused(f"{request.name}: nothing was submitted: {error}") from error
        try:
            return await self._writes.call(CALL_SECONDS, lambda: self._create(request, note.key, words))
        except TimeoutError as error:
            raise CreateUnclear(f"{request.name}: {error}") from error

    async def list(self, scope: Scope) -> Listing:
        seen = [one for one in await self._read(self._survey) if _within(one.note, scope)]
        return Listing(await self._workloads(seen), complete=True)

    async def get(self, workload_id: str) -> Workload:
        return (await self._workloads([await self._read(lambda: self._find(workload_id))]))[0]

    async def stop(self, workload_id: str) -> None:
        own = parse(workload_id)
        if own is None:
            return
        try:
            await self._writes.call(CALL_SECONDS, lambda: self._stop(own))
        except (TimeoutError, OSError) as error:
            raise EngineUnreachable(f"{workload_id}: {error}") from error

    async def logs(self, workload_id: str, offset: int, limit: int) -> LogChunk:
        seen = await self._read(lambda: self._find(workload_id))
        if not (seen.job.folder and seen.note.workload):
            raise WorkloadNotFound(f"{workload_id}: accounting kept no word of where its log is")
        path = log_path(seen.job.folder, seen.note, seen.job.id)
        ended = seen.phase.terminal
        try:
            return await self._root.call(ROOT_SECONDS, lambda: read_log(path, offset, limit, ended=ended))
        except (TimeoutError, OSError) as error:
            raise EngineUnreachable(f"{path}: {error}") from error

    async def aclose(self) -> None:
        """Nothing to close: threads are daemons, jobs live on."""

    # --- blocking, in a lane ---

    def _make_room(self, request: WorkloadRequest, note: Note) -> None:
        """The folder of the job's output. An earlier workload's record there would pass for this one's."""
        run = Path(request.run_dir)
        if request.secrets:
            check_place(self._settings.secrets_dir, root_of(run))
        path = record_path(request.run_dir, note)
        if not run.is_dir():
            raise FileNotFoundError(f"{run}: there is no such folder")
        for folder in (run / "legs", path.parent.parent, path.parent):
            folder.mkdir(mode=0o755, exist_ok=True)
        path.unlink(missing_ok=True)

    def _create(self, request: WorkloadRequest, key: str, words: Sequence[str]) -> str:
        jobs = recognise(self._queue.mine())
        if any(own.name == request.name and not seen.phase.terminal for own, seen in jobs.items()):
            raise EngineRefused(f"{request.name}: a job of this name lives already")
        claim = (request.name, key)
        secrets = self._secrets.write(claim, request.secrets) if request.secrets else None
        try:
            job = submit(request, words, secrets, self._settings.program)
        except (EngineRefused, EngineAuthError, EngineUnreachable):
            self._secrets.remove(claim)
            raise
        return str(SlurmId(job, request.name, key))

    def _survey(self) -> Sequence[Seen]:
        """One squeue, and one sacct where a job has vanished."""
        vanished = self._memory.take(recognise(self._queue.mine()))
        if vanished:
            self._ask(vanished)
        seen = self._memory.all()
        live = {(each.id.name, each.id.key) for each in seen if not each.phase.terminal}
        ended = {(each.id.name, each.id.key) for each in seen if each.phase.terminal}
        self._secrets.sweep(live, ended)
        return seen

    def _ask(self, vanished: Sequence[Seen]) -> None:
        try:
            answers = accounting.ended([each.id.job for each in vanished])
        except EngineError as error:
            # The queue was seen, and what it shows is true: only of these nothing can be said.
            self._memory.doubt(vanished, f"accounting cannot be asked: {error.message}")
        else:
            self._memory.settle(vanished, answers, time.monotonic())

    def _find(self, workload_id: str) -> Seen:
        own = parse(workload_id)
        if own is None:
            raise WorkloadNotFound(f"{workload_id!r} is not the id of a Slurm workload")
        known = self._memory.get(own)
        if known is not None and known.phase.terminal:
            return known
        job = self._queue.one(own.job)
        if job is not None and matching(own, [job]) is not None and decode(job.comment) is not None:
            self._memory.take(recognise([job]))
        elif known is not None:
            self._ask([known])
        elif not self._memory.lost(own):
            self._recall(own)
        found = self._memory.get(own)
        if found is None:
            raise WorkloadNotFound(f"{workload_id}: neither Slurm's queue nor its accounting knows it")
        return found

    def _recall(self, own: SlurmId) -> None:
        """Nothing of this process: what accounting kept."""
        job = matching(own, accounting.ended([own.job]).get(own.job, ()))
        if job is not None:
            note = decode(job.comment) or Note("", own.tag, "", "", "", "", own.key)
            self._memory.settle([Seen(own, note, job)], {own.job: [job]}, time.monotonic())

    def _stop(self, own: SlurmId) -> None:
        cancel(own)
        self._secrets.remove((own.name, own.key))

    async def _workloads(self, seen: Sequence[Seen]) -> tuple[Workload, ...]:
        records = await self._supervised(seen)
        waiting = {each.job.partition for each in seen if each.phase is Phase.PENDING}
        line = await self._line(waiting) if waiting else {}
        return tuple(workload(each, records.get(each.id), line.get(each.id.job)) for each in seen)

    async def _supervised(self, seen: Sequence[Seen]) -> Mapping[SlurmId, Supervised | None]:
        wanted = [each for each in seen if each.phase in (Phase.RUNNING, Phase.FAILED)]

        def read() -> Mapping[SlurmId, Supervised | None]:
            return {each.id: self._records.of(each.job, each.note) for each in wanted}

        try:
            return await self._root.call(RECORDS_SECONDS, read) if wanted else {}
        except TimeoutError:
            return {}  # what Slurm says stands alone

    async def _line(self, partitions: set[str]) -> Mapping[int, int]:
        try:
            return await self._read(lambda: positions(partitions))
        except EngineError:
            return {}  # a place in the line is for people: without it the list is no less complete

    async def _read(self, work: Callable[[], T]) -> T:
        try:
            return await self._reads.call(CALL_SECONDS, work)
        except TimeoutError as error:
            raise EngineUnreachable(f"Slurm: {error}", kind="timed_out") from error
        except OSError as error:
            raise EngineUnreachable(f"{self._settings.secrets_dir}: {error}") from error


def root_of(run: Path) -> Path:
    """The shared root, of which `run` is a run's directory."""
    above = run.parents
    return above[3] if len(above) > 3 and run.parent.name == "runs" else run


def _note(request: WorkloadRequest) -> Note:
    return Note(
        gate=request.gate,
        tag=request.tag,
        workload=request.workload,
        repository=request.repository,
        ref=request.ref,
        run=request.run,
        key=new_key(),
        legs=request.legs,
    )


def _within(note: Note, scope: Scope) -> bool:
    return (
        note.repository == scope.repository
        and note.gate == scope.gate
        and scope.ref in (None, note.ref)
        and scope.tag in (None, note.tag)
    )
