"""The run directory on a real file system, local or shared.

Everything blocking runs in a `Lane` with a deadline. A call that was given up must not take effect late: a thread that
hung on a share for minutes asks, before each effect, whether anybody still waits for it.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from gate.adapters.threads import Lane
from gate.errors import StoreDenied, StoreError, StoreFull, StoreUnavailable
from gate.rundir import keys, layout

T = TypeVar("T")

DEADLINE = 10.0
"""Seconds after which the shared root counts as not answering."""

VOLATILE = tuple(layout.LEASE.split("/"))
"""Renewed with every poll, to be seen by others and not to outlive a power cut: syncing it cost more CPU than all the
rest of a tick. Creating it, and the claims by which it is taken over, are synced as everything else."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_DENIED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP)
_UNAVAILABLE = (errno.ESTALE, errno.ENOTCONN, errno.EIO, errno.ETIMEDOUT, errno.EHOSTDOWN, errno.EREMOTEIO, errno.ENXIO)


class _Abandoned(Exception):
    """Nobody waits for this call any more."""


class _Call:
    """One operation under way in a thread."""

    def __init__(self) -> None:
        self.abandoned = False

    def before_effect(self) -> None:
        if self.abandoned:
            raise _Abandoned


class FileStore:
    """`contracts.Store` over the directory `run_dir`, which must exist (`make_root`): a missing one is unavailable."""

    def __init__(self, run_dir: Path, *, lane: Lane | None = None, deadline: float = DEADLINE) -> None:
        self.run_dir = run_dir
        self._lane = lane or Lane("root")
        self._deadline = deadline

    async def make_root(self) -> None:
        """Make the run directory itself and its parents; dispatch does, once a run."""
        await self._run("make", "", lambda _: os.makedirs(self.run_dir, exist_ok=True))  # noqa: PTH103 - one call

    async def read(self, key: str) -> bytes | None:
        """The file's bytes, or None where it does not exist."""
        parts = keys.split(key)
        return await self._run("read", key, lambda _: _again_if_stale(lambda: self._read(parts)))

    async def create(self, key: str, data: bytes) -> bool:
        """Write the file unless it exists; one of any number of racing callers gets True."""
        parts = keys.split(key)
        return await self._run("create", key, lambda call: self._with_room(lambda: self._create(parts, data, call)))

    async def replace(self, key: str, data: bytes) -> None:
        """Write the file, whether it exists or not."""
        parts = keys.split(key)
        await self._run("write", key, lambda call: self._with_room(lambda: self._replace(parts, data, call)))

    async def append(self, key: str, data: bytes) -> None:
        """Add one whole record, which ends with a newline; what an earlier crash left torn is cut off first."""
        parts = keys.split(key)
        if not data.endswith(b"\n"):
            raise ValueError("a record ends with a newline")
        await self._run("append to", key, lambda call: self._with_room(lambda: self._append(parts, data, call)))

    async def list(self, prefix: str) -> tuple[str, ...]:
        """Keys of all files below the folder `prefix`, sorted."""
        parts = keys.split_prefix(prefix)
        return await self._run("list", prefix, lambda _: _again_if_stale(lambda: self._list(parts)))

    async def remove(self, key: str) -> bool:
        """Remove the file; False where there was none."""
        parts = keys.split(key)
        return await self._run("remove", key, lambda call: self._remove(parts, call))

    async def _run(self, what: str, key: str, work: Callable[[_Call], T]) -> T:
        call = _Call()
        try:
            return await self._lane.call(self._deadline, lambda: work(call))
        except TimeoutError as error:
            raise StoreUnavailable(
                f"cannot {what} {self.run_dir}/{key}: no answer within {self._deadline:g} s",
                hint="The shared root hangs or is cut off. Nothing was concluded from it.",
            ) from error
        except OSError as error:
            raise translated(error, f"cannot {what} {self.run_dir}/{key}") from error
        finally:
            call.abandoned = True

    # --- blocking, in a thread -----------------------------------------------------------------------

    @contextmanager
    def _folder(self, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int | None]:
        """A descriptor of the folder `parts`, opened step by step so that no link leads out; None where absent."""
        try:
            handle = os.open(self.run_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise StoreUnavailable(
                f"the run directory {self.run_dir} is gone",
                hint="Is the shared root mounted here? Nothing was concluded from its absence.",
            ) from error
        try:
            for part in parts:
                inner = _step(handle, part, make=make)
                if inner is None:
                    yield None
                    return
                os.close(handle)
                handle = inner
            yield handle
        finally:
            os.close(handle)

    def _read(self, parts: tuple[str, ...]) -> bytes | None:
        with self._folder(parts[:-1]) as folder:
            if folder is None:
                return None
            try:
                handle = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            except FileNotFoundError:
                return None
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise StoreDenied(f"{self.run_dir}/{'/'.join(parts)} is not a regular file")
                return file.read()

    def _create(self, parts: tuple[str, ...], data: bytes, call: _Call) -> bool:
        with self._folder(parts[:-1], make=True) as folder, _temporary(folder, data) as (name, handle):
            call.before_effect()
            try:
                os.link(name, parts[-1], src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
            except FileExistsError:
                # A server may have linked it, lost its answer and seen our own link at the second try.
                if os.fstat(handle).st_nlink != 2:
                    return False
            _sync(folder)
            return True

    def _replace(self, parts: tuple[str, ...], data: bytes, call: _Call) -> None:
        durable = parts != VOLATILE
        with self._folder(parts[:-1], make=True) as folder, _temporary(folder, data, durable=durable) as (name, _):
            call.before_effect()
            os.rename(name, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
            if durable:
                _sync(folder)

    def _append(self, parts: tuple[str, ...], data: bytes, call: _Call) -> None:
        with self._folder(parts[:-1], make=True) as folder:
            assert folder is not None
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            handle = os.open(parts[-1], flags, 0o644, dir_fd=folder)
            try:
                end = _end_of_whole_lines(handle)
                call.before_effect()
                if end != os.fstat(handle).st_size:
                    os.ftruncate(handle, end)
                try:
                    _write_all(handle, data)
                    os.fdatasync(handle)
                except OSError:
                    if not call.abandoned:  # else the caller may have written more since: that is not ours to cut off
                        os.ftruncate(handle, end)
                    raise
                if end == 0:
                    _sync(folder)
            finally:
                os.close(handle)

    def _list(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        with self._folder(parts) as folder:
            if folder is None:
                return ()
            found: list[str] = []
            for where, _, names, _ in os.fwalk(".", dir_fd=folder, onerror=_raise_unless_gone):
                inner = [*parts, *where.split("/")[1:]]
                found.extend("/".join((*inner, name)) for name in names if not name.startswith(keys.TEMPORARY))
            return tuple(sorted(found))

    def _remove(self, parts: tuple[str, ...], call: _Call) -> bool:
        with self._folder(parts[:-1]) as folder:
            if folder is None:
                return False
            call.before_effect()
            try:
                os.unlink(parts[-1], dir_fd=folder)
            except FileNotFoundError:
                return False
            _sync(folder)
            return True

    def _with_room(self, work: Callable[[], T]) -> T:
        """On a full disk the reserve goes first, so that evidence still fits."""
        try:
            return work()
        except OSError as error:
            if error.errno not in _FULL:
                raise
            try:
                (self.run_dir / layout.RESERVE).unlink()
            except OSError:
                raise error from None  # given up before, or none was made: what people need to hear is "full"
            return work()


def _step(folder: int, name: str, *, make: bool) -> int | None:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(name, flags, dir_fd=folder)
    except FileNotFoundError:
        if not make:
            return None
    except NotADirectoryError as error:
        # Linux says so for a link too, which is what must be told apart here.
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, f"{name} is a link") from error
        raise
    try:
        os.mkdir(name, 0o755, dir_fd=folder)
    except FileExistsError:
        return os.open(name, flags, dir_fd=folder)
    _sync(folder)
    return os.open(name, flags, dir_fd=folder)


@contextmanager
def _temporary(folder: int | None, data: bytes, *, durable: bool = True) -> Iterator[tuple[str, int]]:
    """A durable file of a unique name in `folder`; its name is gone afterwards."""
    assert folder is not None
    name = f"{keys.TEMPORARY}{os.getpid()}-{secrets.token_hex(8)}"
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
    try:
        _write_all(handle, data)
        if durable:
            os.fsync(handle)
        yield name, handle
    finally:
        os.close(handle)
        with suppress(FileNotFoundError):  # it was renamed to what it was made for
            os.unlink(name, dir_fd=folder)


def _write_all(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def _sync(folder: int | None) -> None:
    assert folder is not None
    os.fsync(folder)


def _end_of_whole_lines(handle: int) -> int:
    """How long the journal is without what a crash left torn at its end."""
    end = os.fstat(handle).st_size
    whole, at = end, end
    while at > 0:
        start = max(0, at - 65536)
        newline = os.pread(handle, at - start, start).rfind(b"\n")
        whole, at = (start + newline + 1, 0) if newline >= 0 else (0, start)
    return whole


def _again_if_stale(work: Callable[[], T]) -> T:
    """A handle goes stale when its file is replaced between look-up and read on NFS: once is no outage."""
    try:
        return work()
    except OSError as error:
        if error.errno != errno.ESTALE:
            raise
        return work()


def _raise_unless_gone(error: OSError) -> None:
    if error.errno != errno.ENOENT:
        raise error


def translated(error: OSError, what: str) -> StoreError:
    """The operating system's word as an error of the run directory; `what` says what was tried."""
    text = f"{what}: {os.strerror(error.errno) if error.errno else error}"
    if error.errno in _FULL:
        return StoreFull(text, hint="Free space below the root (`gate prune`), or raise the quota.")
    if error.errno in _DENIED:
        return StoreDenied(text, hint="Is the root writable for this user, supports hard links, and holds no links?")
    if error.errno in _UNAVAILABLE:
        return StoreUnavailable(text, hint="The shared root is cut off. Nothing was concluded from it.")
    return StoreError(text)
