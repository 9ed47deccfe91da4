"""Everything under a tag is stopped and seen gone, or named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from gate.contracts import Workload
from gate.dispatch.driver import dispatch
from gate.dispatch.world import Order
from gate.errors import EngineUnreachable, RunNotFound, StoreFull
from gate.reap.remaining import UNLISTED, Remaining
from gate.reap.settle import settle
from gate.rundir.formats import Attempt, WorkloadEntry
from gate.rundir.run import Run
from gate.simulate.clock import SimClock
from gate.simulate.store import MemoryStore
from tests.dispatch.fake_engine import FolderEngine
from tests.dispatch.plans import plan
from tests.dispatch.worlds import virtually, world


class Case:
    """A dispatched run of two legs and its engine."""

    def __init__(self, folder: Path) -> None:
        self.store = MemoryStore()
        self.engine = FolderEngine(folder, SimClock())
        self.attempt: Attempt = virtually(self._dispatch)

    async def _dispatch(self) -> Attempt:
        return (await dispatch(world(self.store, self.engine), plan(), Order("r1"))).attempt

    def settle(self, *, kept: tuple[str, ...] = (), budget: float = 60.0) -> tuple[Remaining, ...]:
        async def main() -> tuple[Remaining, ...]:
            tags = [self.attempt.tag]
            return await settle(self.store, self.engine, SimClock(), tags, kept=kept, budget=budget)

        found: tuple[Remaining, ...] = virtually(main)
        return found

    def entries(self) -> dict[str, WorkloadEntry]:
        async def main() -> dict[str, WorkloadEntry]:
            return dict(await Run(self.store).entries(self.attempt.tag))

        found: dict[str, WorkloadEntry] = virtually(main)
        return found


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_all_are_stopped_seen_gone_and_recorded_so(case: Case) -> None:
    assert case.settle() == ()
    assert case.engine.live() == []
    assert {entry.stage for entry in case.entries().values()} == {"seen_gone"}


def test_settling_again_stops_nothing_twice(case: Case) -> None:
    case.settle()
    case.engine.stops.clear()
    assert case.settle() == ()
    assert case.engine.stops == []


@pytest.mark.parametrize("name", ["a", "{tag}/a", "{id}"])
def test_what_is_kept_lives_on_and_is_not_named(case: Case, name: str) -> None:
    entry = case.entries()["a"]
    assert case.settle(kept=(name.format(tag=entry.tag, id=entry.engine_id),)) == ()
    assert case.engine.live() == [entry.name]
    assert case.entries()["a"].stage == "created"


def test_a_workload_without_an_entry_is_found_by_its_tag_and_stopped(case: Case) -> None:
    case.engine.put("stray", "gate-somebody", case.attempt.tag, "r1")
    assert case.settle() == ()
    assert case.engine.live() == []


def test_two_workloads_of_one_name_are_both_stopped(case: Case) -> None:
    """A create that was sent twice on its way: the second one has ended, the first lives on."""
    entry = case.entries()["a"]
    case.engine.put("zz-twin", entry.name, case.attempt.tag, "r1", phase="Failed")
    case.engine.put("zz-triplet", entry.name, case.attempt.tag, "r1")
    assert case.settle() == ()
    assert case.engine.live() == []
    assert {entry.engine_id, "zz-triplet"} <= set(case.engine.stops)
    assert case.entries()["a"].engine_id == entry.engine_id


def test_what_is_kept_is_not_stopped_with_its_twin(case: Case) -> None:
    entry = case.entries()["a"]
    case.engine.put("zz-twin", entry.name, case.attempt.tag, "r1")
    assert case.settle(kept=("a",)) == ()
    assert entry.engine_id not in case.engine.stops
    assert "zz-twin" in case.engine.stops


def test_another_runs_workloads_are_not_touched(case: Case) -> None:
    case.engine.put("other", "gate-other", "0therttag0", "r2")
    assert case.settle() == ()
    assert case.engine.live() == ["gate-other"]
    assert "other" not in case.engine.stops


def test_one_that_does_not_go_is_named_with_why_and_how(case: Case) -> None:
    entry = case.entries()["a"]

    class Stuck(FolderEngine):
        async def stop(self, workload_id: str) -> None:
            self.stops.append(workload_id)
            if workload_id != entry.engine_id:
                await super().stop(workload_id)

    case.engine = Stuck(case.engine.folder, SimClock())
    (left,) = case.settle(budget=35)
    assert (left.workload, left.engine_id) == ("a", entry.engine_id)
    assert "still shows it as Running" in left.why
    assert left.command == "gate reap --run r1"
    assert case.engine.stops.count(entry.engine_id or "") == 4, "sent again every ten seconds, for it is idempotent"
    assert case.entries()["a"].stage == "created"


def test_an_engine_that_cannot_be_asked_means_remaining_and_never_gone(case: Case) -> None:
    def on_list() -> None:
        raise EngineUnreachable("connection refused")

    class Deaf(FolderEngine):
        async def stop(self, workload_id: str) -> None:
            raise EngineUnreachable("connection refused")

        async def get(self, workload_id: str) -> object:  # type: ignore[override]
            raise EngineUnreachable("connection refused")

    case.engine = Deaf(case.engine.folder, SimClock(), on_list=on_list)
    left = case.settle(budget=20)
    assert [one.workload for one in left] == ["a", "b", UNLISTED]
    assert all("refused" in one.why for one in left[:2])


def test_absence_in_an_incomplete_list_means_nothing(case: Case) -> None:
    """An intent whose create may have happened, and a list that does not show everything."""
    entry = case.entries()["a"]
    virtually(lambda: Run(case.store).record_entry(_intended(entry)))
    (case.engine.folder / (entry.engine_id or "")).unlink()
    case.engine.complete = False
    left, others = case.settle(budget=20)
    assert (left.workload, left.why) == ("a", "the engine's list is not complete, and it is not on it")
    assert others.workload == UNLISTED
    case.engine.complete = True
    assert case.settle(budget=20) == ()


def test_a_list_that_is_never_complete_leaves_something_that_nobody_can_name(case: Case) -> None:
    """All that is recorded is gone; a create that was sent twice made another, and no list would show it."""
    for workload in case.engine.all():
        case.engine.change(workload.id, phase="Stopped")
    case.engine.complete = False
    (left,) = case.settle(budget=20)
    assert (left.workload, left.engine_id, left.command) == (UNLISTED, None, "gate reap --run r1")
    assert "no complete list" in left.why
    assert {entry.stage for entry in case.entries().values()} == {"seen_gone"}


def test_what_no_entry_names_is_looked_for_until_a_list_is_complete(case: Case) -> None:
    """All entries are gone by their ids; a workload that nobody recorded hides behind lists that lack some."""
    for workload in case.engine.all():
        case.engine.change(workload.id, phase="Stopped")
    case.engine.put("stray", "gate-somebody", case.attempt.tag, "r1")
    whole, case.engine.complete = case.engine.folder, False

    def on_list() -> None:
        hidden = case.engine.lists < 4
        case.engine.complete = not hidden
        case.engine.folder = whole if not hidden else whole.parent / "nothing"

    (whole.parent / "nothing").mkdir()
    real = case.engine.get

    async def get(workload_id: str) -> Workload:
        case.engine.folder = whole
        return await real(workload_id)

    case.engine.on_list, case.engine.get = on_list, get  # type: ignore[method-assign]
    assert case.settle() == ()
    assert case.engine.live() == []


def test_maestrowf_266_not_found_shortly_after_a_create_is_list_lag(case: Case) -> None:
    entry = case.entries()["a"]
    (case.engine.folder / (entry.engine_id or "")).unlink()
    case.engine.lag = 30.0
    assert [one.workload for one in case.settle(budget=20)] == ["a", UNLISTED]
    assert case.settle(budget=60) == ()


def test_a_twin_that_lists_show_late_is_waited_for(case: Case) -> None:
    """A create that was sent twice, all that is recorded has ended, and the engine's lists lag."""
    for workload in case.engine.all():
        case.engine.change(workload.id, phase="Failed")
    case.engine.lag = 30.0
    twin = case.engine.folder / "twin"

    def on_list() -> None:
        if case.engine.lists == 8:
            case.engine.put(twin.name, "gate-twin", case.attempt.tag, "r1")

    case.engine.on_list = on_list
    assert case.settle(budget=60) == ()
    assert case.engine.lists > 8
    assert case.engine.live() == []


