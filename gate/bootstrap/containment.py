"""Find and end the processes of a workload, wherever they went.

Three ways to find them, each for what the others miss: descent from a subreaper (while it lives), the inherited mark in
`/proc/PID/limits` (survives setsid, double forks, `env -i`, closed descriptors, sudo), and the tag in
`/proc/PID/environ` (where the mark could not be set). Never found: the caller's own process group, its ancestors, and
process 1, because a tree kill that reaches its own host leaves nobody to finish it.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable
from functools import cached_property

from gate.bootstrap import containment_process as proc
from gate.bootstrap.containment_process import Process, alive, started
from gate.bootstrap.containment_signals import end, send
from gate.plan import identity

__all__ = ["Census", "Process", "alive", "end", "end_workload", "marked_processes", "send", "started"]


class Census:
    """One look at /proc, made when it is constructed; mark and environment are read when first asked for."""

    def __init__(self) -> None:
        self._rows = {pid: row for pid in proc.pids() if (row := proc.read_row(pid)) is not None}

    def marked(self, mark: int) -> tuple[Process, ...]:
        """All processes that inherited `mark` (identity.mark)."""
        return self._shown(self._marks.get(mark, ()))

    def tagged(self, tag: str, workload: str | None = None) -> tuple[Process, ...]:
        """All processes with the tag (and the workload, where given) in the environment they were started with."""
        wanted = [f"\0{identity.ENV_TAG}={tag}\0".encode()]
        if workload is not None:
            wanted.append(f"\0{identity.ENV_WORKLOAD}={workload}\0".encode())
        return self._shown(pid for pid, raw in self._environments.items() if all(each in raw for each in wanted))

    def workload(self, tag: str, workload: str) -> tuple[Process, ...]:
        """All processes of one workload, by mark or by environment."""
        both = (*self.marked(identity.mark(tag, workload)), *self.tagged(tag, workload))
        return tuple(dict.fromkeys(both))

    def workloads(self, tag: str) -> dict[str, tuple[Process, ...]]:
        """All processes with the tag in their environment, by the workload that it names."""
        wanted, found = f"\0{identity.ENV_WORKLOAD}=".encode(), dict[str, tuple[Process, ...]]()
        for process in self.tagged(tag):
            _, named, rest = self._environments[process.pid].partition(wanted)
            if named:
                name = rest.partition(b"\0")[0].decode(errors="replace")
                found[name] = (*found.get(name, ()), process)
        return found

    def descendants(self, root: int) -> tuple[Process, ...]:
        """All processes below the process `root`, itself not included."""
        children: dict[int, list[int]] = {}
        for pid, row in self._rows.items():
            children.setdefault(row.parent, []).append(pid)
        found: list[int] = []
        front = [root]
        while front:
            front = [child for pid in front for child in children.get(pid, ())]
            found += front
        return self._shown(found)

    def started_with(self, *words: str) -> tuple[Process, ...]:
        """All processes with these words, one after the other, in their command line."""
        wanted = b"\0" + b"\0".join(word.encode() for word in words) + b"\0"
        return self._shown(pid for pid in self._rows if wanted in b"\0" + proc.read(f"/proc/{pid}/cmdline") + b"\0")

    @cached_property
    def _protected(self) -> frozenset[int]:
        group, found, pid = os.getpgrp(), {1}, os.getpid()
        found |= {other for other, row in self._rows.items() if row.group == group}
        while pid in self._rows:
            found.add(pid)
            pid = self._rows[pid].parent
        return frozenset(found)

    @cached_property
    def _marks(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for pid in self._rows:
            for value in proc.marks(pid):
                found.setdefault(value, []).append(pid)
        return found

    @cached_property
    def _environments(self) -> dict[int, bytes]:
        return {pid: proc.environment(pid) for pid in self._rows}

    def _shown(self, pids: Iterable[int]) -> tuple[Process, ...]:
        return tuple(
            Process(pid, self._rows[pid].start, proc.command(pid)) for pid in sorted(pids) if pid not in self._protected
        )


def marked_processes(mark: int) -> tuple[Process, ...]:
    """All live processes that inherited `mark`, but for the caller's group, its ancestors and process 1."""
    return Census().marked(mark)


def end_workload(
    tag: str, workload: str, *, grace: float, bound: float, root: int | None = None, spare: Collection[int] = ()
) -> tuple[Process, ...]:
    """End everything of a workload, and what its processes start meanwhile, until nothing is found.

    `root`: its subreaper, whose descendants belong to it too; `spare`: pids to leave alone. Gives up after `bound`
    seconds and returns what remains.
    """

    def find() -> tuple[Process, ...]:
        census = Census()
        below = census.descendants(root) if root is not None else ()
        found = dict.fromkeys((*below, *census.workload(tag, workload)))
        return tuple(process for process in found if process.pid not in spare)

    return _end_all(find, grace, time.monotonic() + bound)


def _end_all(find: Callable[[], tuple[Process, ...]], grace: float, deadline: float) -> tuple[Process, ...]:
    while found := find():
        stuck = set(end(found, grace))
        # What was forked during the first round gets no second grace, or a tree that forks would never end.
        grace = 0.0
        if time.monotonic() >= deadline or (stuck and set(found) == stuck):
            return find()
    return ()
