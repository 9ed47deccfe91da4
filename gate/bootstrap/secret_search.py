"""At a leg's end: in which files below its directory does a secret stand? The agent writes there too.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from gate.bootstrap.redact import Redactor

LARGEST = 64 << 20
"""Bytes of one file that are searched."""
LISTED = 100
CHUNK = 1 << 20


def search(base: Path, redactor: Redactor, seconds: float) -> tuple[str, ...]:
    """Hits as `path: secret name`, paths relative to `base`; the last one says so where not everything was searched.

    Links are not followed, and files that cannot be read are passed over.
    """
    deadline = time.monotonic() + seconds
    hits: list[str] = []
    skipped = 0
    for path in _files(str(base)):
        if time.monotonic() >= deadline or len(hits) >= LISTED:
            hits.append("not everything was searched: too many files or hits")
            break
        try:
            names = redactor.hits(_chunks(path))
        except OSError:
            skipped += 1
            continue
        hits += [f"{os.path.relpath(path, base)}: {name}" for name in names]
    if skipped:
        hits.append(f"{skipped} files could not be read")
    return tuple(hits)


def _files(top: str) -> Iterator[str]:
    for folder, _, names in os.walk(top):
        for name in sorted(names):
            path = f"{folder}/{name}"
            try:
                if stat.S_ISREG(os.lstat(path).st_mode):
                    yield path
            except OSError:
                # Gone since it was listed.
                continue


def _chunks(path: str) -> Iterator[bytes]:
    left = LARGEST
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        while left > 0 and (chunk := os.read(handle, min(CHUNK, left))):
            left -= len(chunk)
            yield chunk
    finally:
        os.close(handle)
