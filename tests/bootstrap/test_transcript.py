"""The transcript: redacted, bounded, and never in the way."""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from pathlib import Path

import anyio
import pytest

from gate.bootstrap.redact import Redactor
from gate.bootstrap.transcript import Transcript
from gate.contracts import TurnRequest

SECRET = "a-secret-of-some-length"
REQUEST = TurnRequest(3, f"first {SECRET}\nsecond", "00000000-0000-0000-0000-000000000001", True, 60, 0)


def transcript(path: Path, **changes: float) -> Transcript:
    limit = int(changes.get("limit", 1 << 20))
    return Transcript(
        path / "transcript.log",
        Redactor({"KEY": SECRET}),
        limit=limit,
        patience=changes.get("patience", 2.0),
        wall=lambda: 1_800_000_000.0,
    )


def test_a_turn_has_a_header_its_prompt_and_an_end(tmp_path: Path) -> None:
    async def main() -> None:
        log = transcript(tmp_path)
        await log.begin(REQUEST)
        await log.write(b"some output\n")
        await log.write(b"some error\n", "err")
        await log.end(f"turn 3 failed: {SECRET}")
        await log.note(f"verify says {SECRET}")

    anyio.run(main)
    assert (tmp_path / "transcript.log").read_text().split("\n") == [
        "",
        "=== turn 3 resumes session 00000000-0000-0000-0000-000000000001 at 2027-01-15T08:00:00Z",
        "> first ***KEY***",
        "> second",
        "some output",
        "some error",
        "",
        "=== turn 3 failed: ***KEY*** at 2027-01-15T08:00:00Z",
        "--- verify says ***KEY***",
        "",
    ]


def test_it_is_written_as_it_happens_and_cut_secrets_are_found(tmp_path: Path) -> None:
    async def main() -> None:
        log = transcript(tmp_path)
        await log.write(b"it is a-sec")
        assert (tmp_path / "transcript.log").read_bytes() == b"it is "
        await log.write(b"other channel ", "err")
        await log.write(b"ret-of-some-length.")
        assert (tmp_path / "transcript.log").read_bytes() == b"it is other channel ***KEY***."
        await log.write(b" a-sec")
        await log.end("over")

    anyio.run(main)
    assert b" a-sec\n=== over" in (tmp_path / "transcript.log").read_bytes()


def test_two_outputs_at_once_lose_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        log = transcript(tmp_path)
        async with anyio.create_task_group() as tasks:
            for number in range(40):
                tasks.start_soon(log.write, b"x" * 10, "err" if number % 2 else "out")
        assert log.lost == 0

    anyio.run(main)
    assert (tmp_path / "transcript.log").read_bytes() == b"x" * 400


def test_the_runner_can_read_it_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        anyio.run(transcript(tmp_path).note, "hello")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "transcript.log").stat().st_mode) == 0o644


def test_it_is_never_larger_than_its_limit(tmp_path: Path) -> None:
    def size() -> int:
        return sum(path.stat().st_size for path in tmp_path.iterdir())

    async def main() -> None:
        log = transcript(tmp_path, limit=2000)
        for number in range(100):
            await log.write(f"line {number} {'x' * 70}\n".encode())
            assert size() <= 2000
        await log.write(b"y" * 5000)

    anyio.run(main)
    old, new = (tmp_path / "transcript.log.1").read_text(), (tmp_path / "transcript.log").read_text()
    assert old.endswith("x\n")
    assert "line 99 " in old
    assert new == "y" * 1000


def test_a_full_disk_loses_transcript_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = [True]
    write = os.write

    def maybe_full(fd: int, data: bytes) -> int:
        if full[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    async def main() -> None:
        log = transcript(tmp_path)
        monkeypatch.setattr("gate.bootstrap.transcript.os.write", maybe_full)
        await log.write(b"lost, ")
        await log.write(b"lost too")
        assert log.lost == 14
        full[0] = False
        await log.write(b"kept\n")
        await log.write(b"kept\n")

    anyio.run(main)
    expected = "\n[14 bytes of transcript lost: No space left on device]\nkept\nkept\n"
    assert (tmp_path / "transcript.log").read_text() == expected


def test_a_hanging_share_holds_nothing_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging, released = threading.Event(), threading.Event()
    write = os.write

    def slow(fd: int, data: bytes) -> int:
        if not released.is_set():
            hanging.set()
            released.wait(20)
        return write(fd, data)

    async def main() -> None:
        log = transcript(tmp_path, patience=0.3)
        monkeypatch.setattr("gate.bootstrap.transcript.os.write", slow)
        began = time.monotonic()
        for _ in range(50):
            await log.write(b"0123456789")
        assert hanging.is_set()
        assert time.monotonic() - began < 1.5
        assert log.lost == 500
        released.set()
        while log._file.busy:  # noqa: ASYNC110 - a thread that was left behind clears it
            await anyio.sleep(0.01)
        await log.write(b"here again\n")

    anyio.run(main)
    text = (tmp_path / "transcript.log").read_text()
    assert text.endswith("\n[500 bytes of transcript lost: no answer within 0.3 s]\nhere again\n")


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "transcript.log").symlink_to(tmp_path / "elsewhere")
    log = transcript(tmp_path)
    anyio.run(log.note, "hello")
    assert (tmp_path / "elsewhere").read_text() == "mine"
    assert log.lost > 0
