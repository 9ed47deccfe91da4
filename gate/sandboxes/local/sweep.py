"""Ending what a command left, wherever it went: its group, then every orphan that bears the mark.

This process is a subreaper (or process 1 of the sandbox's pid namespace stands in for it): whatever loses its parent
becomes a child of it. So when a group has been killed, an escapee (setsid, double fork) whose parents are gone shows up
among the children, and is known by the mark in its environment. No look at every process of the machine is needed.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

from gate.bootstrap.containment_process import environment

_BEAT = 0.005


def orphans(parent: int, mark: bytes, known: Collection[int]) -> list[int]:
    """Children of the process `parent` that bear the mark (`NAME=value`), those in `known` aside."""
    wanted = b"\0" + mark + b"\0"
    return [pid for pid in children(parent) if pid not in known and wanted in environment(pid)]


def sweep(groups: Collection[int], parent: int, mark: bytes, known: Collection[int], bound: float) -> tuple[int, ...]:
    """Kill these groups and every orphan with the mark, until none is found. Blocks; what is left after `bound` s."""
    deadline = time.monotonic() + bound
    while True:
        living = [group for group in groups if _kill_group(group)]
        found = orphans(parent, mark, known)
        for pid in found:
            _kill(pid)
        if not living and not found:
            return ()
        if time.monotonic() >= deadline:
            return (*living, *found)
        time.sleep(_BEAT)


def group_lives(group: int) -> bool:
    """Whether any process of the group is left (zombies count until they are waited for)."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _kill_group(group: int) -> bool:
    """True where something of it was left to be killed."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return False
    _collect_group(group)
    return group_lives(group)


def _collect_group(group: int) -> None:
    """Zombies of the group that this process has adopted would keep it alive for ever."""
    try:
        while os.waitpid(-group, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return


def _kill(pid: int) -> None:
    """Kill and collect it, where it is a child of this process; a moment is enough unless the kernel holds it."""
    try:
        os.kill(pid, signal.SIGKILL)
        for _ in range(int(1 / _BEAT)):
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
            time.sleep(_BEAT)
    except (ProcessLookupError, ChildProcessError):
        return


def children(parent: int) -> list[int]:
    """Its child processes, as this process numbers them."""
    return [pid for task in Path(f"/proc/{parent}/task").iterdir() for pid in _of_thread(task)]


def _of_thread(task: Path) -> list[int]:
    try:
        return [int(word) for word in (task / "children").read_text().split()]
    except OSError:
        # The thread ended meanwhile; its children went to another one, which the next round sees.
        return []
