"""The local engine: workloads on this machine, each under a supervisor of its own that outlives everybody."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from gate.adapters.threads import Lane
from gate.bootstrap.containment import Census, Process, end_workload, send
from gate.bootstrap.containment_containers import end_containers
from gate.bootstrap.supervise import GRACE
from gate.bootstrap.supervise_files import LOG, STOP, LocalRequest
from gate.bootstrap.supervise_slots import leave_queue, new_ticket, queue_up
from gate.contracts import Capabilities, Listing, LogChunk, Scope, Workload, WorkloadRequest
from gate.engines.local import orphans
from gate.engines.local.identity import Machine, parse, tag_of, this_machine
from gate.engines.local.launch import Start, environment, launch, notes
from gate.engines.local.limits import CAPABILITIES, Slots, check
from gate.engines.local.logs import read_log
from gate.engines.local.orphans import Orphan
from gate.engines.local.registry import Entry, Registry
from gate.engines.local.view import Look, Starting, engine_id, starting
from gate.errors import CreateUnclear, DocumentError, EngineRefused, EngineUnreachable, Unreachable, WorkloadNotFound
from gate.rundir import layout

READ_SECONDS = 20.0
CREATE_SECONDS = 60.0
STOP_SECONDS = 90.0
"""After a supervisor's death the engine ends the processes itself, which takes as long as that takes."""
SETTLE_SECONDS = 5.0
"""For a supervisor that was just started to say who it is."""
SETTLE_BEAT = 0.02
LAST_GRACE = 2.0
END_BOUND = 60.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Program:
    """What runs as the supervisor, and below it; `{pyz}` and `{assignment}` are the request's own."""

    supervisor: tuple[str, ...] = (sys.executable, "{pyz}", "supervise")
    bootstrap: tuple[str, ...] = ("bootstrap", "--assignment", "{assignment}")
    grace: float = GRACE


