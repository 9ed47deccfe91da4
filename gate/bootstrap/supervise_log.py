"""The workload's log: lines of the supervisor, and a cap on the file that everything of the workload writes to.

Processes append to the file itself and not to a pipe of the supervisor's, so that they go on when it is killed.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import sys
import time

from gate.bootstrap.supervise_kernel import punch_hole

CAP = 16 * 1024 * 1024
HEAD = 1024 * 1024
"""Bytes of the start that always stay: they say how it began."""
_BLOCK = 4096


def say(text: str) -> None:
    """One line of the supervisor's own, with the time, on standard error."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    sys.stderr.write(f"{stamp} gate supervise: {text}\n")
    sys.stderr.flush()


def cap(fd: int, limit: int = CAP, head: int = HEAD) -> bool:
    """Keep an append-only log below `limit` bytes of disk by freeing its middle; True where something went.

    Offsets stay valid: the freed part is a hole, which readers skip. Where the file system has no holes, everything
    before now goes.
    """
    found = os.fstat(fd)
    if found.st_blocks * 512 <= limit:
        return False
    tail = (found.st_size - (limit - head) // 2) // _BLOCK * _BLOCK
    if tail <= head:
        return False
    try:
        punch_hole(fd, head, tail - head)
    except OSError:
        os.ftruncate(fd, 0)
        say("this file system cannot free the middle of a file: the log up to here is gone")
    return True
