"""The poller's look at `legs/` on a real file system: one call a tick in a thread, for all legs.

Nothing is read again while its (inode, size, mtime, ctime) stay: with a thousand legs a tick is a few stat calls a leg.
A file system's clock is coarse, so a change within one of its beats leaves the status as it was: what has just changed
is read once more at the next look before its status is trusted.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from gate.adapters.threads import Lane
from gate.contracts import LegQuery, LegView
from gate.errors import StoreUnavailable
from gate.machines.verdict import StateView
from gate.rundir import layout, legview
from gate.rundir.files import DEADLINE
from gate.rundir.formats import LegResult, Pointer
from gate.rundir.legview import Part
from gate.rundir.statefile import Found, Signature, find_states, read_state, signature

AGAIN = 3
"""How often a torn or empty file is read again within one look."""
PAUSE = 0.02
"""Seconds between those."""

READER_FACTOR = 6
"""By how much longer a look may take where files are read by a command."""

_MISSING = (errno.ENOENT, errno.ENOTDIR)
D = TypeVar("D", Pointer, LegResult)


class FileLegFiles:
    """`contracts.LegFiles` below `run_dir`. `reader` is an argv prefix that prints files the runner may not read."""

    def __init__(
        self, run_dir: Path, reader: Sequence[str] = (), *, lane: Lane | None = None, deadline: float | None = None
    ) -> None:
        # One thread: a look that hangs keeps the cache for itself, and later ones queue behind it until they time out.
        self._lane = lane or Lane("legs", limit=1)
        # A reader is a process a file, one after the other.
        self._deadline = deadline or (DEADLINE * READER_FACTOR if reader else DEADLINE)
        self._run_dir = run_dir
        self._reader = tuple(reader)
        self._legs: dict[tuple[str, str], _Leg] = {}

    async def look(self, queries: Sequence[LegQuery]) -> Mapping[str, LegView]:
        """One view a leg id. Raises StoreUnavailable when the root as a whole does not answer."""
        try:
            return await self._lane.call(self._deadline, lambda: self._look(queries))
        except TimeoutError as error:
            raise StoreUnavailable(
                f"cannot look at {self._run_dir}/legs: no answer within {self._deadline:g} s",
                hint="The shared root hangs or is cut off. Nothing was concluded from it.",
            ) from error
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise StoreUnavailable(
                f"cannot look at {self._run_dir}/legs: {why}",
                hint="Is the shared root mounted here? Nothing was concluded from it.",
            ) from error

    def _look(self, queries: Sequence[LegQuery]) -> Mapping[str, LegView]:
        home = os.path.realpath(self._run_dir)
        os.stat(home)  # noqa: PTH116 - a vanished root is told apart here from legs that have not begun
        legs = {query.leg: self._leg(home, query) for query in queries}
        views = {name: leg.look() for name, leg in legs.items()}
        for _ in range(AGAIN):
            unsure = [name for name, leg in legs.items() if leg.caught_in_the_middle]
            if not unsure:
                break
            time.sleep(PAUSE)  # in a thread; nothing tells of a write on another machine
            views.update({name: legs[name].look(again=True) for name in unsure})
        return views

    def _leg(self, home: str, query: LegQuery) -> _Leg:
        leg = self._legs.get((query.leg, query.tag))
        if leg is None or leg.query != query or leg.home != home:
            leg = self._legs[(query.leg, query.tag)] = _Leg(home, query, self._reader)
        return leg


class _Seen:
    """Whether something changed since it was last read, by its signature (None: it is not there)."""

    __slots__ = ("_hot", "_known", "mark")

    def __init__(self) -> None:
        self.mark: Signature | None = None
        self._known = False
        self._hot = False

    def changed(self, mark: Signature | None) -> bool:
        """Take in a signature; True where the file must be read (again)."""
        if not self._known or mark != self.mark:
            self._known, self._hot, self.mark = True, True, mark
            return True
        was_hot, self._hot = self._hot, False
        return was_hot

    @property
    def hot(self) -> bool:
        return self._hot


class _Document(Generic[D]):
    """pointer.json or leg.json of the last incarnation."""

    def __init__(self, cls: type[D], name: str) -> None:
        self._cls: type[D] = cls
        self._name = name
        self.seen = _Seen()
        self.part: Part[D] = Part()

    def look(self, base: str, query: LegQuery, incarnation: str) -> Part[D]:
        path = f"{base}/{self._name}"
        if self.seen.changed(_mark(path)):
            try:
                raw = _read_small(path)
            except OSError as error:
                _raise_if_cut_off(error)
                self.part = Part(problem=f"{self._name}: cannot be read: {os.strerror(error.errno or 0)}")
            else:
                self.part = legview.part(self._cls, raw, query, incarnation, self._name)
        return self.part


class _Leg:
    """One leg under one tag: what is known of its files."""

    def __init__(self, home: str, query: LegQuery, reader: tuple[str, ...]) -> None:
        self.home = home
        self.query = query
        self.caught_in_the_middle = False
        self._reader = reader
        self._folder = f"{home}/{layout.leg_tag(query.leg, query.tag)}"
        self._folder_seen = _Seen()
        self._folder_problem = ""
        self._incarnations: tuple[str, ...] = ()
        self._begin("")

    def _begin(self, incarnation: str) -> None:
        """Forget everything that was known of an earlier incarnation."""
        self._incarnation = incarnation
        self._base = f"{self._folder}/{incarnation}"
        self._strange = bool(incarnation) and os.path.realpath(self._base) != self._base
        self._pointer = _Document(Pointer, layout.POINTER)
        self._result = _Document(LegResult, layout.LEG_RESULT)
        self._found: Found | None = None
        self._found_hot = False
        self._state_rel = ""
        self._state_seen = _Seen()
        self._state = StateView("absent")
        self._view = LegView()
        self._view_of: tuple[object, ...] = ()

    def look(self, *, again: bool = False) -> LegView:
        """The leg now; `again` reads its state file whatever its status says. OSError: the root is cut off."""
        self.caught_in_the_middle = False
        if self._folder_seen.changed(_mark(self._folder)):
            names, self._folder_problem = _folders(self._folder)
            self._incarnations = legview.oldest_first(names)
        if not self._incarnations:
            return LegView(problem=self._folder_problem)
        if self._incarnation != self._incarnations[-1]:
            self._begin(self._incarnations[-1])
        if self._strange:
            away = StateView("foreign", detail="the leg's directory is a link to another place")
            return LegView(self._incarnations, state=away, problem=away.detail)
        pointer = self._pointer.look(self._base, self.query, self._incarnation)
        result = self._result.look(self._base, self.query, self._incarnation)
        state = self._look_at_state(pointer, result, again)
        transcript = _mark(f"{self._base}/{layout.TRANSCRIPT}")
        marks = (self._incarnations, self._pointer.seen.mark, self._result.seen.mark, self._state_seen.mark, transcript)
        parts = (pointer, result, state, marks)
        if parts != self._view_of:
            self._view_of = parts
            self._view = legview.assemble(self._incarnations, pointer, result, state, marks)
        return self._view

    def _look_at_state(self, pointer: Part[Pointer], result: Part[LegResult], again: bool) -> StateView:
        chosen = legview.choose(self.query, pointer, result, lambda: self._find(ended=result.document is not None))
        if isinstance(chosen, StateView):
            self._state_rel, self._state_seen = "", _Seen()
            return chosen
        if chosen != self._state_rel:
            self._state_rel, self._state_seen = chosen, _Seen()
        path = f"{self._base}/{chosen}"
        mark = _mark(path)
        if mark is None:
            # nextflow#5650: an attribute cache may say "absent" of a file that is there; opening its folder asks anew.
            _folders(path.rpartition("/")[0])
            mark = _mark(path)
        # Without a signature (a folder the runner may not enter) only the reader can tell, every time.
        if again or self._state_seen.changed(mark) or (mark is None and self._reader):
            shown = legview.state_path(self.query, self._incarnation, chosen)
            self._state = read_state(
                self._base, chosen, self.query.keys, shown=shown, reader=self._reader, canonical=True
            )
        self.caught_in_the_middle = self._state.status in ("torn", "empty") and self._state_seen.hot
        return self._state

    def _find(self, *, ended: bool) -> Found:
        known = self._found
        if known is not None and all(_mark(f"{self._base}/{rel}") == mark for rel, mark in known.visited):
            if not self._found_hot:
                return known
            self._found_hot = False
        else:
            self._found_hot = True
        self._found = found = find_states(self._base, self.query.globs)
        if ended and not found.counting:
            # Once, when the leg has ended: people want to know where their state file went. Not again each tick.
            strays = find_states(self._base, self.query.globs, everywhere=True).strays
            self._found = found = Found((), strays, found.truncated, found.denied, found.visited)
        return found


def _mark(path: str) -> Signature | None:
    """The signature of what lies at `path`, links not followed; None where it is absent or hidden from this user."""
    try:
        return signature(os.lstat(path))
    except OSError as error:
        _raise_if_cut_off(error)
        return None


def _raise_if_cut_off(error: OSError) -> None:
    if error.errno in (errno.ENOTCONN, errno.EIO, errno.ETIMEDOUT, errno.EHOSTDOWN):
        raise error


def _folders(path: str) -> tuple[list[str], str]:
    """Names of the folders in `path`, and why they could not be listed."""
    try:
        with os.scandir(path) as found:
            return [entry.name for entry in found if entry.is_dir(follow_symlinks=False)], ""
    except OSError as error:
        _raise_if_cut_off(error)
        why = (
            "" if error.errno in _MISSING else f"the leg's directory cannot be listed: {os.strerror(error.errno or 0)}"
        )
        return [], why


def _read_small(path: str) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in _MISSING:
            return None
        raise
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return file.read(legview.MAX_DOCUMENT + 1)
