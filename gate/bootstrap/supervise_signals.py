"""Waiting for signals and descriptors in one place, without threads.

Handlers only write to a pipe: nothing happens in the middle of something else.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Collection

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LIMIT = signal.SIGUSR1
"""Sent by an engine whose own time limit for the workload is near."""
_WATCHED = (*STOPPING, LIMIT, signal.SIGCHLD)


class Wake:
    """Signals received; `stops` are those that ask for the end, in order; `limit`: the engine's time limit is near."""

    def __init__(self) -> None:
        self.stops: list[signal.Signals] = []
        self.limit = False
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        # Explicitly: a background job of a shell starts with SIGINT ignored, and `nohup` with SIGHUP.
        for number in _WATCHED:
            signal.signal(number, _noted)

    def wait(self, seconds: float, fds: Collection[int] = ()) -> None:
        """Return at the next signal, when one of `fds` can be read, or after `seconds`."""
        ready, _, _ = select.select([self._read, *fds], [], [], max(0.0, seconds))
        if self._read in ready:
            numbers = os.read(self._read, 4096)
            self.stops += [signal.Signals(number) for number in numbers if number in STOPPING]
            self.limit = self.limit or LIMIT in numbers


def _noted(_number: int, _frame: object) -> None:
    """The number is in the pipe already (set_wakeup_fd)."""


def reset_in_child() -> None:
    """Between fork and exec: no handler, no wake-up pipe, nothing blocked, nothing ignored."""
    signal.set_wakeup_fd(-1)
    for number in (*_WATCHED, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
