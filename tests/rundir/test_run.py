"""Runs below a root, a run's records, and cancels on the runner's own disk."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from gate import documents
from gate.errors import DocumentError, RunNotFound
from gate.machines.verdict import Outcome, Reason, Verdict
from gate.rundir import journal, layout
from gate.rundir.cancels import FileCancelNotes
from gate.rundir.files import FileStore
from gate.rundir.formats import Attempt, CancelIntent, Kept, WorkloadEntry
from gate.rundir.run import Run
from gate.rundir.runs import Runs
from gate.simulate.store import MemoryStore
from tests.dispatch.plans import plan

TAG = "abcdefghij"
ATTEMPT = Attempt("12", 1, TAG, 0.0, plan(), {}, {}, ("a", "b"), False, False, {})
VERDICT = Verdict("a", True, Outcome.PASS, Reason.CRITERIA_MET, "met", TAG, 1, 10.0, 5.0, None)


def run(work: Callable[[], Awaitable[None]]) -> None:
    anyio.run(work)


def make_run(root: Path, repository: str, gate: str, run_id: str) -> Path:
    path = layout.run(root, repository, gate, run_id)
    (path / "gate/attempts").mkdir(parents=True)
    return path


# --- runs --------------------------------------------------------------------------------------------


def test_find_by_id_by_its_beginning_and_the_latest(tmp_path: Path) -> None:
    for number, name in enumerate(("100", "1001", "200", "feature/x 1")):
        path = make_run(tmp_path, "me/repo", "tune", name)
        os.utime(path / "gate/attempts", ns=(number, number))
    make_run(tmp_path, "me/other", "tune", "200")

    async def main() -> None:
        runs = Runs(tmp_path)
        assert (await runs.find("100")).run == "100"  # exact wins over a longer one that begins so
        assert (await runs.find("1001")).gate == "tune"
        assert (await runs.find("fea")).run == "feature/x 1"
        assert (await runs.find("200", "me/other", "tune")).repository == "me/other"
        assert (await runs.latest("me/repo", "tune")).run == "feature/x 1"
        with pytest.raises(RunNotFound, match="exists in 2 gates"):
            await runs.find("200")
        with pytest.raises(RunNotFound, match=r"beginning of 2 runs.*100.*1001"):
            await runs.find("10")
        with pytest.raises(RunNotFound) as caught:
            await runs.find("nine")
        assert "me/repo/tune 100" in str(caught.value)

    run(main)


def test_no_runs_at_all(tmp_path: Path) -> None:
    async def main() -> None:
        runs = Runs(tmp_path / "nowhere")
        assert await runs.all() == ()
        with pytest.raises(RunNotFound, match="no run of gate tune"):
            await runs.latest("r", "tune")
        with pytest.raises(RunNotFound, match="no run 'x'"):
            await runs.find("x")

    run(main)


def test_open_reads_the_runs_records(tmp_path: Path) -> None:
    make_run(tmp_path, "me/repo", "tune", "12")

    async def main() -> None:
        place = await Runs(tmp_path).find("12")
        await place.open().store.create(layout.attempt(1), documents.dump(ATTEMPT))
        assert await place.open().latest_attempt() == ATTEMPT

    run(main)


# --- records -----------------------------------------------------------------------------------------


def test_attempts_in_order_and_the_latest() -> None:
    async def main() -> None:
        records = Run(MemoryStore())
        with pytest.raises(DocumentError, match="no attempt"):
            await records.latest_attempt()
        second = replace(ATTEMPT, attempt=2, tag="bbbbbbbbbb")
        await records.store.create(layout.attempt(2), documents.dump(second))
        await records.store.create(layout.attempt(1), documents.dump(ATTEMPT))
        assert await records.attempts() == (ATTEMPT, second)
        assert await records.latest_attempt() == second
        assert await records.attempt(3) is None

    run(main)


def test_a_verdict_is_written_once_and_the_first_stands() -> None:
    async def main() -> None:
        records = Run(MemoryStore())
        later = replace(VERDICT, outcome=Outcome.ERROR, reason=Reason.VANISHED)
        assert await records.write_verdict(VERDICT) == VERDICT
        assert await records.write_verdict(later) == VERDICT
        assert await records.verdicts(TAG) == {"a": VERDICT}

    run(main)


def test_a_lease_is_never_extended_by_a_restart() -> None:
    async def main() -> None:
        records = Run(MemoryStore())
        first = Kept("w", TAG, 100.0, "post-mortem", "12")
        await records.keep(first)
        assert await records.keep(replace(first, until=900.0)) == first

    run(main)


def test_entries_and_cancel() -> None:
    async def main() -> None:
        records = Run(MemoryStore())
        entry = WorkloadEntry("w", TAG, "demo-w", ("a",), "intended", None, 1.0, "")
        await records.record_entry(entry)
        await records.record_entry(replace(entry, stage="created", engine_id="7"))
        assert (await records.entries(TAG))["w"].engine_id == "7"
        intent = CancelIntent("12", TAG, 15, 1.0)
        assert await records.record_cancel(intent) == intent
        assert await records.record_cancel(replace(intent, signal=2)) == intent
        assert await records.decision(TAG) is None
        assert await records.manifest() is None

    run(main)


BROKEN = [
    (layout.attempt(1), b"", "not a gate.attempt file"),
    (layout.attempt(1), documents.dump(ATTEMPT)[:-40], "not a gate.attempt file"),
    (layout.attempt(1), documents.dump(ATTEMPT).replace(b'"format_version": 1', b'"format_version": 4'), "is newer"),
    (layout.attempt(1), documents.dump(ATTEMPT).replace(b'"attempt": 1', b'"attempt": true'), "attempt: expected int"),
    (layout.attempt(1), documents.dump(ATTEMPT).replace(b'"fresh"', b'"stale"'), "no key 'stale'"),
    (layout.attempt(1), documents.dump(ATTEMPT).replace(b'"full"', b'"most"'), "plan.scope: expected one of"),
    (layout.verdict(TAG, "a"), documents.dump(VERDICT).replace(b'"PASS"', b'"OK"'), "outcome: expected one of"),
    (layout.verdict(TAG, "a"), b"null", "expected an object, found null"),
    (layout.decision(TAG), b'{"format": "gate.verdict"}', "expected format 'gate.decision'"),
    (layout.kept(TAG, "w"), b"\xff\xfe", "not UTF-8"),
    (layout.workload(TAG, "w"), b'{"a": 1, "a": 2}', "duplicate key 'a'"),
]


async def read_all(records: Run) -> None:
    await records.attempts()
    await records.verdicts(TAG)
    await records.decision(TAG)
    await records.kept(TAG)
    await records.entries(TAG)


@pytest.mark.parametrize(("key", "raw", "words"), BROKEN, ids=[f"{row[0]}-{row[2]}" for row in BROKEN])
def test_a_broken_record_is_an_error_that_names_the_file_and_is_left_alone(key: str, raw: bytes, words: str) -> None:
    async def main() -> None:
        records = Run(MemoryStore())
        await records.store.replace(key, raw)
        with pytest.raises(DocumentError) as caught:
            await read_all(records)
        assert key in caught.value.message
        assert words in caught.value.message
        assert await records.store.read(key) == raw

    run(main)


# --- journals ----------------------------------------------------------------------------------------


def test_a_journals_torn_tail_is_dropped_and_damage_in_it_is_named() -> None:
    raw = journal.line([1, "é"]) + journal.line({"a": None}) + b'[2, "torn'
    assert list(journal.values(raw, "j")) == [[1, "é"], {"a": None}]
    assert journal.whole(b"torn") == b""
    with pytest.raises(DocumentError, match="j, line 2: not JSON"):
        list(journal.values(b"[1]\n{torn}\n[3]\n", "j"))


# --- cancels -----------------------------------------------------------------------------------------


def test_a_cancel_note_survives_a_kill_right_after_it(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import os, signal, sys, anyio
        from pathlib import Path
        from gate.rundir.cancels import FileCancelNotes
        async def main():
            await FileCancelNotes(Path(sys.argv[1])).record("12", "abcdefghij", 15)
            os.kill(os.getpid(), signal.SIGKILL)
        anyio.run(main)
        """
    )
    folder = tmp_path / "cancels"
    assert subprocess.run([sys.executable, "-c", script, str(folder)], check=False).returncode == -9

    async def main() -> None:
        notes = FileCancelNotes(folder)
        assert await notes.find("12", TAG) == 15
        await notes.record("12", TAG, 2)
        assert await notes.find("12", TAG) == 15  # the first one stays
        assert await notes.find("12", "zzzzzzzzzz") is None
        assert await notes.find("a/b", TAG) is None
        await notes.record("a/b", TAG, 2)
        assert await notes.find("a/b", TAG) == 2

    run(main)
    assert len(list(folder.iterdir())) == 2


def test_a_damaged_or_foreign_cancel_note_is_an_error(tmp_path: Path) -> None:
    (tmp_path / f"12.{TAG}.json").write_bytes(b"{}")

    async def main() -> None:
        notes = FileCancelNotes(tmp_path)
        with pytest.raises(DocumentError, match=TAG):
            await notes.find("12", TAG)
        (tmp_path / f"12.{TAG}.json").write_bytes(documents.dump(CancelIntent("13", TAG, 15, 0.0)))
        with pytest.raises(DocumentError, match="of run 13"):
            await notes.find("12", TAG)

    run(main)


def test_file_store_and_cancels_do_not_share_threads(tmp_path: Path) -> None:
    assert FileStore(tmp_path)._lane is not FileCancelNotes(tmp_path)._lane
