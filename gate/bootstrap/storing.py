"""Writing small files of a leg safely, and the errors of a file system in the words of the contracts.

Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from gate.adapters.threads import Lane
from gate.errors import StoreDenied, StoreFull, StoreUnavailable

T = TypeVar("T")

_FULL = (errno.ENOSPC, errno.EDQUOT)
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)


async def answered(lane: Lane, deadline: float, what: str, run: Callable[[], T]) -> T:
    """`run()` in a thread; OSError and no answer in time become StoreError classes that begin with `what`."""
    try:
        return await lane.call(deadline, run)
    except TimeoutError as error:
        raise StoreUnavailable(f"{what}: no answer within {deadline:g} s") from error
    except OSError as error:
        kind = StoreFull if error.errno in _FULL else StoreDenied if error.errno in _DENIED else StoreUnavailable
        where = f": {error.filename}" if error.filename else ""
        raise kind(f"{what}: {error.strerror or error}{where}") from error


def replace_whole(path: Path, data: bytes, mode: int) -> None:
    """Write the file: whole or not at all, and durable when this returns."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        try:
            _write(handle, data)
            os.fchmod(handle, mode)
            os.fsync(handle)
        finally:
            os.close(handle)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def append(path: Path, data: bytes, mode: int) -> None:
    """Add one whole record; durable when this returns."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        _write(handle, data)
        os.fchmod(handle, mode)
        os.fsync(handle)
    finally:
        os.close(handle)


def create_once(path: Path) -> bool:
    """Make an empty file unless it exists; True for exactly one of any number of racing callers."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except FileExistsError:
        return False
    os.close(handle)
    return True


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
