"""When the shared root fails a process: full, hung, or gone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import trio

from gate.contracts import LegFiles, LegQuery, LegView, Store
from gate.errors import StoreFull, StoreUnavailable
from gate.rundir.files import DEADLINE

RootTrouble = Literal["disk_full", "root_hangs", "root_gone"]


@dataclass(frozen=True, slots=True)
class RootWindow:
    """From `start` until `end` of virtual time."""

    kind: RootTrouble
    start: float
    end: float


class RootFaults:
    """The windows that hold for one process."""

    def __init__(self, windows: Sequence[RootWindow] = ()) -> None:
        self._windows = tuple(windows)

    def __bool__(self) -> bool:
        return bool(self._windows)

    def now(self) -> RootWindow | None:
        """The window that is open now; one that hides everything before one that is merely full."""
        if not self._windows:
            return None
        at = trio.current_time()
        found = [window for window in self._windows if window.start <= at < window.end]
        return min(found, key=lambda window: window.kind == "disk_full") if found else None

    def blind(self) -> bool:
        """Nothing can be read now."""
        window = self.now()
        return window is not None and window.kind != "disk_full"

    def until_blind(self) -> float:
        """Seconds until reading fails next; endless where it never does."""
        at = trio.current_time()
        starts = [w.start - at for w in self._windows if w.kind != "disk_full" and w.start > at]
        return min(starts, default=math.inf)

    def seen_again(self) -> float:
        """When the open window ends; endless where nothing hides the root."""
        window = self.now()
        return window.end if window is not None and window.kind != "disk_full" else math.inf

    async def wait(self, seconds: float) -> None:
        """Sleep that long, or until the open window ends where that is sooner."""
        window = self.now()
        left = window.end - trio.current_time() if window is not None else seconds
        await trio.sleep(min(seconds, left))

    async def settled(self) -> None:
        """Wait until nothing hides the root: what a program does whose write hangs."""
        while (window := self.now()) is not None and window.kind != "disk_full":  # noqa: ASYNC110 - not a poll: windows end when they say
            await trio.sleep_until(window.end)

    async def read(self) -> None:
        """Raises what a read meets."""
        window = self.now()
        if window is not None:
            await _fail(window)

    async def write(self) -> None:
        """Raises what a write meets."""
        window = self.now()
        if window is None:
            return
        await _fail(window)
        if window.kind == "disk_full":
            raise StoreFull("no space left on the shared root", hint="Free some: `gate prune`.")


async def _fail(window: RootWindow) -> None:
    if window.kind == "root_hangs":
        await trio.sleep(DEADLINE)
        raise StoreUnavailable(f"no answer from the shared root within {DEADLINE:g} s")
    if window.kind == "root_gone":
        raise StoreUnavailable("the run directory is gone: is the shared root mounted?")


class FaultyStore:
    """A store whose root fails at times."""

    def __init__(self, store: Store, roots: RootFaults) -> None:
        self._store = store
        self._roots = roots

    async def read(self, key: str) -> bytes | None:
        await self._roots.read()
        return await self._store.read(key)

    async def create(self, key: str, data: bytes) -> bool:
        await self._roots.write()
        return await self._store.create(key, data)

    async def replace(self, key: str, data: bytes) -> None:
        await self._roots.write()
        await self._store.replace(key, data)

    async def append(self, key: str, data: bytes) -> None:
        await self._roots.write()
        await self._store.append(key, data)

    async def list(self, prefix: str) -> tuple[str, ...]:
        await self._roots.read()
        return await self._store.list(prefix)

    async def remove(self, key: str) -> bool:
        await self._roots.read()  # a full disk can always give something up
        return await self._store.remove(key)


class RootedLegFiles:
    """A look at `legs/` through a root that fails at times."""

    def __init__(self, files: LegFiles, roots: RootFaults) -> None:
        self._files = files
        self._roots = roots

    async def look(self, queries: Sequence[LegQuery]) -> Mapping[str, LegView]:
        await self._roots.read()
        return await self._files.look(queries)
