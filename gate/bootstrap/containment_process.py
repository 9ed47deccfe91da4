"""One process in /proc: who it is, whether it still runs, what it inherited.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

_LIMIT = b"Max realtime timeout"
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Process:
    """A live process; `start` (clock ticks since boot) tells it from a later one with the same pid."""

    pid: int
    start: int
    command: str = field(compare=False)
    """May change (exec) without the process becoming another."""

    def __str__(self) -> str:
        return f"{self.pid} {self.command}"


@dataclass(frozen=True, slots=True)
class Row:
    """What /proc/PID/stat says of a process that runs."""

    parent: int
    group: int
    start: int


def alive(process: Process) -> bool:
    """Does this very process still run? (A zombie does not.)"""
    return started(process.pid) == process.start


def started(pid: int) -> int | None:
    """Start time of a running process in clock ticks since boot, or None where there is none."""
    row = read_row(pid)
    return row.start if row is not None else None


def pids() -> list[int]:
    """Every process of this pid namespace."""
    return [
        int(name)
        for name in os.listdir("/proc")  # noqa: PTH208 - thrice as fast as Path, on each tick
        if name.isdigit()
    ]


def read_row(pid: int) -> Row | None:
    """None where nothing runs under this pid (any more)."""
    stat = read(f"/proc/{pid}/stat")
    if not stat:
        return None
    # The command in parentheses may hold anything, spaces and parentheses too.
    fields = stat[stat.rindex(b")") + 2 :].split()
    if fields[0] in (b"Z", b"X") and not _has_other_threads(pid):
        return None
    return Row(parent=int(fields[1]), group=int(fields[2]), start=int(fields[19]))


def _has_other_threads(pid: int) -> bool:
    """A leader that called pthread_exit shows as a zombie while its other threads run on."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1  # noqa: PTH208 - a string is what it is
    except OSError:
        return False


def marks(pid: int) -> set[int]:
    """Soft and hard limit of RLIMIT_RTTIME, where set."""
    raw = read(f"/proc/{pid}/limits")
    at = raw.find(_LIMIT)
    if at < 0:
        return set()
    words = raw[at + len(_LIMIT) : raw.find(b"\n", at)].split()
    return {int(word) for word in words[:2] if word.isdigit()}


def environment(pid: int) -> bytes:
    """The environment it was started with as `\\0NAME=value\\0…`; empty where another user's."""
    return b"\0" + read(f"/proc/{pid}/environ") + b"\0"


def command(pid: int) -> str:
    """Its command line, cut; the kernel's name for it in brackets where it has none."""
    raw = read(f"/proc/{pid}/cmdline").rstrip(b"\0")
    if raw:
        return raw.replace(b"\0", b" ").decode(errors="replace")[:_SHOWN]
    return f"[{read(f'/proc/{pid}/comm').strip().decode(errors='replace')}]"


def read(path: str) -> bytes:
    """A file of /proc, or nothing where the process is gone meanwhile or another user's."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - thousands of times a look: Path costs twice the read
            return file.read()
    except OSError:
        return b""
