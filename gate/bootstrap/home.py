"""One leg's own directory on the shared root: `legs/LEG/TAG/INCARNATION/`.

Everything blocking runs in a thread with a deadline: a hung share delays a look and never the leg. What the runner
reads is made readable for it, because bootstrap may be root and the runner not.
Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import anyio

from gate.adapters.threads import Lane
from gate.bootstrap import staged
from gate.bootstrap.jsonl import line
from gate.bootstrap.liveness import Liveness, Look
from gate.bootstrap.redact import Redactor
from gate.bootstrap.searching import StateSearch
from gate.bootstrap.secret_search import search
from gate.bootstrap.storing import answered, append, create_once, replace_whole
from gate.contracts import Scan
from gate.documents import Json, dump
from gate.errors import ArtifactError, StoreError
from gate.machines.verdict import StateView
from gate.plan.model import ArtifactPlan, LegPlan
from gate.rundir import layout
from gate.rundir.formats import LegResult, Pointer
from gate.rundir.statefile import Found, counts, read_state

T = TypeVar("T")

DEADLINE = 10.0
"""Seconds after which the shared root counts as not answering."""
COPYING = 1800.0
"""Seconds for copying what was staged; the leg's own prepare budget ends it earlier."""
SEARCHING = 60.0
PASS_EVERY = 60.0
"""Seconds between full passes in the background at the least, and PASS_SHARE times what one took."""
PASS_SHARE = 20.0
SLICES = 1.0
"""Seconds that one look spends on the background pass."""
NAMED = 4
RESERVE = ".reserve"


@dataclass(frozen=True)
class Folders:
    """The places of an opened leg, absolute. `artifact`: its path, or the image reference, or ""."""

    base: Path
    artifact: str

    @property
    def workspace(self) -> Path:
        return self.base / layout.WORKSPACE

    @property
    def session(self) -> Path:
        return self.base / layout.SESSION

    @property
    def home(self) -> Path:
        return self.base / layout.HOME

    @property
    def transcript(self) -> Path:
        return self.base / layout.TRANSCRIPT

    @property
    def state_file(self) -> Path:
        """Where a program that is told the path writes its state."""
        return self.session / "run" / "state.json"


