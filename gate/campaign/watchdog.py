"""A play that never ends: virtual time that stands still, or creeps, shows as CPU time that runs on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LIMIT = 60.0
"""Seconds of CPU time; a gate of twelve hours and eight legs takes less than two."""


class Endless(BaseException):
    """The play did not end. No handler in the product may take it for anything else."""


@contextmanager
def watched(limit: float = LIMIT) -> Iterator[None]:
    """Raise Endless inside once it has taken `limit` seconds of CPU time. Only the main thread can be watched."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(_number: int, _frame: FrameType | None) -> None:
        raise Endless(f"it did not end within {limit:g} s of CPU time")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
