"""How soon a result becomes a verdict, and a cancel a note and an end."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import fixture
from bench.measure import Row
from bench.serving import engine_server
from gate.rundir import layout

INTERVAL = 2.0
LEGS = 10
CANCELS = 5
PATIENCE = 30.0


@contextmanager
def watcher(place: Path, legs: int) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A running poller and its run directory."""
    run_dir = place / "run"
    run_dir.mkdir()
    environment = {**os.environ, "GATE_STATE_DIR": str(place / "own-disk")}
    with engine_server([f"leg-{number}" for number in range(legs)]) as url:
        command = [sys.executable, "-m", "bench.watcher", str(run_dir), url, str(legs), str(INTERVAL)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        ) as poller:
            try:
                expect(poller, "watching")
                yield poller, run_dir
            finally:
                poller.kill()


def expect(poller: subprocess.Popen[str], word: str) -> None:
    """Wait for the poller to say `word`."""
    assert poller.stdout is not None
    line = poller.stdout.readline().strip()
    if line != word:
        raise RuntimeError(f"the poller said {line!r} where {word!r} was expected")


def seconds_until(there: Callable[[], bool], since: float) -> float:
    """Seconds from `since` until `there()`, looked at every millisecond."""
    while not there():
        if time.monotonic() - since > PATIENCE:
            raise TimeoutError(f"not there after {PATIENCE:g} s")
        time.sleep(0.001)
    return time.monotonic() - since


def verdicts() -> list[float]:
    """Seconds from the finished state file of each leg to its verdict, the legs ending at odd moments."""
    found = []
    with tempfile.TemporaryDirectory(prefix="gate-bench-") as place, watcher(Path(place), LEGS) as (_, run_dir):
        for number in range(LEGS):
            time.sleep(random.Random(number).uniform(0, INTERVAL))
            fixture.publish(fixture.state_file(run_dir, f"leg-{number}"), 1, finished=True)
            written = run_dir / layout.verdict(fixture.TAG, f"leg-{number}")
            found.append(seconds_until(written.exists, time.monotonic()))
    return found


def cancel() -> tuple[float, float]:
    """Seconds from a signal to the note on the runner's own disk, and to the poller's end; the shared root hangs."""
    with tempfile.TemporaryDirectory(prefix="gate-bench-") as place, watcher(Path(place), LEGS) as (poller, _):
        assert poller.stdin is not None
        poller.stdin.write("\n")
        poller.stdin.flush()
        expect(poller, "hung")
        time.sleep(2 * INTERVAL)  # so that it waits for the root when the signal comes
        notes = Path(place, "own-disk", "cancels")
        sent = time.monotonic()
        poller.send_signal(signal.SIGINT)
        noted = seconds_until(lambda: any(notes.glob("*.json")), sent)
        code = poller.wait(PATIENCE)
        ended = time.monotonic() - sent
        if code != 128 + signal.SIGINT:
            raise RuntimeError(f"a cancelled poller exited {code}")
    return noted, ended


def rows() -> Iterator[Row]:
    """Both promises."""
    latencies = verdicts()
    yield Row(
        f"a verdict after its state file is visible, with an interval of {INTERVAL:g} s",
        max(latencies),
        INTERVAL + 2,
        "s",
        f"the slowest of {LEGS} legs that end at odd moments",
    )
    cancels = [cancel() for _ in range(CANCELS)]
    noted, ended = (max(column) for column in zip(*cancels, strict=True))
    how = f"the slowest of {CANCELS}, while every call to the shared root hangs"
    yield Row("cancel: the intent on the runner's own disk", noted * 1000, 200, "ms", how)
    yield Row("cancel: the poller has ended", ended, 5, "s", how)
