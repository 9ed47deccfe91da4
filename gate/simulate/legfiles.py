"""The poller's look at `legs/` on a disk in memory, with the rules of the real one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gate.contracts import LegQuery, LegView
from gate.errors import StoreUnavailable
from gate.machines.verdict import StateView
from gate.rundir import layout, legview
from gate.rundir.formats import LegResult, Pointer
from gate.rundir.statefile import Found, parse, sort_out, tops
from gate.simulate.store import MemoryDisk


class MemoryLegFiles:
    """`contracts.LegFiles` over a `MemoryDisk`. A leg below which nothing was written since is not looked at again."""

    def __init__(self, disk: MemoryDisk) -> None:
        self._disk = disk
        self._known: dict[LegQuery, tuple[int, LegView]] = {}

    async def look(self, queries: Sequence[LegQuery]) -> Mapping[str, LegView]:
        """One view a leg id. Raises StoreUnavailable while the root is gone."""
        if not self._disk.present:
            raise StoreUnavailable("the run directory is gone")
        return {query.leg: self._look(query) for query in queries}

    def _look(self, query: LegQuery) -> LegView:
        folder = layout.leg_tag(query.leg, query.tag)
        version = self._disk.version(folder)
        known = self._known.get(query)
        if known is None or known[0] != version:
            known = self._known[query] = (version, self._view(query, self._disk.below(folder), version))
        return known[1]

    def _view(self, query: LegQuery, files: tuple[str, ...], version: int) -> LegView:
        start = layout.leg_tag(query.leg, query.tag) + "/"
        names = {rest.partition("/")[0] for key in files if "/" in (rest := key[len(start) :])}
        incarnations = legview.oldest_first(names)
        if not incarnations:
            return LegView()
        last = incarnations[-1]
        base = f"{start}{last}/"
        inner = tuple(key[len(base) :] for key in files if key.startswith(base))
        pointer = legview.part(Pointer, self._raw(base + layout.POINTER), query, last, layout.POINTER)
        result = legview.part(LegResult, self._raw(base + layout.LEG_RESULT), query, last, layout.LEG_RESULT)
        chosen = legview.choose(query, pointer, result, lambda: _find(query, inner, ended=result.document is not None))
        state = chosen if isinstance(chosen, StateView) else self._state(query, last, chosen)
        return legview.assemble(incarnations, pointer, result, state, version)

    def _state(self, query: LegQuery, incarnation: str, rel: str) -> StateView:
        shown = legview.state_path(query, incarnation, rel)
        raw = self._raw(shown)
        return StateView("absent", shown) if raw is None else parse(raw, query.keys, shown)

    def _raw(self, key: str) -> bytes | None:
        found = self._disk.files.get(key)
        return None if found is None else bytes(found)


def _find(query: LegQuery, inner: tuple[str, ...], *, ended: bool) -> Found:
    for everywhere in (False, True) if ended else (False,):
        places = tops(query.globs, everywhere)
        within = (rel for rel in inner if any(top == "" or rel.startswith(f"{top}/") for top in places))
        found = Found(*sort_out(within, query.globs))
        if found.counting:
            break
    return found
