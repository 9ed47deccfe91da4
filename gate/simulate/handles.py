"""The contracts as one process of the runner holds them: written down in truth, and dead when the process is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from gate.contracts import (
    CancelNotes,
    Capabilities,
    Engine,
    Event,
    LegFiles,
    LegQuery,
    LegView,
    Listing,
    LogChunk,
    NewerRun,
    Reporter,
    Scope,
    Signals,
    StopRequest,
    Store,
    Supersede,
    Workload,
    WorkloadRequest,
)
from gate.dispatch.world import Staged, Staging
from gate.errors import EngineError, StoreError, WorkloadNotFound
from gate.plan.model import Plan
from gate.simulate.life import Life
from gate.simulate.played import Blind
from gate.simulate.truth import Truth


class OwnedStore:
    """`contracts.Store` of one process."""

    def __init__(self, store: Store, life: Life, truth: Truth, run: str) -> None:
        self._store = store
        self._life = life
        self._truth = truth
        self._run = run

    async def read(self, key: str) -> bytes | None:
        self._life.check()
        found = await self._store.read(key)
        self._life.check()
        return found

    async def create(self, key: str, data: bytes) -> bool:
        step = self._life.begin(f"create {key}")
        effect = False
        try:
            effect = await self._store.create(key, data)
        finally:
            self._wrote("create", key, data, effect)
        self._life.done(step, f"create {key}")
        return effect

    async def replace(self, key: str, data: bytes) -> None:
        step = self._life.begin(f"replace {key}")
        effect = False
        try:
            await self._store.replace(key, data)
            effect = True
        finally:
            self._wrote("replace", key, data, effect)
        self._life.done(step, f"replace {key}")

    async def append(self, key: str, data: bytes) -> None:
        step = self._life.begin(f"append {key}")
        effect = False
        try:
            await self._store.append(key, data)
            effect = True
        finally:
            self._wrote("append", key, data, effect)
        self._life.done(step, f"append {key}")

    async def list(self, prefix: str) -> tuple[str, ...]:
        self._life.check()
        found = await self._store.list(prefix)
        self._life.check()
        return found

    async def remove(self, key: str) -> bool:
        step = self._life.begin(f"remove {key}")
        effect = False
        try:
            effect = await self._store.remove(key)
        finally:
            self._wrote("remove", key, b"", effect)
        self._life.done(step, f"remove {key}")
        return effect

    def _wrote(self, op: Literal["create", "replace", "append", "remove"], key: str, data: bytes, effect: bool) -> None:
        self._truth.wrote(self._life.name, self._run, op, key, data, effect)


class BlindLog:
    """Joins the moments at which a process could not see something to windows."""

    def __init__(self, life: Life, truth: Truth, what: Literal["engine", "root"]) -> None:
        self._life = life
        self._truth = truth
        self._what: Literal["engine", "root"] = what
        self._since: float | None = None
        self._detail = ""

    def failed(self, began: float, detail: str) -> None:
        """A look that began at `began` saw nothing."""
        self._since = began if self._since is None else self._since
        self._detail = detail

    def seen(self) -> None:
        """A look saw."""
        if self._since is not None:
            now = self._truth.now()
            self._truth.blind.append(Blind(self._life.name, self._what, self._since, now, self._detail))
            self._since = None

    def close(self) -> None:
        """The process has ended."""
        self.seen()


class OwnedEngine:
    """`contracts.Engine` of one process."""

    def __init__(self, engine: Engine, life: Life, truth: Truth) -> None:
        self._engine = engine
        self._life = life
        self._truth = truth
        self.blind = BlindLog(life, truth, "engine")

    @property
    def kind(self) -> str:
        return self._engine.kind

    @property
    def capabilities(self) -> Capabilities:
        return self._engine.capabilities

    async def create(self, request: WorkloadRequest) -> str:
        what = f"engine create {request.name}"
        step = self._life.begin(what)
        self._truth.creators[request.name] = self._life.name
        created = await self._engine.create(request)
        self._life.done(step, what)
        return created

    async def list(self, scope: Scope) -> Listing:
        self._life.check()
        began = self._truth.now()
        try:
            found = await self._engine.list(scope)
        except EngineError as error:
            self._life.check()
            self.blind.failed(began, error.message)
            raise
        self._life.check()
        self.blind.seen()
        return found

    async def get(self, workload_id: str) -> Workload:
        self._life.check()
        began = self._truth.now()
        try:
            found = await self._engine.get(workload_id)
        except WorkloadNotFound:
            self._life.check()
            raise
        except EngineError as error:
            # A list that lacks a workload shows nothing of it, and this was asked for what a list lacks.
            self._life.check()
            self.blind.failed(began, error.message)
            raise
        self._life.check()
        return found

    async def stop(self, workload_id: str) -> None:
        what = f"engine stop {workload_id}"
        step = self._life.begin(what)
        self._truth.workload(workload_id).stops.append((self._truth.now(), self._life.name))
        await self._engine.stop(workload_id)
        self._life.done(step, what)

    async def logs(self, workload_id: str, offset: int, limit: int) -> LogChunk:
        self._life.check()
        found = await self._engine.logs(workload_id, offset, limit)
        self._life.check()
        return found

    async def aclose(self) -> None:
        await self._engine.aclose()


class OwnedLegFiles:
    """`contracts.LegFiles` of one process."""

    def __init__(self, files: LegFiles, life: Life, truth: Truth) -> None:
        self._files = files
        self._life = life
        self._truth = truth
        self.blind = BlindLog(life, truth, "root")

    async def look(self, queries: Sequence[LegQuery]) -> Mapping[str, LegView]:
        self._life.check()
        began = self._truth.now()
        try:
            found = await self._files.look(queries)
        except StoreError as error:
            self._life.check()
            self.blind.failed(began, error.message)
            raise
        self._life.check()
        self.blind.seen()
        return found


class OwnedSignals:
    """`contracts.Signals` of one process."""

    def __init__(self, signals: Signals, life: Life) -> None:
        self._signals = signals
        self._life = life

    async def wait(self) -> StopRequest:
        request = await self._signals.wait()
        self._life.check()
        return request


class OwnedNotes:
    """`contracts.CancelNotes` of one process."""

    def __init__(self, notes: CancelNotes, life: Life) -> None:
        self._notes = notes
        self._life = life

    async def record(self, run: str, tag: str, signal: int) -> None:
        what = f"note cancel {run} {tag}"
        step = self._life.begin(what)
        await self._notes.record(run, tag, signal)
        self._life.done(step, what)

    async def find(self, run: str, tag: str) -> int | None:
        self._life.check()
        return await self._notes.find(run, tag)


class OwnedSupersede:
    """`contracts.Supersede` of one process."""

    def __init__(self, supersede: Supersede, life: Life) -> None:
        self._supersede = supersede
        self._life = life

    async def newer(self) -> NewerRun | None:
        self._life.check()
        return await self._supersede.newer()


class OwnedReporter:
    """`contracts.Reporter` of one process. What it is told is a change to the world: people read it."""

    def __init__(self, reporter: Reporter, life: Life, truth: Truth) -> None:
        self._reporter = reporter
        self._life = life
        self._truth = truth
        self.skips: frozenset[str] = getattr(reporter, "skips", frozenset())

    async def emit(self, event: Event) -> None:
        what = f"report {event.kind}"
        step = self._life.begin(what)
        accepted = False
        try:
            await self._reporter.emit(event)
            accepted = True
        finally:
            self._truth.tell(self._life.name, event, accepted)
        self._life.done(step, what)

    async def aclose(self) -> None:
        await self._reporter.aclose()


class OwnedStaging:
    """`dispatch.world.Staging` of one process."""

    def __init__(self, staging: Staging, life: Life) -> None:
        self._staging = staging
        self._life = life

    async def stage(self, plan: Plan) -> Staged:
        step = self._life.begin("stage")
        staged = await self._staging.stage(plan)
        self._life.done(step, "stage")
        return staged

    async def verify(self, files: Mapping[str, str]) -> None:
        self._life.check()
        await self._staging.verify(files)
