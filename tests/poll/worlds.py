"""A small world for pollers in virtual time: a scripted engine, a disk in memory, and legs that write when told."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
from trio.testing import MockClock

from gate import documents
from gate.contracts import Capabilities, Event, Listing, LogChunk, NewerRun, Phase, Scope, StopRequest, Workload
from gate.errors import WorkloadNotFound
from gate.plan.model import LegPlan, Plan
from gate.poll.driver import Identity, PollWorld
from gate.poll.superseding import NeverSuperseded
from gate.rundir import layout
from gate.rundir.formats import Attempt, LegResult, Pointer, WorkloadEntry
from gate.simulate.clock import SimClock
from gate.simulate.legfiles import MemoryLegFiles
from gate.simulate.store import MemoryDisk, MemoryStore
from tests.dispatch.fake_engine import CAPABILITIES
from tests.dispatch.plans import leg, plan

TAG = "abcdefghij"
RUN = "12"


def virtual(work: Callable[[], Awaitable[None]]) -> None:
    """Run under trio's clock that jumps whenever everybody waits."""
    anyio.run(work, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)})


def attempt_of(made: Plan | None = None, **changes: Any) -> Attempt:
    """An attempt that has launched all workloads of a plan of legs a and b."""
    made = made or plan()
    names = tuple(workload.id for workload in made.workloads)
    return replace(Attempt(RUN, 1, TAG, 0.0, made, {}, {}, names, False, False, {}), **changes)


def informing(name: str) -> LegPlan:
    """A leg that never changes the exit code."""
    return replace(leg(name), blocking=False)


@dataclass
class ScriptedEngine:
    """Answers from `phases`; every call of `list` asks `on_list` first, which may raise or wait."""

    phases: dict[str, Phase] = field(default_factory=dict)
    on_list: Callable[[int], Awaitable[None]] | None = None
    on_get: Callable[[], Awaitable[None]] | None = None
    reasons: dict[str, str] = field(default_factory=dict)
    lists: int = 0
    gets: list[str] = field(default_factory=list)
    stops: list[str] = field(default_factory=list)
    stubborn: set[str] = field(default_factory=set)
    kind: str = "local"

    @property
    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def workload(self, name: str) -> Workload:
        phase, reason = self.phases[name], self.reasons.get(name, "")
        return Workload(f"id-{name}", f"demo-{name}-{TAG}", TAG, RUN, "main", phase, reason)  # type: ignore[arg-type]

    async def list(self, scope: Scope) -> Listing:
        self.lists += 1
        if self.on_list is not None:
            await self.on_list(self.lists)
        assert scope.tag in (None, TAG)
        return Listing(tuple(self.workload(name) for name in self.phases), complete=True)

    async def get(self, workload_id: str) -> Workload:
        self.gets.append(workload_id)
        if self.on_get is not None:
            await self.on_get()
        name = workload_id.removeprefix("id-")
        if name not in self.phases:
            raise WorkloadNotFound(f"no {workload_id}")
        return self.workload(name)

    async def stop(self, workload_id: str) -> None:
        self.stops.append(workload_id)
        name = workload_id.removeprefix("id-")
        if name not in self.stubborn and not self.phases[name].terminal:
            self.phases[name] = Phase.STOPPED

    async def create(self, request: object) -> str:
        raise AssertionError("a poller creates nothing")

    async def logs(self, workload_id: str, offset: int, limit: int) -> LogChunk:
        raise AssertionError("a poller reads no logs")

    async def aclose(self) -> None: ...


class SimSignals:
    """A signal that a test sends."""

    def __init__(self) -> None:
        self._sent: StopRequest | None = None
        self._seen = anyio.Event()

    def send(self, signal: int) -> None:
        self._sent = StopRequest(signal, 7.5)
        self._seen.set()

    async def wait(self) -> StopRequest:
        await self._seen.wait()
        assert self._sent is not None
        return self._sent


class MemoryNotes:
    """Cancel notes of one machine."""

    def __init__(self) -> None:
        self.noted: dict[tuple[str, str], int] = {}

    async def record(self, run: str, tag: str, signal: int) -> None:
        self.noted.setdefault((run, tag), signal)

    async def find(self, run: str, tag: str) -> int | None:
        return self.noted.get((run, tag))


