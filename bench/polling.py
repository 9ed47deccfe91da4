"""What watching costs: against the loop that the poller replaces, with a thousand legs, and over very many ticks."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench import fixture
from bench.measure import Row, child_cpu
from bench.poller import INTERVAL
from bench.serving import engine_server

LOOP = Path(__file__).with_name("loop.sh")
RUNS = 5
LOOP_TICKS = 5
TICKS = 200
MANY_TICKS = 100_000


def names(count: int) -> tuple[str, ...]:
    """Ids of the legs that bench/poller.py makes."""
    return tuple(f"leg-{number}" for number in range(count))


def product(url: str, legs: int, ticks: int, *, move: bool) -> tuple[float, list[float]]:
    """CPU seconds a tick and resident MiB at eleven moments of the product's driver, in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="gate-bench-") as run_dir:
        words = [run_dir, url, str(legs), str(ticks), *(["--move"] if move else [])]
        ended = subprocess.run([sys.executable, "-m", "bench.poller", *words], stdout=subprocess.PIPE, check=True)
    found = json.loads(ended.stdout)
    return found["cpu"], found["memory"]


def loop(url: str, legs: int) -> float:
    """CPU seconds a tick of the curl-and-jq loop over the same state files and the same server."""
    with tempfile.TemporaryDirectory(prefix="gate-bench-") as run_dir:
        fixture.build(Path(run_dir), names(legs), INTERVAL)
        links = []
        for name in names(legs):
            # The loop takes a leg's id from the folder of its state file.
            folder = Path(run_dir, "loop", name)
            folder.parent.mkdir(exist_ok=True)
            folder.symlink_to(fixture.state_file(Path(run_dir), name).parent)
            links.append(str(folder / "state.json"))
        return child_cpu(["bash", str(LOOP), url, str(LOOP_TICKS), *links]) / LOOP_TICKS


def rows() -> Iterator[Row]:
    """All measurements of the poller's cost."""
    with engine_server(names(8)) as url:
        theirs = statistics.median(loop(url, 8) for _ in range(RUNS))
        ours = statistics.median(product(url, 8, TICKS, move=True)[0] for _ in range(RUNS))
        yield Row(
            "poll, 8 legs: CPU of a tick against one curl and four jq a leg",
            ours / theirs,
            0.01,
            "of it",
            f"medians of {RUNS}: {ours * 1000:.1f} ms (every state file changed since the last tick) "
            f"and {theirs * 1000:.0f} ms ({theirs / ours:.0f} times as much)",
        )
        memory = product(url, 8, MANY_TICKS, move=False)[1]
        yield Row(
            "poll, 8 legs: memory", max(memory), 80, "MiB", f"resident, the highest of eleven over {MANY_TICKS:,} ticks"
        )
        later = max(memory[2:])
        yield Row(
            "poll, 8 legs: memory is flat",
            later / memory[1],
            1.05,
            "times",
            f"the highest later against tick {MANY_TICKS // 10:,}: {later:.1f} and {memory[1]:.1f} MiB",
        )
    with engine_server(names(1000)) as url:
        still = statistics.median(product(url, 1000, 20, move=False)[0] for _ in range(RUNS))
        moving = statistics.median(product(url, 1000, 20, move=True)[0] for _ in range(RUNS))
        yield Row(
            "poll, 1,000 legs: CPU of a tick",
            moving,
            0.5,
            "s",
            f"medians of {RUNS}, every state file changed since the last tick; {still:.3f} s where none did",
        )
