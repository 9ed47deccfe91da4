"""A cancel: noted on the runner's own disk within 200 ms, everything else within 5 s, also while the root hangs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from gate import documents
from gate.contracts import Store
from gate.errors import StoreError
from gate.poll.driver import PollEnd, poll
from gate.poll.given import PollWorld
from gate.rundir import layout
from gate.rundir.cancels import FileCancelNotes
from gate.rundir.files import FileStore
from gate.rundir.formats import CancelIntent, WorkloadEntry
from gate.rundir.run import Run
from gate.simulate.store import MemoryStore
from tests.dispatch.fake_engine import FolderEngine
from tests.poll.worlds import RUN, TAG, MemoryNotes, Scene, attempt_of, virtual


class Hanging:
    """A root that never answers again once `hung`: each call waits as a thread on a dead share does."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.hung = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        async def call(*args: Any) -> Any:
            if self.hung:
                await anyio.sleep(10)  # the deadline of a real store
                raise StoreError("no answer")
            return await method(*args)

        return call


class TimedNotes(MemoryNotes):
    """Remembers when the note was made."""

    at = -1.0

    async def record(self, run: str, tag: str, signal: int) -> None:
        self.at = anyio.current_time()
        await super().record(run, tag, signal)


async def cancelled(scene: Scene, world: PollWorld, at: float, number: int = 15) -> tuple[PollEnd, float]:
    """Poll, send a signal after `at` seconds, and return how long after that the poll ended."""
    ends: list[PollEnd] = []
    began = anyio.current_time()
    async with anyio.create_task_group() as tasks:

        async def send() -> None:
            await anyio.sleep(at)
            scene.signals.send(number)

        tasks.start_soon(send)
        ends.append(await poll(world, scene.attempt))
        tasks.cancel_scope.cancel()
    return ends[0], anyio.current_time() - began - at


@pytest.mark.parametrize(("number", "code"), [(2, 130), (15, 143)])
def test_a_cancel_closes_every_leg_and_stops_what_it_can(number: int, code: int) -> None:
    """duckdb-r#2544: a cancelled leg must not stay pending for ever."""

    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        scene.notes = notes = TimedNotes()
        end, took = await cancelled(scene, scene.world(), 5.3, number)
        assert end.exit_code == code
        assert end.decision is not None
        assert (end.decision.word, end.decision.exit_code) == ("CANCELLED", code)
        assert scene.verdicts() == {"a": ("NOT_JUDGED", "cancelled"), "b": ("NOT_JUDGED", "cancelled")}
        assert took < 5
        assert notes.at - 5.3 < 0.2
        assert sorted(scene.engine.stops) == ["id-a", "id-b"]
        assert end.remaining == ()
        intent = await Run(MemoryStore(scene.disk)).cancel(TAG)
        assert intent is not None
        assert intent.signal == number
        assert scene.ears.of("cancelled")[0].data == {"signal": number, "open": ["a", "b"]}
        assert await MemoryStore(scene.disk).read(layout.LEASE) is None

    virtual(main)


def test_while_the_root_hangs_the_note_is_made_at_once_and_the_poller_ends_in_time() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        scene.notes = notes = TimedNotes()
        store = Hanging(MemoryStore(scene.disk))
        async with anyio.create_task_group() as tasks:

            async def hang() -> None:
                await anyio.sleep(5)
                store.hung = True

            tasks.start_soon(hang)
            end, took = await cancelled(scene, scene.world(store=store), 8.0)
        assert end.exit_code == 143
        assert notes.at - 8.0 < 0.2
        assert took < 5
        assert [left.workload for left in end.remaining] == ["a", "b"]
        assert scene.ears.of("verdict") == []  # nothing is announced that is not durable
        assert scene.ears.of("cancelled")

    virtual(main)


def test_an_own_disk_that_hangs_does_not_hold_up_the_cancel() -> None:
    class Stuck(MemoryNotes):
        async def record(self, run: str, tag: str, signal: int) -> None:
            await anyio.sleep_forever()

    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        scene.notes = Stuck()
        end, took = await cancelled(scene, scene.world(), 3.0)
        assert end.exit_code == 143
        assert took < 5
        assert "could not be noted" in scene.ears.of("cancelled")[0].text

    virtual(main)


