"""An engine under virtual time. It is the world's, not a process's: workloads live on when whoever made them dies.

Phases follow from times alone, so a workload without a process costs no wake-up. A workload with one runs an async
function (the real bootstrap's driver) in the world's task group.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

import anyio
from anyio.abc import TaskGroup

from gate.bootstrap import exits
from gate.contracts import (
    Capabilities,
    Clock,
    EndReason,
    Killed,
    Listing,
    LogChunk,
    Phase,
    Scope,
    Workload,
    WorkloadRequest,
)
from gate.errors import CreateUnclear, EngineRefused, WorkloadNotFound
from gate.simulate.legworld import SimSignals

CAPABILITIES = Capabilities(  # noqa: S604 - `shell` says that `gate shell` works here
    list_lag=0.0,
    max_name=63,
    name_pattern=r"[a-z]([a-z0-9-]*[a-z0-9])?",
    privileged=True,
    shared=True,
    images=True,
    timeouts=True,
    logs_after_end=True,
    shell=True,
    queue_position=True,
    gpus=True,
    protects_gate=True,
)
_KILLED = 128 + signal.SIGKILL


@dataclass(frozen=True, slots=True)
class SimProcess:
    """What a workload's function is given."""

    request: WorkloadRequest
    signals: SimSignals
    log: bytearray
    restarts: int
    """How often the workload was started before."""


Process = Callable[[SimProcess], Awaitable[int]]
"""A workload's life; returns its exit code. It is cancelled when its grace or its time-out is over."""


@dataclass(frozen=True, slots=True)
class Course:
    """What one workload goes through, in seconds. `run` None: until it is stopped or times out."""

    queue: float = 0.0
    run: float | None = None
    exit_code: int = 0
    reason: EndReason = "exit"
    output: bytes = b""
    process: Process | None = None
    """Instead of `run` and `exit_code`."""
    create: Literal["answered", "refused", "unclear", "unclear_lost"] = "answered"
    """`unclear`: it was created, and the answer is lost; `unclear_lost`: so is the request."""
    create_time: float = 0.0
    stop_time: float = 0.0
    """From the stop to the end, without a process."""
    grace: float = 10.0
    """From the stop or the time-out to force, with one."""
    remembered: float = math.inf
    """From its end until the engine forgets it."""


@dataclass(frozen=True, slots=True)
class _End:
    at: float
    phase: Phase
    reason: EndReason
    code: int | None


_ENDLESS = _End(math.inf, Phase.UNKNOWN, "", None)


@dataclass(slots=True)
class _Item:
    id: str
    request: WorkloadRequest
    course: Course
    created: float
    starts: float
    end: _End
    log: bytearray
    restarts: int = 0
    signals: SimSignals = field(default_factory=SimSignals)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    asked: Literal["", "stopped", "timeout"] = ""

    def phase(self, now: float) -> Phase:
        if now >= self.end.at:
            return self.end.phase
        return Phase.RUNNING if now >= self.starts else Phase.PENDING


