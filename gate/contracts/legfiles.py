"""A leg's files, as the poller sees them.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from gate.machines.verdict import StateView
from gate.rundir.formats import LegResult, Pointer


@dataclass(frozen=True, slots=True)
class LegQuery:
    """What to look for: one leg under one tag."""

    leg: str
    tag: str
    globs: tuple[str, ...]
    keys: tuple[str, ...]
    """Dotted keys that a snapshot extracts."""


@dataclass(frozen=True, slots=True)
class LegView:
    """One look at a leg's files. Equal views mean that nothing changed."""

    incarnations: tuple[str, ...] = ()
    """All incarnations found, oldest first; pointer, result and state are those of the last."""
    pointer: Pointer | None = None
    result: LegResult | None = None
    state: StateView = field(default_factory=lambda: StateView("absent"))
    problem: str = ""
    """What of pointer or leg.json could not be read as ours, in words; "" for nothing."""
    stamp: str = ""
    """Changes whenever anything of the leg advanced (state file, pointer, result, transcript)."""
    pointer_sha256: str = ""
    result_sha256: str = ""
    """Of the raw bytes of pointer.json and leg.json, as far as they could be read."""


class LegFiles(Protocol):
    """The poller's look at `legs/`. Nothing below it is trusted beyond judging that leg."""

    async def look(self, queries: Sequence[LegQuery]) -> Mapping[str, LegView]:
        """One view a leg id. Raises StoreUnavailable when the root as a whole does not answer."""
        ...
