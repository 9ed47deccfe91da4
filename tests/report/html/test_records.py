"""Records of legs are untrusted files: read with bounds, no link followed, and what could not be read is said."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from gate.report.html import records
from gate.report.html.records import FileRecords, Record, Wanted
from gate.rundir import layout
from tests.report.html.made import TAG


def read(folder: Path, *legs: str, log: bool = True) -> list[tuple[Record, ...]]:
    async def main() -> list[tuple[Record, ...]]:
        return list(await FileRecords(folder).read([Wanted(leg, TAG, log) for leg in legs]))

    return anyio.run(main)


def incarnation(folder: Path, leg: str, name: str, journal: bytes = b"{}\n", log: bytes = b"said\n") -> Path:
    base = folder / layout.incarnation(leg, TAG, name)
    base.mkdir(parents=True)
    (base / layout.JOURNAL).write_bytes(journal)
    (base / layout.TRANSCRIPT).write_bytes(log)
    return base


def test_incarnations_come_oldest_first_with_the_end_of_their_transcripts(tmp_path: Path) -> None:
    for name in ("10-c", "2-b", "1-a"):
        incarnation(tmp_path, "a", name, log=b"x" * 9000 + b"end")
    (found, nothing) = read(tmp_path, "a", "b")
    assert [each.incarnation for each in found] == ["1-a", "2-b", "10-c"]
    assert all(len(each.log) == records.TAIL and each.log.endswith(b"end") for each in found)
    assert nothing == ()
    assert read(tmp_path, "a", log=False)[0][0].log == b""


def test_a_thousand_long_journals_are_cut_to_what_memory_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "JOURNALS", 40)
    incarnation(tmp_path, "a", "1-a", journal=b"x" * 100)
    incarnation(tmp_path, "b", "1-a", journal=b"x" * 19)
    (long,), (short,) = read(tmp_path, "a", "b")
    assert (len(long.journal or b""), long.cut) == (20, True)
    assert (len(short.journal or b""), short.cut) == (19, False)


def test_of_hundreds_of_starts_the_last_are_read(tmp_path: Path) -> None:
    for number in range(1, 30):
        incarnation(tmp_path, "a", f"{number}-a")
    assert [each.incarnation for each in read(tmp_path, "a")[0]] == [f"{number}-a" for number in range(22, 30)]


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_what_is_no_regular_file_is_never_opened_for_long(tmp_path: Path, kind: str) -> None:
    path = incarnation(tmp_path, "a", "1-a") / layout.JOURNAL
    path.unlink()
    match kind:
        case "link":
            path.symlink_to("/etc/passwd")
        case "fifo":
            os.mkfifo(path)
        case _:
            path.mkdir()
    found = read(tmp_path, "a")[0][0]
    assert found.journal is None
    assert found.problem.startswith("journal.jsonl: ")
    assert found.log == b"said\n", "the rest is read all the same"