class SimEngine:
    """The engine contract over `courses`, which says what each requested workload will go through."""

    def __init__(
        self,
        clock: Clock,
        tasks: TaskGroup,
        courses: Callable[[WorkloadRequest], Course],
        capabilities: Capabilities = CAPABILITIES,
    ) -> None:
        self._clock = clock
        self._tasks = tasks
        self._courses = courses
        self._capabilities = capabilities
        self._items: dict[str, _Item] = {}
        self._count = 0

    @property
    def kind(self) -> str:
        return "simulated"

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    # --- the contract ---

    async def create(self, request: WorkloadRequest) -> str:
        course = self._courses(request)
        await self._clock.sleep(course.create_time)
        now = await self._now()
        if course.create == "unclear_lost":
            raise CreateUnclear(f"{request.name}: no answer")
        if course.create == "refused":
            raise EngineRefused(f"{request.name}: refused")
        if any(item.request.name == request.name and not item.phase(now).terminal for item in self._items.values()):
            raise EngineRefused(f"{request.name}: a workload of this name is alive")
        item = self._add(request, course, now)
        if course.create == "unclear":
            raise CreateUnclear(f"{request.name}: no answer")
        return item.id

    async def list(self, scope: Scope) -> Listing:
        now, lag = await self._now(), self._capabilities.list_lag
        self._forget(now)
        seen = [item for item in self._items.values() if _within(item.request, scope) and now >= item.created + lag]
        return Listing(tuple(self._shown(item, now) for item in seen), complete=True)

    async def get(self, workload_id: str) -> Workload:
        now = await self._now()
        return self._shown(self._item(workload_id, now), now)

    async def stop(self, workload_id: str) -> None:
        now = await self._now()
        item = self._items.get(workload_id)
        if item is None or item.phase(now).terminal or item.asked:
            return
        item.asked = "stopped"
        if item.course.process is None or item.phase(now) is Phase.PENDING:
            item.end = _End(now + item.course.stop_time, Phase.STOPPED, "stopped", None)
            item.scope.cancel()
            return
        item.signals.send(signal.SIGTERM, item.course.grace)
        self._tasks.start_soon(self._use_force, item.scope, item.course.grace)

    async def logs(self, workload_id: str, offset: int, limit: int) -> LogChunk:
        now = await self._now()
        item = self._item(workload_id, now)
        written = bytes(item.log) if now >= item.starts else b""
        start = max(0, len(written) + offset) if offset < 0 else min(offset, len(written))
        data = written[start : start + limit]
        after = start + len(data)
        return LogChunk(data, after, item.phase(now).terminal and after == len(written))

    async def aclose(self) -> None:
        """Nothing to close."""

    # --- what the world may do to it ---

    async def preempt(self, workload_id: str, queue: float) -> None:
        """Kill the workload and queue it again: its phase goes backwards."""
        now = await self._now()
        item = self._item(workload_id, now)
        item.scope.cancel()
        item.scope, item.signals = anyio.CancelScope(), SimSignals()
        item.restarts += 1
        item.starts = now + queue
        self._schedule(item)

    async def end(self, workload_id: str, reason: EndReason, code: int | None = None) -> None:
        """End it as failed for `reason` (out_of_memory, evicted, node_lost …)."""
        now = await self._now()
        item = self._item(workload_id, now)
        item.end = _End(now, Phase.FAILED, reason, code)
        item.scope.cancel()

    async def vanish(self, workload_id: str) -> None:
        """Nothing of it runs, and nobody remembers it."""
        self._items.pop(workload_id).scope.cancel()

    # --- inside ---

    def _add(self, request: WorkloadRequest, course: Course, now: float) -> _Item:
        self._count += 1
        item = _Item(
            id=f"sim-{self._count}",
            request=request,
            course=course,
            created=now,
            starts=now + course.queue,
            end=_ENDLESS,
            log=bytearray(course.output),
        )
        self._items[item.id] = item
        self._schedule(item)
        return item

    def _schedule(self, item: _Item) -> None:
        """Its end, as far as it is known in advance; or its process."""
        course, limit = item.course, item.starts + item.request.timeout
        if course.process is not None:
            item.end = _ENDLESS
            self._tasks.start_soon(self._run, item, course.process, item.scope)
            return
        own = math.inf if course.run is None else item.starts + course.run
        if own <= limit:
            ended = Phase.SUCCEEDED if course.exit_code == 0 and course.reason == "exit" else Phase.FAILED
            item.end = _End(own, ended, course.reason, course.exit_code)
        else:
            item.end = _End(limit, Phase.FAILED, "timeout", exits.TIMED_OUT)

    async def _run(self, item: _Item, process: Process, scope: anyio.CancelScope) -> None:
        code: int | None = None
        with scope:
            await self._clock.sleep(item.starts - await self._now())
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._time_out, item, scope)
                code = await _life(process, SimProcess(item.request, item.signals, item.log, item.restarts))
                tasks.cancel_scope.cancel()
        if item.scope is scope and item.end is _ENDLESS:
            item.end = _ended(await self._now(), code, item.asked)

    async def _time_out(self, item: _Item, scope: anyio.CancelScope) -> None:
        await self._clock.sleep(item.request.timeout)
        if not item.asked:
            item.asked = "timeout"
            item.signals.send(signal.SIGTERM, item.course.grace)
            await self._use_force(scope, item.course.grace)

    async def _use_force(self, scope: anyio.CancelScope, grace: float) -> None:
        await self._clock.sleep(grace)
        scope.cancel()

    async def _now(self) -> float:
        return (await self._clock.now()).mono

    def _item(self, workload_id: str, now: float) -> _Item:
        self._forget(now)
        if workload_id not in self._items:
            raise WorkloadNotFound(f"{workload_id}: not found")
        return self._items[workload_id]

    def _forget(self, now: float) -> None:
        for item in [item for item in self._items.values() if now >= item.end.at + item.course.remembered]:
            del self._items[item.id]

    def _shown(self, item: _Item, now: float) -> Workload:
        phase = item.phase(now)
        ended = phase.terminal
        return Workload(
            id=item.id,
            name=item.request.name,
            tag=item.request.tag,
            run=item.request.run,
            ref=item.request.ref,
            phase=phase,
            reason=item.end.reason if ended else "",
            exit_code=item.end.code if ended else None,
            queue_position=self._position(item, now) if phase is Phase.PENDING else None,
            restarts=item.restarts,
        )

    def _position(self, item: _Item, now: float) -> int:
        pending = [each for each in self._items.values() if each.phase(now) is Phase.PENDING]
        return sorted(pending, key=lambda each: each.starts).index(item) + 1


async def _life(process: Process, given: SimProcess) -> int:
    """Here, and only here, a simulated death ends: this is the kernel it happened under."""
    try:
        return await process(given)
    except Killed:
        return _KILLED
    except BaseExceptionGroup as group:  # noqa: F821 - simulations run at the runner, on Python 3.11 or newer
        # Its own task groups wrap the death, once a level.
        if group.split(Killed)[1] is not None:
            raise
        return _KILLED


def _ended(now: float, code: int | None, asked: Literal["", "stopped", "timeout"]) -> _End:
    if code == exits.LEGS_FINISHED:
        return _End(now, Phase.SUCCEEDED, "exit", code)
    if asked == "timeout":
        return _End(now, Phase.FAILED, "timeout", exits.TIMED_OUT)
    if asked == "stopped":
        return _End(now, Phase.STOPPED, "stopped", exits.STOPPED if code is None else code)
    return _End(now, Phase.FAILED, "exit", code)


def _within(request: WorkloadRequest, scope: Scope) -> bool:
    return (
        request.repository == scope.repository
        and request.gate == scope.gate
        and scope.ref in (None, request.ref)
        and scope.tag in (None, request.tag)
    )
