"""The run directory as the runner writes it, and the runner's own disk.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from typing import Protocol


class Store(Protocol):
    """The run directory as the runner writes it: whole small files by key (a relative path with slashes).

    Errors of all methods: StoreUnavailable (hung, cut off, vanished; never mistaken for "absent"), StoreFull,
    StoreDenied. A write is durable when its call returns, and atomic: readers see the old file or the new one.
    """

    async def read(self, key: str) -> bytes | None:
        """The file's bytes, or None where it does not exist."""
        ...

    async def create(self, key: str, data: bytes) -> bool:
        """Write the file unless it exists. True for exactly one of any number of racing callers."""
        ...

    async def replace(self, key: str, data: bytes) -> None:
        """Write the file, whether it exists or not."""
        ...

    async def append(self, key: str, data: bytes) -> None:
        """Add one whole record. After a crash the last record may be torn; readers drop a torn tail."""
        ...

    async def list(self, prefix: str) -> tuple[str, ...]:
        """Keys of all files below the folder `prefix`, sorted; empty where there is none."""
        ...

    async def remove(self, key: str) -> bool:
        """Remove the file; False where there was none."""
        ...


class CancelNotes(Protocol):
    """The runner's own disk: where a cancel is written down first, because the shared root may hang."""

    async def record(self, run: str, tag: str, signal: int) -> None: ...

    async def find(self, run: str, tag: str) -> int | None:
        """The signal of a cancel noted for this attempt, or None."""
        ...
