"""The run directory's contract, over every implementation: a real folder, and the one in memory."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from gate.contracts import Store
from gate.errors import StoreDenied, StoreUnavailable
from gate.rundir.files import FileStore
from gate.simulate.store import MemoryDisk, MemoryStore


@dataclass
class Case:
    """One implementation: the store, another handle on the same directory, and how to make it vanish or torn."""

    store: Store
    other: Store
    vanish: Callable[[], None]
    raw: Callable[[str, bytes], None]


def files_case(tmp_path: Path) -> Case:
    run_dir = tmp_path / "run"
    run_dir.mkdir()

    def raw(key: str, data: bytes) -> None:
        (run_dir / key).parent.mkdir(parents=True, exist_ok=True)
        (run_dir / key).write_bytes(data)

    return Case(FileStore(run_dir), FileStore(run_dir), lambda: shutil.rmtree(run_dir), raw)


def memory_case(_: Path) -> Case:
    disk = MemoryDisk()

    def vanish() -> None:
        disk.present = False

    return Case(MemoryStore(disk), MemoryStore(disk), vanish, disk.write)


@pytest.fixture(params=[files_case, memory_case], ids=["files", "memory"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Case:
    made: Case = request.param(tmp_path)
    return made


def run(work: Callable[[], Awaitable[None]]) -> None:
    anyio.run(work)


def test_what_was_never_written_is_absent(case: Case) -> None:
    async def main() -> None:
        assert await case.store.read("gate/nothing.json") is None
        assert await case.store.list("gate") == ()
        assert await case.store.remove("gate/nothing.json") is False

    run(main)


def test_replace_writes_and_writes_again(case: Case) -> None:
    async def main() -> None:
        await case.store.replace("gate/a.json", b"one")
        await case.store.replace("gate/a.json", b"")
        assert await case.other.read("gate/a.json") == b""

    run(main)


def test_create_is_once_and_the_first_content_stays(case: Case) -> None:
    async def main() -> None:
        assert await case.store.create("gate/verdicts/t/a.json", b"PASS") is True
        assert await case.other.create("gate/verdicts/t/a.json", b"FAIL") is False
        assert await case.store.read("gate/verdicts/t/a.json") == b"PASS"

    run(main)


def test_one_of_many_racing_creates_wins(case: Case) -> None:
    async def main() -> None:
        won: list[int] = []

        async def one(number: int) -> None:
            store = (case.store, case.other)[number % 2]
            if await store.create("gate/x", str(number).encode()):
                won.append(number)

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(one, number)
        assert len(won) == 1
        assert await case.store.read("gate/x") == str(won[0]).encode()

    run(main)


def test_append_keeps_order_and_cuts_off_a_torn_tail(case: Case) -> None:
    async def main() -> None:
        await case.store.append("gate/j.jsonl", b"1\n")
        await case.store.append("gate/j.jsonl", b"2\n")
        assert await case.other.read("gate/j.jsonl") == b"1\n2\n"
        case.raw("gate/k.jsonl", b'{"a":1}\n{"torn')
        await case.store.append("gate/k.jsonl", b"3\n")
        assert await case.store.read("gate/k.jsonl") == b'{"a":1}\n3\n'
        case.raw("gate/l.jsonl", b"x" * 200_000)
        await case.store.append("gate/l.jsonl", b"4\n")
        assert await case.store.read("gate/l.jsonl") == b"4\n"

    run(main)


def test_a_record_without_its_newline_is_refused(case: Case) -> None:
    async def main() -> None:
        with pytest.raises(ValueError, match="newline"):
            await case.store.append("gate/j.jsonl", b"half")

    run(main)


def test_list_is_sorted_deep_and_only_of_the_folder(case: Case) -> None:
    async def main() -> None:
        for key in ("gate/b/2", "gate/a/1", "gate/a/deep/0", "gate/ab/3", "staged/x"):
            await case.store.replace(key, b"")
        assert await case.store.list("gate/a") == ("gate/a/1", "gate/a/deep/0")
        assert await case.store.list("gate/a/") == ("gate/a/1", "gate/a/deep/0")
        assert await case.store.list("gate/a/deep") == ("gate/a/deep/0",)
        everything = ("gate/a/1", "gate/a/deep/0", "gate/ab/3", "gate/b/2", "staged/x")
        assert await case.store.list("") == everything

    run(main)


def test_remove(case: Case) -> None:
    async def main() -> None:
        await case.store.replace("gate/a", b"")
        assert await case.other.remove("gate/a") is True
        assert await case.store.read("gate/a") is None
        assert await case.store.list("gate") == ()

    run(main)


@pytest.mark.parametrize("key", ["../out", "/etc/passwd", "gate/../../out", "", "gate//a", "gate/.", "a\0b"])
def test_keys_never_lead_out(case: Case, key: str) -> None:
    async def main() -> None:
        for call in (case.store.read(key), case.store.create(key, b""), case.store.replace(key, b"")):
            with pytest.raises(StoreDenied):
                await call
        for call in (case.store.append(key, b"\n"), case.store.remove(key)):
            with pytest.raises(StoreDenied):
                await call
        if key:
            with pytest.raises(StoreDenied):
                await case.store.list(key)

    run(main)


def test_a_vanished_root_is_never_absence(case: Case) -> None:
    async def main() -> None:
        await case.store.replace("gate/a", b"x")
        case.vanish()
        for call in (
            case.store.read("gate/a"),
            case.store.list("gate"),
            case.store.remove("gate/a"),
            case.store.create("gate/b", b""),
            case.store.replace("gate/b", b""),
            case.store.append("gate/b", b"\n"),
        ):
            with pytest.raises(StoreUnavailable, match="gone"):
                await call

    run(main)
