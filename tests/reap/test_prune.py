"""Pruning: what may go goes, and nothing else, whatever lies in the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from gate.adapters.clock import SystemClock
from gate.documents import dump
from gate.machines.verdict import Outcome, Reason, Verdict
from gate.plan.identity import tag
from gate.reap.prune import Found, Pruned, Wish, look, prune
from gate.reap.tree import Tree
from gate.rundir import layout, lease
from gate.rundir.files import FileStore
from gate.rundir.formats import Attempt, Decision, WorkloadEntry
from gate.rundir.run import Run
from gate.rundir.runs import RunPlace, Runs
from tests.dispatch.plans import plan

DAY = 86400.0


class Root:
    """A shared root with runs of one gate."""

    def __init__(self, path: Path) -> None:
        self.path = path / "root"

    def add(self, run: str, *, stage: str = "seen_gone", outcome: Outcome = Outcome.PASS, age: float = 0) -> Path:
        """A decided run of one leg whose workload is at `stage`."""
        place = layout.run(self.path, "local/demo", "demo", run)
        store = Run(FileStore(place))
        mark = tag("local/demo", "demo", "1.0", run, 1)
        made = time.time() - age
        attempt = Attempt(run, 1, mark, made, plan(["a"]), {}, {}, ("a",), False, False, {})
        assert stage in ("created", "seen_gone")
        entry = WorkloadEntry("a", mark, "demo-a", ("a",), "created", "id-1", made, "")
        entry = replace(entry, stage="seen_gone") if stage == "seen_gone" else entry
        reason = Reason.CRITERIA_MET if outcome is Outcome.PASS else Reason.SETUP_STALLED
        verdict = Verdict("a", True, outcome, reason, "so it was", mark, 1, made, 1.0, None)

        async def main() -> None:
            await store.store.make_root()  # type: ignore[attr-defined]  # it is a FileStore
            await store.store.create(layout.attempt(1), dump(attempt))
            await store.record_entry(entry)
            await store.write_verdict(verdict)
            await store.write_decision(Decision(run, 1, mark, "full", "GO", 0, "all passed", (), made, 1.0))

        anyio.run(main)
        workspace = place / "legs" / "a" / mark / "1" / "workspace"
        workspace.mkdir(parents=True)
        (workspace / "big").write_bytes(b"x" * 50_000)
        return place

    def look(self, wish: Wish) -> list[Found]:
        async def main() -> list[Found]:
            places = await Runs(self.path).all()
            found = [await look(p.open(), p.run, Tree(self.path, p), wish, time.time()) for p in places]
            return [one for one in found if one is not None]

        return anyio.run(main)

    def prune(self, wish: Wish) -> list[Pruned]:
        async def main() -> list[Pruned]:
            places = {p.run: p for p in await Runs(self.path).all()}
            return [
                await prune(places[one.run].open(), one, Tree(self.path, places[one.run]), SystemClock(), _lease())
                for one in await anyio.to_thread.run_sync(lambda: self.look(wish))
            ]

        return anyio.run(main)


def _lease() -> Any:
    return lease.fresh("pruner", "here", 1, "gate prune", 0.2, time.time())


@pytest.fixture
def root(tmp_path: Path) -> Root:
    return Root(tmp_path)


def test_a_run_goes_with_its_emptied_parents_and_the_root_stays(root: Root) -> None:
    place = root.add("r1")
    (done,) = root.prune(Wish(run="r1"))
    assert done.gone
    assert done.freed >= 50_000
    assert not place.exists()
    assert root.path.is_dir()
    assert list(root.path.iterdir()) == []


def test_parents_of_other_runs_stay(root: Root) -> None:
    root.add("r1")
    other = root.add("r2")
    root.prune(Wish(run="r1"))
    assert other.is_dir()


def test_age(root: Root) -> None:
    root.add("old", age=40 * DAY)
    root.add("young", age=2 * DAY)
    assert [one.run for one in root.look(Wish(older_than=30 * DAY))] == ["old"]


def test_invalid_is_what_measured_nothing_or_cannot_be_read(root: Root) -> None:
    root.add("measured")
    root.add("failed", outcome=Outcome.ERROR)
    torn = root.add("torn")
    (torn / layout.attempt(1)).write_bytes(b'{"format": "gate.att')
    found = {one.run: one.worth for one in root.look(Wish(invalid=True))}
    assert found == {"failed": "nothing", "torn": "unreadable"}


def test_a_run_whose_workloads_were_not_seen_gone_is_refused(root: Root) -> None:
    place = root.add("r1", stage="created")
    (found,) = root.look(Wish(run="r1"))
    assert "not seen gone: a" in found.refused
    (done,) = root.prune(Wish(run="r1"))
    assert (done.gone, done.freed) == (False, 0)
    assert (place / "legs").is_dir()


def test_entries_that_cannot_be_read_are_no_proof_that_they_are_gone(root: Root) -> None:
    place = root.add("r1")
    (entry,) = (place / "gate" / "workloads").rglob("*.json")
    entry.write_bytes(b"torn")
    (found,) = root.look(Wish(run="r1"))
    assert "cannot be known" in found.refused


def test_a_held_run_is_refused(root: Root) -> None:
    place = root.add("r1")

    async def main() -> list[Pruned]:
        held = lease.Holding(FileStore(place), "r1", lease.fresh("poller", "here", 2, "gate poll", 0.2, 0.0))
        await held.acquire(SystemClock(), take_over=False, waiting=lambda _lease, _seconds: None)
        async with anyio.create_task_group() as tasks:

            async def renew() -> None:
                while True:
                    await anyio.sleep(0.1)
                    await held.renew()

            tasks.start_soon(renew)
            found = (await Runs(root.path).all())[0]
            one = await look(found.open(), "r1", Tree(root.path, found), Wish(run="r1"), time.time())
            assert one is not None
            done = await prune(found.open(), one, Tree(root.path, found), SystemClock(), _lease())
            tasks.cancel_scope.cancel()
        return [done]

    (done,) = anyio.run(main)
    assert not done.gone
    assert "gate poll" in done.left[0]
    assert (place / "legs").is_dir()


def test_by_leg_only_its_directories_go_and_the_records_stay(root: Root) -> None:
    place = root.add("r1")
    (place / "legs" / "b" / "x").mkdir(parents=True)
    (done,) = root.prune(Wish(leg="a*"))
    assert (done.gone, done.left) == (False, ())
    assert sorted(one.name for one in (place / "legs").iterdir()) == ["b"]
    assert (place / layout.attempt(1)).is_file()
    assert not (place / layout.LEASE).exists()


@pytest.mark.parametrize("where", ["workspace/link", "legs/link", "link"])
def test_a_link_out_of_the_root_goes_and_what_it_points_at_stays(root: Root, tmp_path: Path, where: str) -> None:
    place = root.add("r1")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine", encoding="utf-8")
    (workspace,) = (place / "legs" / "a").glob("*/1/workspace")
    link = (workspace / "link") if where.startswith("workspace") else place / where
    link.symlink_to(outside)
    (done,) = root.prune(Wish(run="r1"))
    assert done.gone
    assert (outside / "precious").read_text(encoding="utf-8") == "mine"


def test_a_run_directory_that_is_itself_a_link_is_no_run(root: Root, tmp_path: Path) -> None:
    root.add("r1")
    outside = tmp_path / "outside"
    outside.mkdir()
    (layout.runs(root.path, "local/demo", "demo") / "r2").symlink_to(outside)
    assert [one.run for one in root.look(Wish())] == ["r1"]


def test_a_parent_that_leads_out_is_refused(root: Root, tmp_path: Path) -> None:
    place = root.add("r1")
    moved = tmp_path / "elsewhere"
    place.parent.rename(moved)
    place.parent.symlink_to(moved)
    tree = Tree(root.path, RunPlace("local/demo", "demo", "r1", place))
    freed, left = anyio.run(tree.remove, ())
    assert freed == 0
    assert "leads out" in left[0]
    assert (moved / "r1" / "legs").is_dir()


def test_only_what_really_went_is_counted(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be removed: as another user's would be, were this test not run as root."""
    place = root.add("r1")
    real: Callable[..., None] = __import__("os").unlink

    def unlink(path: str, **where: Any) -> None:
        if str(path).endswith("big"):
            raise PermissionError(13, "Permission denied", str(path))
        real(path, **where)

    monkeypatch.setattr("os.unlink", unlink)
    (done,) = root.prune(Wish(run="r1"))
    assert not done.gone
    assert done.freed < 50_000
    assert any("big" in line for line in done.left)
    assert (place / layout.attempt(1)).is_file(), "what is left still says what it is"


def test_a_run_is_held_for_as_long_as_it_takes_to_remove_it(root: Root) -> None:
    """A large workspace outlived the lease of whoever removed it, and a dispatcher began a run in what was left."""
    place = root.add("1")
    store = FileStore(place)

    class Slow(Tree):
        async def hollow(self) -> tuple[int, list[str]]:
            before = await lease.current(store)
            await anyio.sleep(1.2)
            now = await lease.current(store)
            assert before is not None
            assert now is not None
            assert now.counter > before.counter
            return await super().hollow()

    async def main() -> Pruned:
        at = (await Runs(root.path).all())[0]
        found = await look(at.open(), at.run, Tree(root.path, at), Wish(run="1"), time.time())
        assert found is not None
        return await prune(at.open(), found, Slow(root.path, at), SystemClock(), _lease())

    done = anyio.run(main)
    assert done.gone
    assert not place.exists()
