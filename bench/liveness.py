"""What it costs to see whether anything changes among 200,000 files."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.checker import BEGIN, END
from bench.measure import Row, median_of

FOLDERS, FILES = 400, 500
CHECKS = 50
SHELL = "find {tree} -type f -printf '%T@ %p\\n' | sort -rn | head -n 1"
STATS = "trace=stat,lstat,fstat,newfstatat,statx"


def make_tree(tree: Path) -> None:
    """400 folders of 500 small files."""
    for folder in range(FOLDERS):
        (tree / f"{folder:03}").mkdir()
        for file in range(FILES):
            (tree / f"{folder:03}" / f"{file:03}").write_text("x")


def stat_calls(tree: Path, log: Path) -> float:
    """Stat calls of one check, counted by strace."""
    checker = [sys.executable, "-m", "bench.checker", str(tree), str(CHECKS)]
    command = ["strace", "--seccomp-bpf", "-f", "-qq", "-e", STATS, "-o", str(log), *checker]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    lines = log.read_text().splitlines()
    begin = next(number for number, line in enumerate(lines) if BEGIN in line)
    end = next(number for number, line in enumerate(lines) if END in line)
    return (end - begin - 1) / CHECKS


def check_seconds(tree: Path) -> float:
    """The median of the checks of one process."""
    command = [sys.executable, "-m", "bench.checker", str(tree), str(CHECKS)]
    seconds: list[float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return statistics.median(seconds)


def shell_seconds(tree: Path) -> float:
    """The shell's way once: walk, sort by time, take the newest."""
    started = time.perf_counter()
    subprocess.run(["sh", "-c", SHELL.format(tree=tree)], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def rows() -> Iterator[Row]:
    """Both promises over one tree."""
    with tempfile.TemporaryDirectory(prefix="gate-bench-") as place:
        tree = Path(place, "tree")
        tree.mkdir()
        make_tree(tree)
        calls = stat_calls(tree, Path(place, "trace"))
        yield Row(
            f"liveness, {FOLDERS * FILES:,} files: stat calls of a check",
            calls,
            200,
            "calls",
            f"counted by strace over {CHECKS} checks between full passes, with a full hot set",
        )
        shell = median_of(5, lambda: shell_seconds(tree))
        ours = median_of(3, lambda: check_seconds(tree))
        yield Row(
            "liveness: a check against `find -printf | sort | head`",
            ours / shell,
            1 / 50,
            "of it",
            f"medians, warm cache: {ours * 1e6:.0f} µs and {shell * 1000:.0f} ms ({shell / ours:.0f} times as long)",
        )