class Newer:
    """A newer run that waits from the start."""

    asked = 0

    async def newer(self) -> NewerRun | None:
        self.asked += 1
        return NewerRun("13", "beef", "https://example.invalid/13")


class Ears:
    """A reporter that remembers."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def emit(self, event: Event) -> None:
        self.events.append(event)

    async def aclose(self) -> None: ...

    def kinds(self, *, ticks: bool = False) -> list[str]:
        return [event.kind for event in self.events if ticks or event.kind != "tick"]

    def of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind]


@dataclass
class Scene:
    """One run in memory, and everything a poller of it is given. `world()` is a fresh process on the same machine."""

    attempt: Attempt
    disk: MemoryDisk = field(default_factory=MemoryDisk)
    engine: ScriptedEngine = field(default_factory=ScriptedEngine)
    notes: MemoryNotes = field(default_factory=MemoryNotes)
    ears: Ears = field(default_factory=Ears)
    signals: SimSignals = field(default_factory=SimSignals)
    pollers: int = 0

    async def begin(self) -> Scene:
        """What dispatch leaves: attempt and entries; all workloads running."""
        store = MemoryStore(self.disk)
        await store.create(layout.attempt(self.attempt.attempt), documents.dump(self.attempt))
        for workload in self.attempt.plan.workloads:
            name = f"demo-{workload.id}-{TAG}"
            entry = WorkloadEntry(workload.id, TAG, name, workload.legs, "created", f"id-{workload.id}", 0.0, "")
            await store.create(layout.workload(TAG, workload.id), documents.dump(entry))
            self.engine.phases[workload.id] = Phase.RUNNING
        return self

    def world(self, **changes: Any) -> PollWorld:
        self.pollers += 1
        store = MemoryStore(self.disk)
        made = PollWorld(
            me=Identity(f"poller-{self.pollers}", "ci-7", self.pollers, "gate poll 12"),
            clock=SimClock(),
            store=store,
            engine=self.engine,
            legs=MemoryLegFiles(self.disk),
            signals=self.signals,
            cancels=self.notes,
            supersede=NeverSuperseded(),
            reporters=(self.ears,),
        )
        return replace(made, **changes)

    def pointer(self, leg_id: str, *, sequence: int = 1, phase: str = "wait", state: bool = True) -> None:
        home = layout.incarnation(leg_id, TAG, "1-x")
        rel = "session/run/state.json" if state else None
        made = Pointer(leg_id, TAG, "1-x", sequence, phase, rel, 1, 0, 0, 0, 0.0, None, None, 0.0)  # type: ignore[arg-type]
        self.disk.write(f"{home}/pointer.json", documents.dump(made))

    def state(self, leg_id: str, body: Mapping[str, Any] | bytes) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.disk.write(f"{layout.incarnation(leg_id, TAG, '1-x')}/session/run/state.json", raw)

    def finish(self, leg_id: str, *, ok: bool = True) -> None:
        """The leg finishes: pointer, state file, leg.json, and the engine sees its workload end."""
        self.pointer(leg_id, sequence=9, phase="ended")
        self.state(leg_id, {"done": True, "ok": ok})
        result = LegResult(
            leg_id, TAG, "1-x", "finished", None, "", "session/run/state.json", 1, 0, 0, 0, None, None, (), (), 0.0
        )
        self.disk.write(f"{layout.incarnation(leg_id, TAG, '1-x')}/leg.json", documents.dump(result))
        if leg_id in self.engine.phases:
            self.engine.phases[leg_id] = Phase.SUCCEEDED

    def verdicts(self) -> dict[str, tuple[str, str]]:
        """Leg to outcome and reason, as they stand on disk."""
        found: dict[str, tuple[str, str]] = {}
        for key in self.disk.below(f"gate/verdicts/{TAG}"):
            body = json.loads(bytes(self.disk.files[key]))
            found[body["leg"]] = (body["outcome"], body["reason"])
        return found


Script = Sequence[tuple[float, Callable[[], None]]]


async def play(script: Script) -> None:
    """Do each thing at its time, in seconds from now."""
    began = anyio.current_time()
    for at, act in sorted(script, key=lambda step: step[0]):
        await anyio.sleep(max(0.0, began + at - anyio.current_time()))
        act()