def test_a_cancel_before_the_first_look_names_what_was_launched() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        store = Hanging(MemoryStore(scene.disk))
        store.hung = True
        end, took = await cancelled(scene, scene.world(store=store), 1.0)
        assert (end.exit_code, end.decision) == (143, None)
        assert took < 5
        assert [left.workload for left in end.remaining] == ["a", "b"]

    virtual(main)


def test_a_pass_that_is_readable_before_the_cancel_stays_a_pass() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        scene.finish("a")
        end, _ = await cancelled(scene, scene.world(), 3.0)
        assert end.exit_code == 143
        assert scene.verdicts() == {"a": ("PASS", "criteria_met"), "b": ("NOT_JUDGED", "cancelled")}

    virtual(main)


@pytest.mark.parametrize("where", ["own disk", "run directory"])
def test_the_next_poller_of_a_cancelled_attempt_ends_it_as_cancelled(where: str) -> None:
    """actions/runner#2128: the first poller was killed right after its note."""

    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        with anyio.move_on_after(3):
            await poll(scene.world(), scene.attempt)
        if where == "own disk":
            scene.notes.noted[(RUN, TAG)] = 15
        else:
            await Run(MemoryStore(scene.disk)).record_cancel(CancelIntent(RUN, TAG, 15, 0.0))
        scene.finish("a")
        end = await poll(scene.world(), scene.attempt, takeover=True)
        assert end.exit_code == 143
        assert end.decision is not None
        assert end.decision.word == "CANCELLED"
        assert scene.engine.stops == ["id-b"]

    virtual(main)


def test_a_cancel_while_stopping_keeps_the_decision_and_is_not_green() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        scene.finish("a")
        scene.finish("b")
        scene.engine.phases["b"] = scene.engine.phases["b"].__class__.RUNNING
        scene.engine.stubborn.add("b")
        end, took = await cancelled(scene, scene.world(), 10.0)
        assert end.exit_code == 143
        assert took < 5
        assert [left.workload for left in end.remaining] == ["b"]
        assert end.decision is not None
        assert end.decision.word == "GO"

    virtual(main)


# --- with a real process, real signals, and a store whose threads really hang ------------------------

CHILD = textwrap.dedent(
    """
    import os, sys, threading, anyio
    from pathlib import Path
    from gate.rundir import files
    from tests.poll import process

    hang = threading.Event()
    real = os.fsync

    def fsync(handle):
        if hang.is_set() and "/run/" in os.readlink(f"/proc/self/fd/{handle}") + "/":
            threading.Event().wait()
        real(handle)

    os.fsync = fsync
    opened = os.open

    def open_(path, *args, **more):
        if hang.is_set() and (str(path).endswith("/run") or "/run/" in str(path)):
            threading.Event().wait()
        return opened(path, *args, **more)

    os.open = open_

    def look_hangs():
        hang.set()
        print("hung", flush=True)

    sys.exit(process.main(Path(sys.argv[1]), after_ticks=3, then=look_hangs))
    """
)


def test_with_a_really_hung_root_sigterm_is_noted_in_200_ms_and_the_process_is_gone_in_5_s(tmp_path: Path) -> None:
    prepare(tmp_path)
    with subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "hung\n"
        time.sleep(1.5)  # well inside a call on the root that will never return
        sent = time.monotonic()
        os.kill(child.pid, signal.SIGTERM)
        note = tmp_path / "cancels" / f"{RUN}.{TAG}.json"
        while not note.exists() and time.monotonic() - sent < 2:
            time.sleep(0.005)
        noted = time.monotonic() - sent
        code = child.wait(10)
        gone = time.monotonic() - sent
    assert code == 143
    assert noted < 0.2
    assert gone < 5

    async def main() -> None:
        assert await FileCancelNotes(tmp_path / "cancels").find(RUN, TAG) == 15

    anyio.run(main)


def prepare(folder: Path) -> None:
    """A run directory of two running workloads below `folder`, as `tests.poll.process` polls it."""
    (folder / "run").mkdir()
    (folder / "engine").mkdir()
    engine = FolderEngine(folder / "engine")
    attempt = attempt_of()

    async def main() -> None:
        store = FileStore(folder / "run")
        await store.create(layout.attempt(1), documents.dump(attempt))
        for workload in attempt.plan.workloads:
            name = f"demo-{workload.id}-{TAG}"
            engine.put(f"id-{workload.id}", name, TAG, RUN)
            entry = WorkloadEntry(workload.id, TAG, name, workload.legs, "created", f"id-{workload.id}", 0.0, "")
            await Run(store).record_entry(entry)

    anyio.run(main)
