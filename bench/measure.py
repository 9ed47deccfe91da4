"""Medians, CPU seconds and rows of the report."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One promise and what was measured. `limit` is inclusive, in `unit`."""

    what: str
    measured: float
    limit: float
    unit: str
    how: str

    @property
    def kept(self) -> bool:
        """True where the measured value is within the limit."""
        return self.measured <= self.limit


def median_of(runs: int, once: Callable[[], float]) -> float:
    """The median of `runs` calls of `once`, after one that does not count."""
    once()
    return statistics.median(once() for _ in range(runs))


def child_cpu(command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> float:
    """CPU seconds (user and system) of a command and everything it waited for. Raises CalledProcessError."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=None if env is None else dict(env), cwd=cwd, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def wall(command: Sequence[str]) -> float:
    """Seconds that a command takes from start to end. Raises CalledProcessError."""
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def resident() -> float:
    """Resident memory of this process now, in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
