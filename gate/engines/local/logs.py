"""Reading a workload's log by offsets, across the part that its cap gave up."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from gate.contracts import LogChunk


def read_log(path: Path, offset: int, limit: int, *, ended: bool) -> LogChunk:
    """At most `limit` bytes from `offset` (negative: from the end). `ended`: nothing is written any more."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return LogChunk(b"", 0, ended)
    try:
        size = os.fstat(fd).st_size
        start = max(0, size + offset) if offset < 0 else offset
        if start > size:
            # Cut off on a file system without holes: what is there now is all there is.
            start = 0
        start = _next_data(fd, start, size)
        data = os.pread(fd, max(0, min(limit, size - start)), start)
        hole = _next_hole(fd, start, size)
        data = data[: max(0, hole - start)]
        return LogChunk(data, start + len(data), ended and start + len(data) >= size)
    finally:
        os.close(fd)


def _next_data(fd: int, offset: int, size: int) -> int:
    """The first written byte at or after `offset`."""
    if offset >= size:
        return size
    try:
        return os.lseek(fd, offset, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return size
        raise


def _next_hole(fd: int, offset: int, size: int) -> int:
    return os.lseek(fd, offset, os.SEEK_HOLE) if offset < size else size
