"""GPUs and CPUs of this machine as slots: held by file locks, given out first come, first served.

    local/.slots/gpu-0003     locked by the supervisor that has it; its content names the workload
    local/.queue/TICKET-NAME  one file a workload that waits, in the order of their creation

A lock goes with its supervisor, its processes may not: a slot whose supervisor was killed is free only once nothing of
that workload runs.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from gate.bootstrap.containment import Census
from gate.bootstrap.supervise_files import LOCK, LocalRequest

_SLOTS = ".slots"
_QUEUE = ".queue"
_TICKET_DIGITS = 12


def lock_is_held(path: Path) -> bool:
    """Does somebody hold the lock file? False where there is none. Looking disturbs no other onlooker."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


# --- the queue ---------------------------------------------------------------------------------------


def new_ticket(registry: Path, name: str) -> str:
    """The next place in the queue; it counts once it is `queued`."""
    folder = registry / _QUEUE
    folder.mkdir(mode=0o700, exist_ok=True)
    fd = os.open(folder / ".counter", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        number = int(os.read(fd, 32) or b"0") + 1
        os.pwrite(fd, str(number).encode(), 0)
    finally:
        os.close(fd)
    return f"{number:0{_TICKET_DIGITS}d}-{name}"


def queue_up(registry: Path, ticket: str) -> None:
    """Take the place; again does no harm. The workload's entry is there and its lock held."""
    (registry / _QUEUE / ticket).touch(mode=0o600)


def leave_queue(registry: Path, ticket: str) -> None:
    """Give the place up."""
    (registry / _QUEUE / ticket).unlink(missing_ok=True)


def queue(registry: Path) -> tuple[str, ...]:
    """All tickets, first come first. One whose supervisor died may still stand in it."""
    try:
        names = os.listdir(registry / _QUEUE)  # noqa: PTH208 - names are what is wanted
    except FileNotFoundError:
        return ()
    return tuple(sorted(name for name in names if not name.startswith(".")))


def _ahead(registry: Path, ticket: str) -> int:
    """How many live ones are before us, at least; clears away the dead at the head."""
    waiting = queue(registry)
    for other in waiting:
        if other == ticket:
            return 0
        if lock_is_held(registry / other[_TICKET_DIGITS + 1 :] / LOCK):
            return waiting.index(ticket) if ticket in waiting else len(waiting)
        leave_queue(registry, other)
    queue_up(registry, ticket)
    return len(waiting)


# --- the slots ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class Claim:
    """One workload's claim to slots. The locks are this process's, and no child's."""

    registry: Path
    request: LocalRequest
    cpus: dict[int, int] = field(default_factory=dict)
    """Slot number to the descriptor that holds its lock."""
    gpus: dict[int, int] = field(default_factory=dict)

    beat: float = 0.25
    """Seconds after which another attempt is worth its cost: those far behind need not look often."""

    def attempt(self) -> bool:
        """Take what is free, if it is our turn; True once all is held. What was taken is kept meanwhile."""
        wanted = self.request
        if not wanted.ticket:
            return True
        ahead = _ahead(self.registry, wanted.ticket)
        self.beat = min(5.0, 0.25 + 0.01 * ahead)
        if ahead:
            return False
        (self.registry / _SLOTS).mkdir(mode=0o700, exist_ok=True)
        census: list[Census] = []
        done = self._take("cpu", self.cpus, wanted.cpus, wanted.total_cpus, census) and self._take(
            "gpu", self.gpus, wanted.gpus, wanted.total_gpus, census
        )
        if done:
            leave_queue(self.registry, wanted.ticket)
        return done

    def release(self, *, clean: bool) -> None:
        """Give everything back; `clean`: nothing of the workload runs. Otherwise the next one checks."""
        if self.request.ticket:
            leave_queue(self.registry, self.request.ticket)
        for held in (self.cpus, self.gpus):
            for fd in held.values():
                if clean:
                    os.ftruncate(fd, 0)
                os.close(fd)
            held.clear()

    def _take(self, kind: str, held: dict[int, int], count: int, total: int, census: list[Census]) -> bool:
        for index in range(total):
            if len(held) >= count:
                break
            if index in held:
                continue
            fd = _try_lock(self.registry / _SLOTS / f"{kind}-{index:04d}")
            if fd is None:
                continue
            if _still_used(fd, census):
                os.close(fd)
                continue
            os.ftruncate(fd, 0)
            os.pwrite(fd, json.dumps({"tag": self.request.tag, "workload": self.request.workload}).encode(), 0)
            held[index] = fd
        return len(held) >= count


def _try_lock(path: Path) -> int | None:
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    return fd


def _still_used(fd: int, census: list[Census]) -> bool:
    """Do processes of the workload run that had this slot, and whose supervisor did not give it back?"""
    raw = os.pread(fd, 4096, 0)
    if not raw:
        return False
    try:
        holder = json.loads(raw)
        tag, workload = str(holder["tag"]), str(holder["workload"])
    except (ValueError, KeyError, TypeError):
        # Torn by a power cut: the machine was restarted since, nothing of then runs.
        return False
    if not census:
        census.append(Census())
    return bool(census[0].workload(tag, workload))
