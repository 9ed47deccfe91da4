"""Which processes belong to a turn, and ending them.

A turn's command line runs in a session of its own. To the turn belong

- every process of that session, orphans included: what did not call `setsid` has not been detached;
- where the agent runs each tool command in a session of its own (`tool_sessions`, the Claude CLI does): every process
  of the sessions that the command line's own processes have started. `setsid` inside a tool command opens a session
  below those: that one is detached.

Everything else that the turn started lives on: a process in a session of its own, and a child of a tool command that
has ended. The latter cannot be told from a daemon, and lives on after a turn that ends by itself too; the leg lists it
as a survivor, and its end ends it.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

KILL_WAIT = 5.0
"""Seconds in which a process must be gone after SIGKILL; longer means stuck in the kernel (a hung share)."""
_BEAT = 0.02
"""Seconds between two looks: strangers' children cannot be waited for."""


@dataclass(frozen=True, slots=True)
class Row:
    """A live process, from /proc/PID/stat. `start` (clock ticks since boot) tells it from a later one with its pid."""

    pid: int
    parent: int
    session: int
    start: int


def table() -> Mapping[int, Row]:
    """Every live process that can be seen."""
    rows = (row(int(entry)) for entry in os.listdir("/proc") if entry.isdigit())  # noqa: PTH208 - thousands of names
    return {found.pid: found for found in rows if found is not None}


def row(pid: int) -> Row | None:
    """None for a process that has ended, a zombie included."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The command in parentheses may hold anything, spaces and parentheses too.
    fields = stat[stat.rindex(b")") + 2 :].split()
    if fields[0] in (b"Z", b"X"):
        return None
    return Row(pid=pid, parent=int(fields[1]), session=int(fields[3]), start=int(fields[19]))


class TurnProcesses:
    """The processes of the turn whose command line is `leader`, a session leader. All methods block."""

    def __init__(self, leader: int, *, tool_sessions: bool) -> None:
        if leader in (os.getpid(), os.getsid(0)):
            # TensorRT-LLM#16404: a tree kill that killed its own host.
            raise ValueError(f"process {leader} is this process's own session")
        self._leader = leader
        self._tool_sessions = tool_sessions
        self._sessions = {leader}

    def look(self) -> tuple[Row, ...]:
        """Those alive now. Sessions once seen stay the turn's after their leader has ended."""
        rows = table()
        if self._tool_sessions:
            own = {found.pid for found in rows.values() if found.session == self._leader}
            self._sessions |= {p.pid for p in rows.values() if p.session == p.pid and p.parent in own}
        return tuple(found for found in rows.values() if found.session in self._sessions)

    def end(self, grace: float) -> tuple[str, ...]:
        """SIGTERM, and SIGKILL for what lives `grace` seconds later; those that still live, as `pid command`."""
        for member in self.look():
            _send(member, signal.SIGTERM)
        if not self._gone(grace):
            deadline = time.monotonic() + KILL_WAIT
            # More than once: one of them may have forked between the look and the signal.
            while (members := self.look()) and time.monotonic() < deadline:
                for member in members:
                    _send(member, signal.SIGKILL)
                time.sleep(_BEAT)
        return tuple(f"{member.pid} {_command(member.pid)}" for member in self.look())

    def _gone(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.look():
            if time.monotonic() > deadline:
                return False
            time.sleep(_BEAT)
        return True


def _send(member: Row, number: int) -> None:
    if (now := row(member.pid)) is None or now.start != member.start:
        return
    try:
        os.kill(member.pid, number)
    except (ProcessLookupError, PermissionError):
        # Gone meanwhile, or another user's: what lives in the end is named to the caller.
        return


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()[:200]
    except OSError:
        return "(gone)"
