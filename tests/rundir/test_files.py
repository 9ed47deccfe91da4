"""FileStore on a real file system: durability, racing processes, hangs, full disks, links."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from gate.adapters.threads import Lane
from gate.errors import StoreDenied, StoreError, StoreFull, StoreUnavailable
from gate.rundir import files, keys, layout
from gate.rundir.files import FileStore


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    made = tmp_path / "run"
    made.mkdir()
    return made


def test_racing_processes_exactly_one_creates(run_dir: Path) -> None:
    """The verdict race: with temp-and-rename two racers would both believe that they had won."""
    script = textwrap.dedent(
        """
        import sys, time, anyio
        from pathlib import Path
        from gate.rundir.files import FileStore
        store, me = FileStore(Path(sys.argv[1])), sys.argv[2]
        async def main():
            print("ready", flush=True)
            sys.stdin.readline()
            won = [n for n in range(40) if await store.create(f"gate/verdicts/t/{n}.json", me.encode())]
            print(" ".join(map(str, won)))
        anyio.run(main)
        """
    )
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(run_dir), str(me)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for me in range(4)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    won = {me: racer.communicate()[0].split() for me, racer in enumerate(racers)}
    assert sorted(int(n) for wins in won.values() for n in wins) == list(range(40))
    for me, wins in won.items():
        for number in wins:
            assert (run_dir / f"gate/verdicts/t/{number}.json").read_text() == str(me)
    assert not list((run_dir / "gate/verdicts/t").glob(f"{keys.TEMPORARY}*"))


def test_readers_never_see_a_half_written_file(run_dir: Path) -> None:
    async def main() -> None:
        store = FileStore(run_dir)
        a, b = b"a" * 300_000, b"b" * 300_000
        await store.replace("gate/x", a)

        async def write() -> None:
            for turn in range(30):
                await store.replace("gate/x", (a, b)[turn % 2])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(write)
            for _ in range(30):
                assert await store.read("gate/x") in (a, b)

    anyio.run(main)


def test_temporary_files_of_a_killed_writer_are_never_listed(run_dir: Path) -> None:
    (run_dir / "gate").mkdir()
    (run_dir / "gate" / f"{keys.TEMPORARY}1-ab").write_bytes(b"half")

    async def main() -> None:
        assert await FileStore(run_dir).list("gate") == ()

    anyio.run(main)


def test_a_hung_root_is_unavailable_within_its_deadline_and_takes_no_late_effect(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_go = threading.Event()
    real = os.fsync

    def hangs(handle: int) -> None:
        let_go.wait(10)
        real(handle)

    monkeypatch.setattr(os, "fsync", hangs)

    async def main() -> None:
        store = FileStore(run_dir, lane=Lane("root"), deadline=0.2)
        began = time.monotonic()
        with pytest.raises(StoreUnavailable, match="no answer"):
            await store.replace("x", b"late")
        assert time.monotonic() - began < 1
        let_go.set()
        await anyio.sleep(0.3)

    anyio.run(main)
    assert list(run_dir.iterdir()) == []  # the write that nobody waits for any more did not happen


def test_a_hung_create_takes_no_late_effect(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()
    monkeypatch.setattr(os, "fsync", lambda _: let_go.wait(10))

    async def main() -> None:
        store = FileStore(run_dir, deadline=0.2)
        with pytest.raises(StoreUnavailable):
            await store.create("gate/lease.json", b"old holder")
        let_go.set()
        await anyio.sleep(0.3)
        assert await store.create("gate/lease.json", b"new holder") is True

    anyio.run(main)


def failing(number: int, times: list[int]) -> Callable[..., int]:
    def fail(*_: object, **__: object) -> int:
        if times:
            times.pop()
            raise OSError(number, os.strerror(number))
        return 0

    return fail


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.EACCES, StoreDenied),
        (errno.EROFS, StoreDenied),
        (errno.ESTALE, StoreUnavailable),
        (errno.ENOTCONN, StoreUnavailable),
        (errno.EIO, StoreUnavailable),
        (errno.ETIMEDOUT, StoreUnavailable),
        (errno.ENOSPC, StoreFull),
        (errno.EDQUOT, StoreFull),
        (errno.ENAMETOOLONG, StoreError),
    ],
)
def test_the_systems_words_are_told_apart(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[StoreError]
) -> None:
    async def main() -> None:
        monkeypatch.setattr(os, "fsync", failing(number, [1, 2]))
        with pytest.raises(StoreError) as caught:
            await FileStore(run_dir).replace("gate/x", b"data")
        assert type(caught.value) is expected
        assert str(run_dir) in caught.value.message

    anyio.run(main)


def test_on_a_full_disk_the_reserve_goes_first_once(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store = FileStore(run_dir)
        await store.replace(layout.RESERVE, b"\0" * 4096)
        monkeypatch.setattr(files, "_write_all", full_while(run_dir / layout.RESERVE))
        assert await store.create("gate/verdicts/t/a.json", b"PASS") is True
        assert not (run_dir / layout.RESERVE).exists()
        monkeypatch.setattr(files, "_write_all", failing(errno.ENOSPC, [1, 2, 3]))
        with pytest.raises(StoreFull, match="No space"):
            await store.create("gate/verdicts/t/b.json", b"PASS")
        assert await store.list("gate/verdicts") == ("gate/verdicts/t/a.json",)

    anyio.run(main)


def full_while(reserve: Path) -> Callable[[int, bytes], None]:
    real = files._write_all

    def write(handle: int, data: bytes) -> None:
        if reserve.exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        real(handle, data)

    return write


def test_a_partial_append_is_taken_back(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        store = FileStore(run_dir)
        await store.append("j", b"one\n")

        def half(handle: int, data: bytes) -> None:
            os.write(handle, bytes(data)[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(files, "_write_all", half)
            with pytest.raises(StoreFull):
                await store.append("j", b"twotwo\n")
        await store.append("j", b"three\n")
        assert await store.read("j") == b"one\nthree\n"

    anyio.run(main)


def test_links_never_lead_out_of_the_run_directory(run_dir: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (run_dir / "gate").symlink_to(outside)
    (run_dir / "file").symlink_to(outside / "secret")

    async def main() -> None:
        store = FileStore(run_dir)
        for call in (store.read("gate/secret"), store.replace("gate/new", b""), store.read("file")):
            with pytest.raises(StoreDenied):
                await call
        with pytest.raises(StoreDenied):
            await store.append("file", b"\n")
        assert "gate/secret" not in await store.list("")

    anyio.run(main)
    assert [path.name for path in outside.iterdir()] == ["secret"]


def test_a_fifo_in_the_run_directory_does_not_hang_the_reader(run_dir: Path) -> None:
    os.mkfifo(run_dir / "pipe")

    async def main() -> None:
        with pytest.raises(StoreDenied, match="not a regular file"):
            await FileStore(run_dir, deadline=2).read("pipe")

    anyio.run(main)


def test_make_root_makes_what_a_new_run_needs(tmp_path: Path) -> None:
    async def main() -> None:
        store = FileStore(tmp_path / "a" / "b" / "run")
        with pytest.raises(StoreUnavailable):
            await store.replace("x", b"")
        await store.make_root()
        await store.make_root()
        await store.replace("x", b"1")
        assert await store.read("x") == b"1"

    anyio.run(main)
