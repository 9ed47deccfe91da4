"""A leg's own directory in memory, with the contract of the real one and changes that wake its reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import trio

from gate.bootstrap.jsonl import line
from gate.contracts import Scan
from gate.documents import Json, dump
from gate.errors import StoreUnavailable
from gate.machines.verdict import StateView
from gate.plan.model import LegPlan
from gate.rundir import layout
from gate.rundir.formats import LegResult, Pointer
from gate.rundir.statefile import parse, sort_out, tops
from gate.simulate.store import MemoryDisk


class SimHome:
    """`contracts.LegHome` on a `MemoryDisk`. What simulated agents and runs do here is `write`, `touch` and `remove`.

    `blind` True: nothing can be seen. `prepare`: seconds that opening takes.
    """

    def __init__(self, disk: MemoryDisk, leg: LegPlan, tag: str, *, prepare: float = 0.0) -> None:
        self.disk = disk
        self.leg = leg
        self.tag = tag
        self.prepare = prepare
        self.blind = False
        self.secrets: tuple[str, ...] = ()
        """What `secret_hits` finds."""
        self.on_write: Callable[[str, bytes | None], None] | None = None
        """Told of every file that is written or removed (None), by its path relative to the run directory."""
        self.journal: list[Mapping[str, Json]] = []
        self.pointers: list[Pointer] = []
        self.results: list[LegResult] = []
        self._base = ""
        self._entries: dict[str, int] = {}
        self._changes = 0
        self._cold = 0
        self._seen = 0
        self._seen_cold = 0
        self._woken = 0
        self._changed = trio.Event()
        self._keys = leg.judge.keys()
        self._views: dict[str, tuple[bytes | bytearray, StateView]] = {}
        """State files as they were read last: not read again while their content is the same."""

    # --- what the simulated world does ---------------------------------------------------------------

    def write(self, rel: str, data: bytes) -> None:
        """Write a file below the incarnation's directory, `rel` as `session/run/state.json`."""
        self.disk.write(f"{self._base}/{rel}", data)
        if self.on_write is not None:
            self.on_write(f"{self._base}/{rel}", data)
        self.touch(rel)

    def speak(self, text: bytes) -> None:
        """Add to the transcript, which is no part of the leg's own files."""
        if self._base:
            self.disk.append(f"{self._base}/{layout.TRANSCRIPT}", text)

    @property
    def base(self) -> str:
        """The incarnation's directory, relative to the run directory; "" before `open`."""
        return self._base

    def touch(self, rel: str, *, cold: bool = False) -> None:
        """Change an entry. `cold`: only a full scan sees it."""
        self._entries[rel] = self._entries.get(rel, 0) + 1
        self._bump(cold=cold)

    def remove(self, rel: str) -> None:
        """Remove an entry."""
        self._entries.pop(rel, None)
        self.disk.delete(f"{self._base}/{rel}")
        if self.on_write is not None:
            self.on_write(f"{self._base}/{rel}", None)
        self._bump(cold=False)

    def wake(self) -> None:
        """Something that is not a file changed (the command ended, the view came back): worth a look."""
        self._woken = -1
        self._changed.set()

    def see_again(self) -> None:
        """The end of being blind."""
        self.blind = False
        self.wake()

    def _bump(self, *, cold: bool) -> None:
        if cold:
            self._cold += 1
            return
        self._changes += 1
        self._changed.set()

    # --- the contract --------------------------------------------------------------------------------

    async def open(self) -> str:
        """Make the next incarnation's directory."""
        await trio.sleep(self.prepare)
        self._reachable()
        folder = layout.leg_tag(self.leg.id, self.tag)
        before = {key[len(folder) + 1 :].partition("/")[0] for key in self.disk.below(folder)}
        name = f"{len(before) + 1}-{len(before) + 1:08x}"
        self._base = f"{folder}/{name}"
        self.disk.write(f"{self._base}/{layout.JOURNAL}", b"")
        return name

    async def equip(self) -> None:
        """Nothing is staged here."""
        self._reachable()

    async def idle(self, beat: float, longest: float) -> None:
        """Wait for the next change; while blind nobody tells of one."""
        if self.blind or not self.disk.present:
            await trio.sleep(min(beat, longest))
        elif self._woken != self._changes:
            await trio.lowlevel.checkpoint()
        else:
            with trio.move_on_after(longest):
                while self._woken == self._changes:
                    self._changed = trio.Event()
                    await self._changed.wait()
        self._woken = self._changes

    async def scan(self, *, full: bool) -> Scan:
        """Compare with the last look."""
        if self.blind or not self.disk.present:
            return Scan(changed=False, full=full, blind=True, entries=0)
        changed = self._changes != self._seen or (full and self._cold != self._seen_cold)
        self._seen = self._changes
        self._seen_cold = self._cold if full else self._seen_cold
        return Scan(changed=changed, full=full, blind=False, entries=len(self._entries))

    async def states(self, *, fresh: bool) -> tuple[StateView, ...]:
        """A snapshot of each state file that counts; looking costs nothing here, so it is always fresh."""
        self._reachable()
        start = f"{self._base}/"
        places = tops(self.leg.state, False)
        inner = (key[len(start) :] for key in self.disk.below(self._base))
        within = (rel for rel in inner if any(top == "" or rel.startswith(f"{top}/") for top in places))
        counting, strays = sort_out(within, self.leg.state)
        if not counting and strays:
            return (StateView("absent", detail="files that do not count: " + ", ".join(strays)),)
        return tuple(self._parsed(start + rel) for rel in counting)

    def _parsed(self, path: str) -> StateView:
        raw, known = self.disk.files[path], self._views.get(path)
        if known is None or known[0] is not raw:
            known = self._views[path] = (raw, parse(bytes(raw), self._keys, path))
        return known[1]

    async def publish(self, document: Pointer | LegResult) -> None:
        """Write pointer.json or leg.json."""
        self._reachable()
        name = layout.POINTER if isinstance(document, Pointer) else layout.LEG_RESULT
        self.disk.write(f"{self._base}/{name}", dump(document))
        if isinstance(document, Pointer):
            self.pointers.append(document)
        else:
            self.results.append(document)

    async def record(self, entry: Mapping[str, Json]) -> None:
        """Append to the journal."""
        self._reachable()
        self.disk.append(f"{self._base}/{layout.JOURNAL}", line(entry))
        self.journal.append(entry)

    async def secret_hits(self) -> tuple[str, ...]:
        """What was set as found."""
        self._reachable()
        return self.secrets

    def _reachable(self) -> None:
        if self.blind or not self.disk.present:
            raise StoreUnavailable("the shared root does not answer")