def test_a_dead_supervisors_leftovers_are_stopped_though_the_workload_is_over(case: Case) -> None:
    entry = case.entries()["a"]
    case.engine.change(entry.engine_id or "", phase="Failed", reason="lost")
    assert case.settle() == ()
    assert entry.engine_id in case.engine.stops


def test_a_full_disk_does_not_hold_up_a_stop_and_is_named(case: Case) -> None:
    class Full(MemoryStore):
        async def replace(self, key: str, data: bytes) -> None:
            raise StoreFull("no space left")

    case.store = Full(case.store.disk)
    left = case.settle(budget=5)
    assert case.engine.live() == []
    assert all("could not be updated" in one.why for one in left)


def test_a_hanging_stop_is_given_up_with_the_budget(case: Case) -> None:
    class Hangs(FolderEngine):
        async def stop(self, workload_id: str) -> None:
            await anyio.sleep(3600)

    case.engine = Hangs(case.engine.folder, SimClock())
    assert len(case.settle(budget=5)) == 2


def test_a_tag_that_no_attempt_has_is_refused(case: Case) -> None:
    async def main() -> None:
        await settle(case.store, case.engine, SimClock(), ["nosuchtag0"], kept=(), budget=5)

    with pytest.raises(RunNotFound, match="nosuchtag0"):
        virtually(main)


def _intended(entry: WorkloadEntry) -> WorkloadEntry:
    return replace(entry, stage="intended", engine_id=None)
