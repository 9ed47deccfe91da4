"""Parts of the supervisor on their own: outcomes, leases, slots, records, what the kernel refuses."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.bootstrap import exits, supervise_log, supervise_memory, supervise_record
from gate.bootstrap.supervise_files import Ended, Supervised, write
from gate.bootstrap.supervise_keep import Desk, Keeper, Reader, lapsed
from gate.bootstrap.supervise_log import cap
from gate.bootstrap.supervise_outcome import Ending, outcome
from gate.bootstrap.supervise_record import Record
from gate.documents import dump, load
from gate.rundir import layout
from gate.rundir.formats import Kept
from tests.bootstrap.supervise_harness import ASSIGNMENT, USERS, bench, wait_until

NOWHERE = ("", 0)
STOPPED = Ending("stopped", "asked to stop")
TIMEOUT = Ending("timeout", "too long")


@pytest.mark.parametrize(
    ("status", "ending", "code", "reason", "keep"),
    [
        (0, Ending(), 0, "exit", False),
        (0, STOPPED, 0, "exit", False),
        (0, TIMEOUT, 0, "exit", False),
        (10, Ending(), 10, "exit", True),
        (70, Ending(), 70, "exit", True),
        (11, Ending(), 11, "exit", False),
        (12, Ending(), 12, "exit", False),
        (-15, Ending(), 143, "signal", True),
        (-64, Ending(), 192, "signal", True),
        (10, STOPPED, 10, "stopped", False),
        (-9, STOPPED, exits.STOPPED, "stopped", False),
        (None, STOPPED, exits.STOPPED, "stopped", False),
        (-9, TIMEOUT, exits.TIMED_OUT, "timeout", False),
        (11, TIMEOUT, exits.TIMED_OUT, "timeout", False),
        (None, Ending(), exits.BUG, "bug", True),
    ],
)
def test_outcomes(status: int | None, ending: Ending, code: int, reason: Ended, keep: bool) -> None:
    came_to = outcome(status, ending, NOWHERE, 60.0)
    assert (came_to.code, came_to.reason, came_to.keep) == (code, reason, keep)


def test_argo13373_kill_is_out_of_memory_only_with_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise_memory, "kills", lambda: ("/proc/vmstat", 3))
    assert outcome(-signal.SIGKILL, Ending(), ("/proc/vmstat", 2), 60.0).reason == "out_of_memory"
    assert outcome(-signal.SIGKILL, Ending(), ("/proc/vmstat", 3), 60.0).reason == "signal"
    assert outcome(-signal.SIGTERM, Ending(), ("/proc/vmstat", 2), 60.0).reason == "signal"
    assert outcome(-signal.SIGKILL, STOPPED, ("/proc/vmstat", 2), 60.0).reason == "stopped"


def test_kernel_counts_out_of_memory_kills_somewhere() -> None:
    where, count = supervise_memory.kills()
    assert where.startswith("/")
    assert count >= 0


# --- keeping -----------------------------------------------------------------------------------------


def lease(until: float, holder: str = "person") -> Kept:
    return Kept("w", "t", until, why="", holder=holder)


@given(
    failed=st.booleans(),
    keep=st.floats(0, 1e6),
    leases=st.lists(st.one_of(st.none(), st.tuples(st.floats(0, 2e6), st.sampled_from(["run", "person"]))), max_size=6),
)
def test_keeping_follows_the_latest_lease(failed: bool, keep: float, leases: list[tuple[float, str] | None]) -> None:
    keeper, seen = Keeper("run", keep, ended=1000.0, failed=failed), False
    for each in leases:
        until = keeper.until(lease(*each) if each is not None else None)
        seen = seen or each is not None
        if each is not None:
            assert until == (each[0] if failed or each[1] != "run" else 1000.0)
        elif seen or not failed:
            assert until == 1000.0
        else:
            assert until == 1000.0 + keep


def test_lease_ends_a_running_workload_only_after_the_decision() -> None:
    assert not lapsed(Desk(lease(5.0), decided=False), now=10.0)
    assert lapsed(Desk(lease(5.0), decided=True), now=10.0)
    assert not lapsed(Desk(lease(15.0), decided=True), now=10.0)
    assert not lapsed(Desk(None, decided=True), now=10.0)


def test_what_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "run"
    path = root / layout.kept("t", "w")
    path.parent.mkdir(parents=True)
    reader = Reader(root, "t", "w")
    reader.read()
    assert reader.latest == Desk()
    path.write_bytes(dump(lease(5.0)))
    reader.read()
    assert reader.latest.lease == lease(5.0)
    for torn in (b"", b'{"format": "gate.kept", "ver', b'{"format": "gate.kept", "version": 99}'):
        path.write_bytes(torn)
        reader.read()
        assert reader.latest.lease == lease(5.0)
    root.rename(tmp_path / "gone")
    reader.read()
    assert reader.latest.lease == lease(5.0), "an unmounted root has no leases, which says nothing"
    (tmp_path / "gone").rename(root)
    path.unlink()
    reader.read()
    assert reader.latest.lease is None


def test_workload_with_a_lapsed_lease_is_ended_after_the_decision() -> None:
    with bench(USERS[-1]) as made:
        workload = made.start("sh", "-c", "sleep 0.3; sleep 300", timeout=120.0)
        decision = Path(workload.assignment.run_dir, layout.decision(workload.assignment.tag))
        decision.parent.mkdir(parents=True)
        decision.touch()
        workload.lease(0.0, holder=workload.assignment.run)
        assert workload.wait(60) == exits.STOPPED
        assert "its lease" in workload.status().message


# --- records and logs --------------------------------------------------------------------------------


def test_record_is_atomic_and_readable_by_everyone(tmp_path: Path) -> None:
    path = tmp_path / "status.json"
    before = os.umask(0o077)
    try:
        write(path, Supervised("t", "w", "h", 1, 2, "running"))
        write(path, Supervised("t", "w", "h", 1, 2, "ended", exit_code=0))
    finally:
        os.umask(before)
    assert load(Supervised, path.read_bytes(), "").phase == "ended"
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_hung_share_does_not_keep_the_end_from_the_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hang = threading.Event()

    def hung(path: Path, status: Supervised) -> None:
        if "legs" in path.parts:
            hang.wait(30)
            return
        write(path, status)

    monkeypatch.setattr(supervise_record, "write", hung)
    monkeypatch.setattr(supervise_record, "_SHARED_SECONDS", 0.1)
    (tmp_path / "run").mkdir()
    record = Record(tmp_path)
    record.belongs_to(replace(ASSIGNMENT, tag="t", run_dir=str(tmp_path / "run")))
    record.update(phase="ended", exit_code=3)
    hang.set()
    assert load(Supervised, (tmp_path / "status.json").read_bytes(), "").exit_code == 3


def test_log_without_holes_gives_up_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_fd: int, _offset: int, _length: int) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(supervise_log, "punch_hole", refused)
    path = tmp_path / "log"
    path.write_bytes(b"x" * 200_000)
    with path.open("r+b") as file:
        assert cap(file.fileno(), limit=100_000, head=10_000)
    assert path.stat().st_size == 0


def test_small_log_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x" * 5000)
    with path.open("r+b") as file:
        assert not cap(file.fileno())
    assert path.read_bytes() == b"x" * 5000


# --- what is not allowed -----------------------------------------------------------------------------


def test_lower_limit_of_an_outer_gate_leaves_the_workload_unmarked_and_findable() -> None:
    """Inside another gate's workload the mark may be too high for an ordinary user to set."""
    with bench(USERS[-1]) as made:
        limit = "import resource; resource.setrlimit(resource.RLIMIT_RTTIME, (1 << 59, 1 << 59))"
        workload = made.start("sleep", "300", before=limit)
        wait_until(lambda: workload.phase() == "running")
        marked = USERS[-1] == "root"
        assert workload.status().marked is marked
        assert marked or "unmarked: " in workload.text()
        assert len(workload.members()) == 1
        workload.process.terminate()
        workload.wait()


def test_a_root_that_is_not_there_is_not_made_by_the_record(tmp_path: Path) -> None:
    run_dir = tmp_path / "mount" / "run"
    record = Record(tmp_path)
    record.belongs_to(replace(ASSIGNMENT, tag="t", run_dir=str(run_dir)))
    record.update(phase="running")
    assert not run_dir.parent.exists()
    run_dir.mkdir(parents=True)
    record.update(phase="ended")
    assert load(Supervised, (run_dir / layout.supervised("t", ASSIGNMENT.workload)).read_bytes(), "").phase == "ended"
