"""Ending processes and waiting for their end, safe against reused pids.

A pidfd names one process for ever; where the kernel or a seccomp profile refuses it, the start time is compared.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack

from gate.bootstrap.containment_process import Process, alive

KILL_WAIT = 5.0
"""Seconds for which an end by SIGKILL is waited for; longer means stuck in the kernel (a hung share)."""
_BEAT_MS = 20


def end(processes: Collection[Process], grace: float) -> tuple[Process, ...]:
    """SIGTERM, then SIGKILL after `grace` seconds (0: at once).

    Returns those that still live: not permitted, or stuck in the kernel. A pid that now belongs to another process is
    left alone.
    """
    with ExitStack() as stack:
        handles = [_Handle(process, stack) for process in processes]
        if grace > 0:
            for handle in handles:
                handle.send(signal.SIGTERM)
            _wait(handles, grace)
        sent = [handle for handle in handles if handle.send(signal.SIGKILL)]
        _wait(sent, KILL_WAIT)
        return tuple(handle.process for handle in handles if alive(handle.process))


def send(process: Process, number: int) -> bool:
    """Send one signal; False where the process is gone or not ours to signal."""
    with ExitStack() as stack:
        return _Handle(process, stack).send(number)


class _Handle:
    """One process to end; `fd` is its pidfd, or None where there is none to be had."""

    def __init__(self, process: Process, stack: ExitStack) -> None:
        self.process = process
        self.fd: int | None = None
        try:
            self.fd = os.pidfd_open(process.pid)
        except OSError:
            # No such process, no such call (before Linux 5.3), or refused by seccomp: its start time decides then.
            return
        stack.callback(os.close, self.fd)

    def send(self, number: int) -> bool:
        if not alive(self.process):
            return False
        try:
            if self.fd is not None:
                signal.pidfd_send_signal(self.fd, number)
            else:
                os.kill(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True


def _wait(handles: Sequence[_Handle], seconds: float) -> None:
    """Return when all have ended, or after `seconds`."""
    deadline = time.monotonic() + seconds
    watched = {handle.fd for handle in handles if handle.fd is not None}
    blind = [handle for handle in handles if handle.fd is None]
    poll = select.poll()
    for fd in watched:
        poll.register(fd, select.POLLIN)
    while watched or (blind := [handle for handle in blind if alive(handle.process)]):
        left = deadline - time.monotonic()
        if left <= 0:
            return
        for fd, _ in poll.poll(_BEAT_MS if blind else left * 1000 + 1):
            poll.unregister(fd)
            watched.discard(fd)
