"""An engine under virtual time. It is the world's, not a process's: workloads live on when whoever made them dies.

Phases follow from times alone, so a workload without a process costs no wake-up. A workload with one runs an async
function (the real bootstrap's driver) in the world's task group.
"""

from __future__ import annotations

import math
import signal
from collections.abc import Callable, Mapping
from typing import Literal

import anyio
import trio
from anyio.abc import TaskGroup

from gate.bootstrap import exits
from gate.contracts import (
    Capabilities,
    Clock,
    EndReason,
    Listing,
    LogChunk,
    Phase,
    Scope,
    Workload,
    WorkloadRequest,
)
from gate.errors import CreateUnclear, EngineRefused, WorkloadNotFound
from gate.simulate.engine_items import ENDLESS, Course, End, Item, Known, Process, SimProcess
from gate.simulate.legworld import SimSignals
from gate.simulate.life import survived

__all__ = ["CAPABILITIES", "Course", "SimEngine", "SimProcess"]

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
        self._items: dict[str, Item] = {}
        self._gone: list[Item] = []
        self._count = 0
        self._ended = trio.Event()
        self._queued_until = 0.0
        """Nothing is Pending from here on."""

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
        if course.create == "twice":
            self._add(request, course, now)
        if course.create == "unclear":
            raise CreateUnclear(f"{request.name}: no answer")
        return item.id

    async def list(self, scope: Scope) -> Listing:
        now, lag = await self._now(), self._capabilities.list_lag
        self._forget(now)
        seen = [item for item in self._items.values() if _within(item.request, scope) and now >= item.created + lag]
        places = self._places(now)
        return Listing(tuple(self._shown(item, now, places) for item in seen), complete=True)

    async def get(self, workload_id: str) -> Workload:
        now = await self._now()
        return self._shown(self._item(workload_id, now), now, self._places(now))

    async def stop(self, workload_id: str) -> None:
        now = await self._now()
        item = self._items.get(workload_id)
        if item is None or item.phase(now).terminal or item.asked:
            return
        item.asked = "stopped"
        if item.course.process is None or item.phase(now) is Phase.PENDING:
            self._finish(item, End(now + item.course.stop_time, Phase.STOPPED, "stopped", None))
            return
        item.signals.send(signal.SIGTERM, item.course.grace)
        self._tasks.start_soon(self._use_force, item, item.scope, item.course.grace)

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
        item.past = [*item.known(now).history, (now, Phase.PENDING, "preempted")]
        item.kill()
        item.scope, item.signals, item.deaths = anyio.CancelScope(), SimSignals(), []
        item.restarts += 1
        item.starts = now + queue
        self._schedule(item)

    async def end(self, workload_id: str, reason: EndReason, code: int | None = None) -> None:
        """End it as failed for `reason` (out_of_memory, evicted, node_lost …)."""
        now = await self._now()
        item = self._item(workload_id, now)
        self._finish(item, End(now, Phase.FAILED, reason, code))

    async def vanish(self, workload_id: str) -> None:
        """Nothing of it runs, and nobody remembers it."""
        now = await self._now()
        item = self._items.pop(workload_id)
        self._gone.append(item)
        if not item.phase(now).terminal:
            item.vanished = now
        item.kill()
        self._tell()

    # --- what the world may know of it ---

    def request(self, workload_id: str) -> WorkloadRequest | None:
        """What was asked for under this id."""
        return next((item.request for item in (*self._items.values(), *self._gone) if item.id == workload_id), None)

    def log(self, workload_id: str) -> bytes:
        """Everything it wrote."""
        return next((bytes(i.log) for i in (*self._items.values(), *self._gone) if i.id == workload_id), b"")

    async def known(self) -> tuple[Known, ...]:
        """Every workload there ever was, in the order of creation."""
        now = await self._now()
        every = sorted((*self._gone, *self._items.values()), key=lambda item: int(item.id.rpartition("-")[2]))
        return tuple(item.known(now) for item in every)

    async def until_over(self, mine: Callable[[WorkloadRequest], bool]) -> None:
        """Wait until no workload for which `mine` holds is alive."""
        while True:
            now = await self._now()
            left = [item for item in self._items.values() if mine(item.request) and not item.phase(now).terminal]
            if not left:
                return
            ends = min(item.end.at for item in left)
            with anyio.move_on_after(ends - now if ends < math.inf else None):
                await self._ended.wait()

    # --- inside ---

    def _add(self, request: WorkloadRequest, course: Course, now: float) -> Item:
        self._count += 1
        item = Item(
            id=f"sim-{self._count}",
            request=request,
            course=course,
            created=now,
            starts=now + course.queue,
            end=ENDLESS,
            log=bytearray(course.output),
        )
        self._items[item.id] = item
        self._schedule(item)
        return item

    def _finish(self, item: Item, end: End) -> None:
        item.end = end
        item.kill()
        self._tell()

    def _tell(self) -> None:
        self._ended.set()
        self._ended = trio.Event()

    def _schedule(self, item: Item) -> None:
        """Its end, as far as it is known in advance; or its process."""
        course, limit = item.course, item.starts + item.request.timeout
        self._queued_until = max(self._queued_until, item.starts)
        if course.process is not None:
            item.end = ENDLESS
            self._tasks.start_soon(self._run, item, course.process, item.scope)
            return
        own = math.inf if course.run is None else item.starts + course.run
        if own <= limit:
            ended = Phase.SUCCEEDED if course.exit_code == 0 and course.reason == "exit" else Phase.FAILED
            item.end = End(own, ended, course.reason, course.exit_code)
        else:
            item.end = End(limit, Phase.FAILED, "timeout", exits.TIMED_OUT)

    async def _run(self, item: Item, process: Process, scope: anyio.CancelScope) -> None:
        code: int | None = None
        with scope:
            await self._clock.sleep(item.starts - await self._now())
            given = SimProcess(item.request, item.signals, item.log, item.restarts, item.id, item.deaths)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._time_out, item, scope)
                code = await _life(process, given)
                tasks.cancel_scope.cancel()
        if item.scope is scope and item.end is ENDLESS:
            item.end = _ended(await self._now(), code, item.asked)
            self._tell()

    async def _time_out(self, item: Item, scope: anyio.CancelScope) -> None:
        await self._clock.sleep(item.request.timeout)
        if not item.asked:
            item.asked = "timeout"
            item.signals.send(signal.SIGTERM, item.course.grace)
            await self._use_force(item, scope, item.course.grace)

    async def _use_force(self, item: Item, scope: anyio.CancelScope, grace: float) -> None:
        await self._clock.sleep(grace)
        if item.scope is scope:
            item.kill()

    async def _now(self) -> float:
        return (await self._clock.now()).mono

    def _item(self, workload_id: str, now: float) -> Item:
        self._forget(now)
        if workload_id not in self._items:
            raise WorkloadNotFound(f"{workload_id}: not found")
        return self._items[workload_id]

    def _forget(self, now: float) -> None:
        for item in [item for item in self._items.values() if now >= item.end.at + item.course.remembered]:
            self._gone.append(self._items.pop(item.id))

    def _shown(self, item: Item, now: float, places: Mapping[str, int]) -> Workload:
        phase, before, place = item.phase(now), item.shown, places.get(item.id)
        if before is not None and (before.phase, before.queue_position, before.restarts) == (
            phase,
            place,
            item.restarts,
        ):
            return before
        ended, pending = phase.terminal, phase is Phase.PENDING
        item.shown = Workload(
            id=item.id,
            name=item.request.name,
            tag=item.request.tag,
            run=item.request.run,
            ref=item.request.ref,
            phase=phase,
            reason=item.end.reason if ended else item.course.waits_for if pending else "",
            exit_code=item.end.code if ended else None,
            message=item.course.waits if pending else "",
            queue_position=place,
            restarts=item.restarts,
        )
        return item.shown

    def _places(self, now: float) -> Mapping[str, int]:
        """Places in the queue of what is Pending."""
        if now >= self._queued_until:
            return {}
        pending = [item for item in self._items.values() if item.phase(now) is Phase.PENDING]
        self._queued_until = max((item.starts for item in pending), default=0.0)
        return {item.id: place for place, item in enumerate(sorted(pending, key=lambda i: i.starts), start=1)}


async def _life(process: Process, given: SimProcess) -> int:
    """Here a simulated death ends: this is the kernel it happened under."""
    try:
        return await process(given)
    except BaseException as error:  # noqa: BLE001 - a death is none of the others, and those go on
        rest = survived(error)
        if rest is not None:
            raise rest from None
        return _KILLED


def _ended(now: float, code: int | None, asked: Literal["", "stopped", "timeout"]) -> End:
    if code == exits.LEGS_FINISHED:
        return End(now, Phase.SUCCEEDED, "exit", code)
    if asked == "timeout":
        return End(now, Phase.FAILED, "timeout", exits.TIMED_OUT)
    if asked == "stopped":
        return End(now, Phase.STOPPED, "stopped", exits.STOPPED if code is None else code)
    return End(now, Phase.FAILED, "exit", code)


def _within(request: WorkloadRequest, scope: Scope) -> bool:
    return (
        request.repository == scope.repository
        and request.gate == scope.gate
        and scope.ref in (None, request.ref)
        and scope.tag in (None, request.tag)
    )
