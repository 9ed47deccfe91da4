"""Intent before act: what is on disk at every instant, and that nothing is created twice or lost."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from gate.contracts import WorkloadRequest
from gate.dispatch.driver import Dispatched, dispatch
from gate.dispatch.world import Order
from gate.errors import CreateUnclear, EngineAuthError, EngineRefused, EngineUnreachable
from gate.plan.model import Plan
from gate.rundir.formats import WorkloadEntry
from gate.rundir.notes import create_problem
from gate.rundir.run import Run
from gate.simulate.clock import SimClock
from gate.simulate.store import MemoryStore
from tests.dispatch.fake_engine import FolderEngine
from tests.dispatch.plans import leg, plan
from tests.dispatch.worlds import NoStaging, virtually, world


@pytest.fixture
def engine(tmp_path: Path) -> FolderEngine:
    return FolderEngine(tmp_path, SimClock())


def go(
    store: MemoryStore, engine: FolderEngine, wanted: Plan, order: Order | None = None, **changes: object
) -> Dispatched:
    async def main() -> Dispatched:
        return await dispatch(world(store, engine, **changes), wanted, order or Order("r1"))

    found = virtually(main)
    assert isinstance(found, Dispatched)
    return found


def entries(store: MemoryStore, done: Dispatched) -> dict[str, WorkloadEntry]:
    async def main() -> dict[str, WorkloadEntry]:
        return dict(await Run(store).entries(done.attempt.tag))

    found: dict[str, WorkloadEntry] = virtually(main)
    return found


def test_every_workload_is_created_and_recorded_under_its_id(engine: FolderEngine) -> None:
    store = MemoryStore()
    done = go(store, engine, plan())
    assert sorted(engine.creates) == ["a", "b"]
    recorded = entries(store, done)
    assert {e.stage for e in recorded.values()} == {"created"}
    assert sorted(e.engine_id or "" for e in recorded.values()) == sorted(w.id for w in engine.all())


def test_the_intent_is_on_disk_before_the_create(engine: FolderEngine) -> None:
    store, seen = MemoryStore(), []

    def before(request: WorkloadRequest) -> None:
        raw = store.disk.files[f"gate/workloads/{request.tag}/{request.workload}.json"]
        seen.append(b'"intended"' in raw)

    engine.before = before
    go(store, engine, plan())
    assert seen == [True, True]


def test_shared_workloads_go_first(engine: FolderEngine) -> None:
    go(MemoryStore(), engine, plan(["a", "b", "c"], shared={"host": ["b", "c"]}))
    assert engine.creates == ["host", "a"]


def test_a_run_that_is_dispatched_again_creates_nothing(engine: FolderEngine) -> None:
    store = MemoryStore()
    first = go(store, engine, plan())
    again = go(store, engine, plan())
    assert again.continued
    assert again.attempt == first.attempt
    assert sorted(engine.creates) == ["a", "b"]


def test_a_create_without_answer_is_adopted_by_its_tag_after_the_list_lag(engine: FolderEngine) -> None:
    store, engine.lag = MemoryStore(), 45.0

    def answer(request: WorkloadRequest) -> None:
        raise CreateUnclear("the connection was cut")

    engine.answer = answer
    done = go(store, engine, plan(["a"]))
    entry = entries(store, done)["a"]
    assert (entry.stage, entry.engine_id) == ("created", engine.all()[0].id)
    assert "adopted" in entry.note
    assert engine.creates == ["a"]


def test_a_create_without_answer_that_left_nothing_is_unclear_and_never_repeated(engine: FolderEngine) -> None:
    store = MemoryStore()

    def before(request: WorkloadRequest) -> None:
        if request.workload == "a":
            raise CreateUnclear("the connection was cut")

    engine.before = before
    done = go(store, engine, plan())
    assert create_problem(entries(store, done)["a"])[0] == "unclear"
    assert engine.creates == ["b"], "the other workload is launched all the same"
    engine.before = lambda _: None
    go(store, engine, plan())
    assert engine.creates == ["b"], "a request that may still be on its way is not sent again"


def test_an_unclear_create_that_appears_later_is_adopted_by_the_next_dispatch(engine: FolderEngine) -> None:
    store = MemoryStore()

    def before(request: WorkloadRequest) -> None:
        raise CreateUnclear("the connection was cut")

    engine.before = before
    done = go(store, engine, plan(["a"]))
    engine.put("late", entries(store, done)["a"].name, done.attempt.tag, "r1")
    go(store, engine, plan(["a"]))
    assert entries(store, done)["a"].engine_id == "late"


@pytest.mark.parametrize("error", [EngineRefused("quota"), EngineAuthError("403: create")])
def test_a_refusal_is_recorded_and_dispatch_goes_on(engine: FolderEngine, error: Exception) -> None:
    store = MemoryStore()

    def before(request: WorkloadRequest) -> None:
        if request.workload == "a":
            raise error

    engine.before = before
    done = go(store, engine, plan())
    assert create_problem(entries(store, done)["a"]) == ("refused", str(error))
    assert engine.creates == ["b"]


def test_reap_when_refused_makes_room_and_asks_once_more(engine: FolderEngine) -> None:
    store = MemoryStore()
    asked: list[str] = []
    reaped: list[bool] = []

    def before(request: WorkloadRequest) -> None:
        asked.append(request.workload)
        if not reaped:
            raise EngineRefused("no room")

    async def reap_stale() -> tuple[()]:
        reaped.append(True)
        return ()

    engine.before = before
    done = go(store, engine, plan(["a"], reap="when-refused"), reap_stale=reap_stale)
    assert asked == ["a", "a"]
    assert entries(store, done)["a"].stage == "created"


def test_an_engine_that_does_not_answer_is_found_out_before_anything_is_written(engine: FolderEngine) -> None:
    store = MemoryStore()

    def on_list() -> None:
        raise EngineUnreachable("connection refused")

    engine.on_list = on_list
    with pytest.raises(EngineUnreachable, match="does not answer"):
        go(store, engine, plan())
    assert store.disk.files == {}


def test_what_was_staged_is_verified_before_anything_is_launched(engine: FolderEngine) -> None:
    class Tampered(NoStaging):
        async def verify(self, files: object) -> None:
            assert engine.creates == []
            raise EngineRefused("not what was staged")

    with pytest.raises(EngineRefused, match="not what was staged"):
        go(MemoryStore(), engine, plan(), staging=Tampered())
    assert engine.creates == []


def test_no_secret_value_reaches_the_run_directory(engine: FolderEngine) -> None:
    store, handed = MemoryStore(), {}

    def before(request: WorkloadRequest) -> None:
        handed[request.workload] = dict(request.secrets)

    engine.before = before
    wanted = plan([leg("a", secrets=["API_KEY"]), leg("b")])
    go(store, engine, wanted, secrets={"API_KEY": "s3cr3t-value-123", "OTHER": "n0t-asked-for-9"})
    assert handed == {"a": {"API_KEY": "s3cr3t-value-123"}, "b": {}}
    everything = b"".join(bytes(data) for data in store.disk.files.values())
    assert b"s3cr3t-value-123" not in everything


def test_a_cancel_in_the_middle_leaves_an_intent_that_the_next_dispatch_resolves(engine: FolderEngine) -> None:
    store = MemoryStore()

    class Hangs(FolderEngine):
        async def create(self, request: WorkloadRequest) -> str:
            id_ = await super().create(request)
            await anyio.sleep(3600)
            return id_

    hanging = Hangs(engine.folder, engine.clock)

    async def cut_off() -> None:
        with anyio.move_on_after(5):
            await dispatch(world(store, hanging), plan(["a"]), Order("r1"))

    virtually(cut_off)
    done = go(store, engine, plan(["a"]))
    assert engine.creates == []
    assert len(engine.all()) == 1
    assert entries(store, done)["a"].engine_id == engine.all()[0].id