class LocalEngine:
    """The engine contract over processes of this machine. Blocking work is done in threads with a deadline."""

    def __init__(self, registry: Path, slots: Slots, program: Program | None = None) -> None:
        self._registry = Registry(registry)
        self._slots = slots
        self._program = program or Program()
        self._lost: set[tuple[str, int, int]] = set()
        self._reads = Lane("local-engine", limit=2)
        self._writes = Lane("local-engine-writes", limit=8)

    @property
    def kind(self) -> str:
        return "local"

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    async def create(self, request: WorkloadRequest) -> str:
        try:
            return await self._writes.call(CREATE_SECONDS, lambda: self._create(request))
        except TimeoutError as error:
            raise CreateUnclear(f"{request.name}: {error}") from error

    async def list(self, scope: Scope) -> Listing:
        return await self._read(lambda: self._list(scope))

    async def get(self, workload_id: str) -> Workload:
        return await self._read(lambda: self._get(workload_id))

    async def stop(self, workload_id: str) -> None:
        try:
            await self._writes.call(STOP_SECONDS, lambda: self._stop(workload_id))
        except TimeoutError as error:
            raise EngineUnreachable(f"{workload_id}: {error}", kind="timed_out") from error

    async def logs(self, workload_id: str, offset: int, limit: int) -> LogChunk:
        return await self._read(lambda: self._logs(workload_id, offset, limit))

    async def aclose(self) -> None:
        """Nothing to close: threads are daemons, workloads live on."""

    # --- blocking, in a lane ---

    def _create(self, request: WorkloadRequest) -> str:
        check(request, self._slots)
        look = self._look()
        local = self._local_request(request, look.here)
        claimed = self._registry.claim(local, look.alive)
        try:
            if local.ticket:
                queue_up(self._registry.root, local.ticket)
            pid, start = launch(claimed, self._start(request, claimed.path))
        except EngineRefused:
            if local.ticket:
                leave_queue(self._registry.root, local.ticket)
            self._registry.forget(request.name)
            raise
        finally:
            os.close(claimed.lock)
        self._registry.prune(time.time(), look.alive)
        return engine_id(local, pid, start)

    def _list(self, scope: Scope) -> Listing:
        entries, unreadable = self._registry.entries()
        hidden = [name for name in unreadable if scope.tag in (None, tag_of(name))]
        look, found, complete = self._look(), list[Workload](), not hidden
        for entry in entries:
            if not _within(entry.request, scope):
                continue
            try:
                workload = look.workload(entry)
            except Starting:
                workload = self._settled(entry, look)
                complete = complete and workload is not None
            if workload is not None:
                found.append(workload)
        return Listing(tuple(found), complete)

    def _get(self, workload_id: str) -> Workload:
        try:
            entry = self._find(workload_id)
        except (WorkloadNotFound, EngineUnreachable, DocumentError) as error:
            return self._without_entry(workload_id, error)
        look = self._look()
        try:
            workload = look.workload(entry)
        except Starting:
            workload = self._settled(entry, look)
        if workload is None:
            raise WorkloadNotFound(f"{workload_id}: it was never started")
        return workload

    def _stop(self, workload_id: str) -> None:
        try:
            entry = self._find(workload_id)
        except (WorkloadNotFound, EngineUnreachable, DocumentError) as error:
            if (orphan := self._orphan(workload_id)) is not None:
                orphan.stop(grace=LAST_GRACE, bound=END_BOUND)
            elif isinstance(error, EngineUnreachable):
                raise
            return
        here = this_machine(self._registry.root)
        if entry.request.boot != here.boot or (entry.ended and not self._look().alive(entry)):
            return
        first = self._ask_to_stop(entry)
        if entry.held():
            # Again does no harm, but a second signal would cut the grace short.
            if first and entry.status is not None:
                send(Process(entry.status.pid, entry.status.start, ""), signal.SIGTERM)
            return
        request = entry.request
        end_workload(request.tag, request.workload, grace=LAST_GRACE, bound=END_BOUND)
        end_containers(request.tag, request.workload)

    def _logs(self, workload_id: str, offset: int, limit: int) -> LogChunk:
        entry = self._find(workload_id)
        # Asked before the reading: what is written in between is then still announced.
        ended = not self._look().alive(entry)
        return read_log(entry.path / LOG, offset, limit, ended=ended)

    def _look(self) -> Look:
        return Look(self._registry, this_machine(self._registry.root), self._lost)

    def _find(self, workload_id: str) -> Entry:
        """Raises WorkloadNotFound, or EngineUnreachable for another machine's."""
        parsed = parse(workload_id)
        if parsed is None:
            raise WorkloadNotFound(f"{workload_id!r} is not the id of a local workload")
        here = this_machine(self._registry.root)
        parsed.check_host(here)
        entry = self._registry.find(parsed.name, parsed.pid, parsed.start)
        if entry is None:
            raise WorkloadNotFound(f"{workload_id}: not in {self._registry.root}")
        return entry

    def _without_entry(self, workload_id: str, why: WorkloadNotFound | EngineUnreachable | DocumentError) -> Workload:
        """Its entry is gone or cannot be read; raises `why` where nothing more can be told."""
        if (orphan := self._orphan(workload_id)) is not None:
            return orphan.workload(why.message)
        parsed = parse(workload_id)
        if parsed is None or not isinstance(why, DocumentError):
            raise why
        return orphans.lost(parsed, why.message)

    def _orphan(self, workload_id: str) -> Orphan | None:
        """What runs of a workload without an entry. Of another host only where its supervisor is one of ours: then it
        is this machine, and its registry was made anew.
        """
        parsed, here = parse(workload_id), this_machine(self._registry.root)
        if parsed is None or parsed.boot != here.boot:
            return None
        entries, _ = self._registry.entries()
        found = orphans.find(parsed, {each.request.workload for each in entries if each.request.tag == parsed.tag})
        return found if found is None or found.supervisor is not None or parsed.host == here.host else None

    def _settled(self, entry: Entry, look: Look) -> Workload | None:
        """A workload whose supervisor is just starting: soon it says who it is; else /proc does. None: unknown."""
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline:
            again = self._registry.entry(entry.path.name)
            if again is None:
                return None
            try:
                return look.workload(again)
            except Starting:
                time.sleep(SETTLE_BEAT)
        for process in Census().started_with("--registry", str(entry.path)):
            if not process.command.startswith("sh "):
                return starting(entry.request, process)
        return None

    def _ask_to_stop(self, entry: Entry) -> bool:
        """Leave the request; False where it lies there already."""
        try:
            (entry.path / STOP).touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            return False
        return True

    def _start(self, request: WorkloadRequest, entry: Path) -> Start:
        names = {
            "{pyz}": str(Path(request.run_dir, layout.STAGED_PYZ)),
            "{assignment}": str(Path(request.run_dir, request.assignment)),
        }
        options = ("--assignment", names["{assignment}"], "--registry", str(entry), "--grace", str(self._program.grace))
        return Start(
            supervisor=(*(names.get(word, word) for word in self._program.supervisor), *options),
            command=tuple(names.get(word, word) for word in self._program.bootstrap),
            env=environment(request, os.environ),
            notes=notes(os.environ),
        )

    def _local_request(self, request: WorkloadRequest, here: Machine) -> LocalRequest:
        wanted = request.resources
        return LocalRequest(
            name=request.name,
            workload=request.workload,
            tag=request.tag,
            gate=request.gate,
            repository=request.repository,
            ref=request.ref,
            run=request.run,
            legs=request.legs,
            host=here.host,
            boot=here.boot,
            created=time.time(),
            ticket=new_ticket(self._registry.root, request.name) if wanted.cpus or wanted.gpus else "",
            cpus=wanted.cpus,
            gpus=wanted.gpus,
            total_cpus=self._slots.cpus,
            total_gpus=self._slots.gpus,
            secrets=tuple(sorted(request.secrets)),
        )

    async def _read(self, work: Callable[[], T]) -> T:
        try:
            return await self._reads.call(READ_SECONDS, work)
        except (TimeoutError, OSError, DocumentError) as error:
            kind: Unreachable = "timed_out" if isinstance(error, TimeoutError) else "error"
            raise EngineUnreachable(f"the local registry {self._registry.root}: {error}", kind=kind) from error


def _within(request: LocalRequest, scope: Scope) -> bool:
    return (
        request.repository == scope.repository
        and request.gate == scope.gate
        and scope.ref in (None, request.ref)
        and scope.tag in (None, request.tag)
    )