class FileHome:
    """`contracts.LegHome` below `run_dir`."""

    def __init__(
        self,
        run_dir: Path,
        leg: LegPlan,
        tag: str,
        *,
        artifact: ArtifactPlan,
        redactor: Redactor,
        deadline: float = DEADLINE,
    ) -> None:
        self._run_dir = run_dir
        self._leg = leg
        self._tag = tag
        self._artifact = artifact
        self._redactor = redactor
        self._deadline = deadline
        # Lanes of their own: a scan that hangs must not keep a leg's result from being written, or its state from
        # being read.
        self._writes = Lane("leg-writes", limit=2)
        self._reads = Lane("leg-reads", limit=2)
        self._scans = Lane("leg-scans", limit=1)
        self._folders: Folders | None = None
        self._liveness: Liveness | None = None
        self._search = StateSearch(leg.state)
        self._pass: Iterator[None] | None = None
        self._thorough = False
        self._cost = 0.0
        self._due = 0.0

    @property
    def folders(self) -> Folders:
        """The leg's places. Raises StoreError before `open`."""
        if self._folders is None:
            raise StoreError(f"leg {self._leg.id}: its directory is not there yet")
        return self._folders

    # --- opening -------------------------------------------------------------------------------------

    async def open(self) -> str:
        """Make this start's directory. Raises StoreError."""
        folders = await self._call(self._writes, COPYING, "make the leg's directory", self._open)
        self._folders = folders
        self._liveness = Liveness(folders.workspace, folders.session)
        await self._scan_all()
        return folders.base.name

    async def equip(self) -> None:
        """Copy in what was staged: apart from `open`, so that a leg whose artifact is wrong can say so in its result.

        Raises StoreError, ArtifactError.
        """
        self._folders = await self._call(self._writes, COPYING, "copy in what was staged", self._equip)
        await self._scan_all()

    def _open(self) -> Folders:
        os.stat(self._run_dir)  # noqa: PTH116 - a root that is not mounted is not to be made here
        base = new_incarnation(self._run_dir / layout.leg_tag(self._leg.id, self._tag), self._run_dir)
        for name in (layout.WORKSPACE, layout.SESSION):
            _folder(base / name, 0o755)
        _folder(base / layout.HOME, 0o700)
        if self._leg.kind == "command":
            _folder(base / layout.SESSION / "run", 0o755)
        replace_whole(base / RESERVE, b"\0" * 65536, 0o600)
        return Folders(base, "")

    def _equip(self) -> Folders:
        base = self.folders.base
        for name in self._leg.files:
            if counts(f"{layout.WORKSPACE}/{name}", self._leg.state):
                raise ArtifactError(
                    f"staged file {name!r}: it would count as the state file of a leg that has not begun"
                )
            staged.copy(self._run_dir / layout.STAGED_FILES / name, base / layout.WORKSPACE, name)
        return Folders(base, staged.artifact(self._run_dir, base, self._artifact))

    # --- looking -------------------------------------------------------------------------------------

    async def idle(self, beat: float, longest: float) -> None:
        """Files tell nobody that they changed: look again after `beat` seconds."""
        await anyio.sleep(max(0.0, min(beat, longest)))

    async def scan(self, *, full: bool) -> Scan:
        """The hot set, and a piece of the pass in the background; or everything."""
        look = await (self._scan_all() if full else self._scan_hot())
        return Scan(changed=look.changed, full=full, blind=look.blind, entries=look.entries)

    async def _scan_hot(self) -> Look:
        liveness = self._seen()
        try:
            look = await self._scans.call(self._deadline, liveness.check)
            if not self._thorough:
                await self._advance()
        except (OSError, TimeoutError):
            self._pass = None
            return Look(changed=False, blind=True, entries=0)
        return look

    async def _advance(self) -> None:
        """A bounded piece of the full pass in the background: it finds what is hot now."""
        began = anyio.current_time()
        if self._pass is None:
            if began < self._due:
                return
            self._pass, self._cost = self._seen().full_pass(), 0.0
        while anyio.current_time() - began < SLICES:
            if not await self._slice(self._pass):
                self._pass = None
                break
        self._cost += anyio.current_time() - began
        self._due = anyio.current_time() + max(PASS_EVERY, PASS_SHARE * self._cost)

    async def _scan_all(self) -> Look:
        liveness = self._seen()
        self._thorough, self._pass = True, None  # what the abandoned pass found stays remembered
        began = anyio.current_time()
        try:
            whole = liveness.full_pass()
            while await self._slice(whole):
                continue
            look = await self._scans.call(self._deadline, liveness.take)
        except (OSError, TimeoutError):
            return Look(changed=False, blind=True, entries=0)
        else:
            return look
        finally:
            self._thorough = False
            took = anyio.current_time() - began
            self._due = anyio.current_time() + max(PASS_EVERY, PASS_SHARE * took)

    async def _slice(self, walk: Iterator[None]) -> bool:
        """One slice of a pass; False where it is complete."""
        return await self._scans.call(self._deadline, lambda: next(walk, self) is not self)

    def _seen(self) -> Liveness:
        if self._liveness is None:
            raise StoreError(f"leg {self._leg.id}: its directory is not there yet")
        return self._liveness

    async def states(self, *, fresh: bool) -> tuple[StateView, ...]:
        """A snapshot of each state file that counts; else one absent view that says where stray ones lie."""
        return await self._call(self._reads, self._deadline, "read the state file", lambda: self._states(fresh=fresh))

    def _states(self, *, fresh: bool) -> tuple[StateView, ...]:
        base = self.folders.base
        os.stat(base)  # noqa: PTH116 - a vanished root is told apart from a file that is not there yet
        found = self._search.find(base, fresh=fresh)
        keys = self._leg.judge.keys()
        if found.counting:
            return tuple(read_state(base, rel, keys, shown=self._shown(rel)) for rel in found.counting)
        hint = _hint(found)
        return (StateView("absent", detail=hint),) if hint else ()

    def _shown(self, rel: str) -> str:
        return f"{layout.incarnation(self._leg.id, self._tag, self.folders.base.name)}/{rel}"

    # --- writing -------------------------------------------------------------------------------------

    async def publish(self, document: Pointer | LegResult) -> None:
        """Write pointer.json or leg.json. Raises StoreError."""
        name = layout.POINTER if isinstance(document, Pointer) else layout.LEG_RESULT
        data = self._redactor.redact(dump(document))
        await self._call(self._writes, self._deadline, f"write {name}", lambda: self._publish(name, data))

    def _publish(self, name: str, data: bytes) -> None:
        try:
            replace_whole(self.folders.base / name, data, 0o644)
        except OSError:
            reserve = self.folders.base / RESERVE
            if not reserve.exists():
                raise
            reserve.unlink()  # the disk may be full: evidence goes before everything else
            replace_whole(self.folders.base / name, data, 0o644)

    async def record(self, entry: Mapping[str, Json]) -> None:
        """Append to the journal. Raises StoreError."""
        data = self._redactor.redact(line(entry))
        path = self.folders.base / layout.JOURNAL
        await self._call(self._writes, self._deadline, "append to the journal", lambda: append(path, data, 0o644))

    async def secret_hits(self) -> tuple[str, ...]:
        """Files below the leg's directory in which a secret stands. Raises StoreError."""
        if not self._redactor.names:
            return ()
        return await self._call(
            self._reads, SEARCHING, "look for secrets", lambda: search(self.folders.base, self._redactor, SEARCHING / 2)
        )

    async def _call(self, lane: Lane, deadline: float, what: str, run: Callable[[], T]) -> T:
        return await answered(lane, deadline, f"leg {self._leg.id}: cannot {what}", run)


def new_incarnation(folder: Path, top: Path) -> Path:
    """Make the next directory `N-hex` in `folder`; of two starts at once each gets its own number."""
    missing = [one for one in (folder, *folder.parents) if one != top and top in one.parents and not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in missing:
        one.chmod(0o755)
    number = 1 + max((_number(name) for name in os.listdir(folder)), default=0)  # noqa: PTH208 - names are wanted
    while not create_once(folder / f".{number}"):
        number += 1
    made = folder / f"{number}-{secrets.token_hex(4)}"
    made.mkdir()
    made.chmod(0o755)
    return made


def _number(name: str) -> int:
    digits = name.lstrip(".").partition("-")[0]
    return int(digits) if digits.isdigit() else 0


def _folder(path: Path, mode: int) -> None:
    path.mkdir()
    path.chmod(mode)


def _hint(found: Found) -> str:
    said: list[str] = []
    if found.strays:
        names = ", ".join(found.strays[:NAMED]) + (" …" if len(found.strays) > NAMED else "")
        said.append(f"there, but not where it counts: {names}")
    if found.denied:
        said.append(f"may not be listed: {', '.join(found.denied[:NAMED])}")
    if found.truncated:
        said.append("too many files to look through all of them")
    return "; ".join(said)
