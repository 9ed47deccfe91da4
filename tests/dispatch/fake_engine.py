"""An engine that is a folder of files, so that it outlives the process that asks it, and a menu of what goes wrong."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from gate.contracts import Capabilities, Clock, Listing, LogChunk, Phase, Scope, Workload, WorkloadRequest
from gate.errors import WorkloadNotFound

CAPABILITIES = Capabilities(
    list_lag=0.0,
    max_name=63,
    name_pattern="[a-z][a-z0-9-]*",
    privileged=False,
    shared=True,
    images=False,
    timeouts=False,
    logs_after_end=True,
    shell=False,
    queue_position=False,
    gpus=True,
    protects_gate=False,
)


def die() -> None:
    """What no handler sees."""
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class FolderEngine:
    """`before`, `between` and `answer` are called with the request around each create; they may raise or kill."""

    folder: Path
    clock: Clock | None = None
    lag: float = 0.0
    complete: bool = True
    before: Callable[[WorkloadRequest], None] = lambda _: None
    answer: Callable[[WorkloadRequest], None] = lambda _: None
    on_list: Callable[[], None] = lambda: None
    on_stop: Callable[[str], None] = lambda _: None
    creates: list[str] = field(default_factory=list)
    stops: list[str] = field(default_factory=list)
    lists: int = 0
    kind: str = "local"

    @property
    def capabilities(self) -> Capabilities:
        return replace(CAPABILITIES, list_lag=self.lag)

    async def create(self, request: WorkloadRequest) -> str:
        self.before(request)
        self.creates.append(request.workload)
        born = 0.0 if self.clock is None else (await self.clock.now()).mono
        number = len(list(self.folder.iterdir())) + 1
        self.put(f"id-{number}-{os.getpid()}", request.name, request.tag, request.run, request.ref, born=born)
        self.answer(request)
        return f"id-{number}-{os.getpid()}"

    def put(  # the state of one workload, as the engine holds it
        self, id_: str, name: str, tag: str, run: str, ref: str = "main", *, born: float = 0.0, phase: str = "Running"
    ) -> None:
        body = {"id": id_, "name": name, "tag": tag, "run": run, "ref": ref, "phase": phase, "reason": "", "born": born}
        (self.folder / id_).write_text(json.dumps(body), encoding="utf-8")

    def change(self, id_: str, **values: str) -> None:
        path = self.folder / id_
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")

    def all(self) -> list[Workload]:
        return [self._workload(path) for path in sorted(self.folder.iterdir())]

    def live(self) -> list[str]:
        return sorted(w.name for w in self.all() if not w.phase.terminal)

    async def list(self, scope: Scope) -> Listing:
        self.lists += 1
        self.on_list()
        now = None if self.clock is None else (await self.clock.now()).mono
        found = []
        for path in sorted(self.folder.iterdir()):
            workload = self._workload(path)
            born = json.loads(path.read_text(encoding="utf-8"))["born"]
            hidden = now is not None and now - born < self.lag
            fits = scope.tag in (None, workload.tag) and scope.ref in (None, workload.ref)
            if fits and not hidden:
                found.append(workload)
        return Listing(tuple(found), self.complete)

    async def get(self, workload_id: str) -> Workload:
        path = self.folder / workload_id
        if not path.exists():
            raise WorkloadNotFound(f"no workload {workload_id}")
        return self._workload(path)

    async def stop(self, workload_id: str) -> None:
        self.stops.append(workload_id)
        self.on_stop(workload_id)
        if (self.folder / workload_id).exists():
            self.change(workload_id, phase="Stopped", reason="stopped")

    async def logs(self, workload_id: str, offset: int, limit: int) -> LogChunk:
        return LogChunk(b"", offset, ended=True)

    async def aclose(self) -> None:
        return None

    def _workload(self, path: Path) -> Workload:
        body = json.loads(path.read_text(encoding="utf-8"))
        return Workload(
            body["id"], body["name"], body["tag"], body["run"], body["ref"], Phase(body["phase"]), body["reason"]
        )
