"""Reaping by run and by age: whose workloads go, and whose are named and left."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from gate.contracts import CancelNotes, Listing, Scope, Store
from gate.dispatch.driver import dispatch
from gate.dispatch.world import Order
from gate.errors import EngineUnreachable, RunHeld
from gate.reap.remaining import UNLISTED
from gate.reap.report import ReapReport
from gate.reap.run import reap_orphans, reap_run
from gate.reap.stale import reap_stale
from gate.rundir import lease
from gate.rundir.formats import Attempt, Decision, Kept
from gate.rundir.lease import Holding
from gate.rundir.run import Run
from gate.simulate.clock import EPOCH, SimClock
from gate.simulate.store import MemoryStore
from tests.dispatch.fake_engine import FolderEngine
from tests.dispatch.plans import plan
from tests.dispatch.worlds import virtually, world

SCOPE = Scope("local/demo", "demo", ref="main")


@dataclass
class Notes:
    """Cancel notes of this machine."""

    noted: dict[tuple[str, str], int] = field(default_factory=dict)

    async def record(self, run: str, tag: str, signal: int) -> None:
        self.noted[(run, tag)] = signal

    async def find(self, run: str, tag: str) -> int | None:
        return self.noted.get((run, tag))


@dataclass
class World:
    """Runs of one gate, each with two workloads."""

    engine: FolderEngine
    stores: dict[str, MemoryStore] = field(default_factory=dict)
    attempts: dict[str, Attempt] = field(default_factory=dict)

    async def open(self, run: str) -> Store | None:
        return self.stores.get(run)

    async def add(self, run: str) -> None:
        store = self.stores[run] = MemoryStore()
        self.attempts[run] = (await dispatch(world(store, self.engine), plan(), Order(run))).attempt

    def records(self, run: str) -> Run:
        return Run(self.stores[run])

    async def stale(self, *spare: str, dry_run: bool = False) -> ReapReport:
        return await reap_stale(self.engine, SimClock(), self, SCOPE, spare=spare, dry_run=dry_run, budget=60)

    async def reap(self, run: str, notes: CancelNotes | None = None, *, all_: bool = False) -> ReapReport:
        return await reap_run(
            self.stores[run], self.engine, SimClock(), notes or Notes(), all_=all_, dry_run=False, budget=60
        )

    async def keep(self, run: str, workload: str, holder: str, seconds: float = 3600.0) -> None:
        tag = self.attempts[run].tag
        await self.records(run).keep(Kept(workload, tag, EPOCH + seconds, "post-mortem", holder))

    async def held(self, run: str) -> Holding:
        mine = lease.fresh("somebody", "host-7", 4711, "gate poll", 1.0, EPOCH)
        holding = Holding(self.stores[run], run, mine)
        await holding.acquire(SimClock(), take_over=False, waiting=lambda _lease, _seconds: None)
        return holding

    def live(self) -> list[tuple[str, str]]:
        return sorted((w.run, w.name.split("-")[1]) for w in self.engine.all() if not w.phase.terminal)


@pytest.fixture
def case(tmp_path: Path) -> World:
    return World(FolderEngine(tmp_path, SimClock()))


async def renewing(holding: Holding) -> None:
    while True:
        await anyio.sleep(1)
        await holding.renew()


def test_older_runs_are_stopped_and_this_one_is_not(case: World) -> None:
    async def main() -> ReapReport:
        for run in ("r1", "r2", "r3"):
            await case.add(run)
        return await case.stale("r3")

    report = virtually(main)
    assert {w.run for w in report.stopped} == {"r1", "r2"}
    assert report.remaining == ()
    assert case.live() == [("r3", "a"), ("r3", "b")]


def test_a_run_that_a_live_poller_holds_is_named_and_left(case: World) -> None:
    async def main() -> ReapReport:
        await case.add("r1")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(renewing, await case.held("r1"))
            report = await case.stale("r2")
            tasks.cancel_scope.cancel()
        return report

    report = virtually(main)
    assert [(held.run, held.lease.host, held.lease.pid) for held in report.held] == [("r1", "host-7", 4711)]
    assert len(case.live()) == 2


def test_a_run_whose_poller_died_is_reaped_once_its_counter_stood_still(case: World) -> None:
    async def main() -> ReapReport:
        await case.add("r1")
        await case.held("r1")
        return await case.stale("r2")

    assert len(virtually(main).stopped) == 2
    assert case.live() == []


def test_another_ref_and_another_gate_are_not_touched(case: World) -> None:
    case.engine.put("x", "demo-x-tag", "othertag00", "r0", ref="feature")

    async def main() -> ReapReport:
        return await case.stale("r2")

    assert virtually(main) == ReapReport()
    assert len(case.live()) == 1


def test_a_run_that_is_not_below_this_root_is_named_and_left(case: World) -> None:
    case.engine.put("x", "demo-x-tag", "othertag00", "r0")

    async def main() -> ReapReport:
        return await case.stale("r2")

    (left,) = virtually(main).remaining
    assert left.engine_id == "x"
    assert left.command == "gate reap --run r0 --all"
    assert case.live() == [("r0", "x")]


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_tag_that_the_runs_directory_does_not_know_is_named_and_not_called_stopped(
    case: World, *, dry_run: bool
) -> None:
    """The engine is the machine's, roots are many: another root's run of the same id has other tags."""

    async def main() -> ReapReport:
        await case.add("r1")
        case.engine.put("x", "demo-x-tag", "othertag00", "r1")
        return await case.stale("r2", dry_run=dry_run)

    report = virtually(main)
    assert {w.name.split("-")[1] for w in report.stopped} == {"a", "b"}
    (left,) = report.remaining
    assert (left.engine_id, left.command) == ("x", "gate reap --run r1 --all")
    assert ("r1", "x") in case.live()


def test_what_one_older_run_has_damaged_holds_up_no_other(case: World) -> None:
    async def main() -> ReapReport:
        for run in ("r1", "r2"):
            await case.add(run)
        await case.stores["r1"].replace("gate/attempts/0001.json", b"{")
        return await case.stale("r3")

    report = virtually(main)
    assert {w.run for w in report.stopped} == {"r2"}
    assert {left.workload.split("-")[1] for left in report.remaining} == {"a", "b"}
    assert all("gate/attempts/0001.json" in left.why for left in report.remaining)
    assert case.live() == [("r1", "a"), ("r1", "b")]


def test_the_lease_of_a_kept_workload_is_honoured_until_it_ends(case: World) -> None:
    async def main() -> tuple[ReapReport, ReapReport]:
        await case.add("r1")
        await case.keep("r1", "a", "somebody@host", 600)
        first = await case.stale("r2")
        await anyio.sleep(601)
        return first, await case.stale("r2")

    first, second = virtually(main)
    assert [kept.workload for kept in first.kept] == ["a"]
    assert len(first.stopped) == 1
    assert len(second.stopped) == 1
    assert case.live() == []


def test_what_a_superseded_run_left_to_itself_makes_way_for_the_newer_run_only(case: World) -> None:
    async def main() -> tuple[ReapReport, ReapReport]:
        await case.add("r1")
        await case.keep("r1", "a", "r1")
        await case.keep("r1", "b", "somebody@host")
        tag = case.attempts["r1"].tag
        await case.records("r1").write_decision(Decision("r1", 1, tag, "full", "SUPERSEDED", 4, "newer", (), EPOCH, 1))
        return await case.reap("r1"), await case.stale("r2")

    own, newer = virtually(main)
    assert own.stopped == (), "this run's reap honours it"
    assert [w.name.split("-")[1] for w in newer.stopped] == ["a"]
    assert case.live() == [("r1", "b")], "what a person keeps is honoured by both"


def test_a_dry_run_shows_and_stops_nothing(case: World) -> None:
    async def main() -> ReapReport:
        await case.add("r1")
        return await case.stale("r2", dry_run=True)

    assert len(virtually(main).stopped) == 2
    assert len(case.live()) == 2


def test_a_run_that_is_watched_is_not_reaped_under_its_poller(case: World) -> None:
    async def main() -> None:
        await case.add("r1")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(renewing, await case.held("r1"))
            with pytest.raises(RunHeld, match=r"host-7") as caught:
                await case.reap("r1")
            assert "gate stop --run r1" in str(caught.value)
            tasks.cancel_scope.cancel()

    virtually(main)
    assert len(case.live()) == 2


def test_flowzone_246_a_cancel_noted_on_this_machine_is_cleaned_up_though_poll_died(case: World) -> None:
    """Poll noted the cancel on its own disk and was killed before the shared root answered."""
    notes = Notes()

    async def main() -> ReapReport:
        await case.add("r1")
        await case.held("r1")  # nobody renews it: its holder is dead, and nobody waits to be sure
        await notes.record("r1", case.attempts["r1"].tag, 15)
        return await case.reap("r1", notes)

    report = virtually(main)
    assert report.cancelled == 15
    assert case.live() == []
    intent = virtually(lambda: case.records("r1").cancel(case.attempts["r1"].tag))
    assert intent.signal == 15, "and the run directory knows it now"


def test_all_takes_kept_workloads_too(case: World) -> None:
    async def main() -> tuple[ReapReport, ReapReport]:
        await case.add("r1")
        await case.keep("r1", "a", "somebody@host")
        return await case.reap("r1"), await case.reap("r1", all_=True)

    first, second = virtually(main)
    assert [w.name.split("-")[1] for w in first.stopped] == ["b"]
    assert [w.name.split("-")[1] for w in second.stopped] == ["a"]
    assert case.live() == []


def test_what_carries_the_run_and_none_of_its_tags_is_named_and_taken_by_all(case: World) -> None:
    async def main() -> tuple[ReapReport, ReapReport]:
        await case.add("r1")
        case.engine.put("x", "demo-x-tag", "othertag00", "r1")
        return await case.reap("r1"), await case.reap("r1", all_=True)

    first, second = virtually(main)
    assert [left.engine_id for left in first.remaining] == ["x"]
    assert [w.id for w in second.stopped] == ["x"]
    assert second.remaining == ()
    assert case.live() == []


def test_an_engine_that_cannot_be_asked_leaves_everything_named(case: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(scope: Scope) -> Listing:
        raise EngineUnreachable("connection refused")

    async def main() -> ReapReport:
        await case.add("r1")
        monkeypatch.setattr(case.engine, "list", away)
        monkeypatch.setattr(case.engine, "get", away)
        monkeypatch.setattr(case.engine, "stop", away)
        return await case.reap("r1")

    report = virtually(main)
    assert [left.workload for left in report.remaining] == ["a", "b", UNLISTED]
    assert all("connection refused" in left.why for left in report.remaining[:2])
    assert all(left.command == "gate reap --run r1" for left in report.remaining)


def test_a_run_whose_directory_is_gone_is_reaped_when_that_is_asked_for(case: World) -> None:
    case.engine.put("x", "demo-x-tag", "othertag00", "r0")

    async def main() -> ReapReport:
        return await reap_orphans(case.engine, SimClock(), Scope("local/demo", "demo"), "r0", dry_run=False, budget=60)

    assert virtually(main).remaining == ()
    assert case.live() == []
