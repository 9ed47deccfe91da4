"""The poller's look at `legs/` on a disk in memory, with the rules of the real one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from gate.contracts import LegQuery, LegView
from gate.errors import StoreUnavailable
from gate.machines.verdict import StateView
from gate.rundir import layout, legview
from gate.rundir.formats import LegResult, Pointer
from gate.rundir.legview import Part
from gate.rundir.statefile import Found, parse, sort_out, tops
from gate.simulate.store import MemoryDisk

T = TypeVar("T")
D = TypeVar("D", Pointer, LegResult)


class MemoryLegFiles:
    """`contracts.LegFiles` over a `MemoryDisk`. A leg below which nothing was written since is not looked at again."""

    def __init__(self, disk: MemoryDisk) -> None:
        self._disk = disk
        self._known: dict[tuple[str, str], tuple[LegQuery, int, LegView]] = {}
        self._parts: dict[str, tuple[bytes | bytearray, object]] = {}
        """Key of a file to its content as it was read last, and what that came to."""

    async def look(self, queries: Sequence[LegQuery]) -> Mapping[str, LegView]:
        """One view a leg id. Raises StoreUnavailable while the root is gone."""
        if not self._disk.present:
            raise StoreUnavailable("the run directory is gone")
        return {query.leg: self._look(query) for query in queries}

    def _look(self, query: LegQuery) -> LegView:
        version = self._disk.version(f"legs/{query.leg}/{query.tag}")
        known = self._known.get((query.leg, query.tag))
        if known is not None and known[1] == version and known[0] == query:
            return known[2]
        view = self._view(query, self._disk.below(layout.leg_tag(query.leg, query.tag)), version)
        self._known[query.leg, query.tag] = (query, version, view)
        return view

    def _view(self, query: LegQuery, files: tuple[str, ...], version: int) -> LegView:
        start = layout.leg_tag(query.leg, query.tag) + "/"
        names = {rest.partition("/")[0] for key in files if "/" in (rest := key[len(start) :])}
        incarnations = legview.oldest_first(names)
        if not incarnations:
            return LegView()
        last = incarnations[-1]
        base = f"{start}{last}/"
        inner = tuple(key[len(base) :] for key in files if key.startswith(base))
        pointer = self._part(Pointer, base, layout.POINTER, query, last)
        result = self._part(LegResult, base, layout.LEG_RESULT, query, last)
        chosen = legview.choose(query, pointer, result, lambda: _find(query, inner, ended=result.document is not None))
        state = chosen if isinstance(chosen, StateView) else self._state(query, last, chosen)
        return legview.assemble(incarnations, pointer, result, state, version)

    def _part(self, cls: type[D], base: str, name: str, query: LegQuery, incarnation: str) -> Part[D]:
        def read(raw: bytes) -> Part[D]:
            return legview.part(cls, raw, query, incarnation, name)

        return self._again(base + name, query, read) or Part()

    def _state(self, query: LegQuery, incarnation: str, rel: str) -> StateView:
        shown = legview.state_path(query, incarnation, rel)
        return self._again(shown, query, lambda raw: parse(raw, query.keys, shown)) or StateView("absent", shown)

    def _again(self, key: str, query: LegQuery, read: Callable[[bytes], T]) -> T | None:
        """What `read` makes of a file's content; not read again while that is the same."""
        raw = self._disk.files.get(key)
        if raw is None:
            return None
        known = self._parts.get(f"{query.keys}{key}")
        if known is None or known[0] is not raw:
            known = self._parts[f"{query.keys}{key}"] = (raw, read(bytes(raw)))
        return cast(T, known[1])


def _find(query: LegQuery, inner: tuple[str, ...], *, ended: bool) -> Found:
    for everywhere in (False, True) if ended else (False,):
        places = tops(query.globs, everywhere)
        within = (rel for rel in inner if any(top == "" or rel.startswith(f"{top}/") for top in places))
        found = Found(*sort_out(within, query.globs))
        if found.counting:
            break
    return found
