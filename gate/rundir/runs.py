"""The runs below a root: found by id, by the beginning of an id, or as the latest of a gate."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

from gate.adapters.threads import Lane
from gate.errors import RunNotFound, StoreUnavailable
from gate.rundir.files import DEADLINE, FileStore, translated
from gate.rundir.layout import component
from gate.rundir.run import Run

T = TypeVar("T")
SHOWN = 8


@dataclass(frozen=True, slots=True)
class RunPlace:
    """Where a run lies, and whose it is."""

    repository: str
    gate: str
    run: str
    path: Path

    def open(self) -> Run:
        """Its records."""
        return Run(FileStore(self.path))


class Runs:
    """All runs below `root`, of all repositories and gates."""

    def __init__(self, root: Path, *, lane: Lane | None = None, deadline: float = DEADLINE) -> None:
        self.root = root
        self._lane = lane or Lane("root")
        self._deadline = deadline

    async def all(self, repository: str | None = None, gate: str | None = None) -> tuple[RunPlace, ...]:
        """Every run, narrowed to a repository and a gate, by name. Empty where the root does not exist yet."""
        return await self._call(lambda: tuple(_scan(self.root, repository, gate)))

    async def find(self, text: str, repository: str | None = None, gate: str | None = None) -> RunPlace:
        """The run whose id is `text`, or the only one whose id begins so. Raises RunNotFound with the candidates."""
        places = await self.all(repository, gate)
        exact = [place for place in places if place.run == text]
        begun = exact or [place for place in places if place.run.startswith(text)]
        if len(begun) == 1:
            return begun[0]
        if begun:
            raise RunNotFound(
                f"{text!r} is the beginning of {len(begun)} runs: {_names(begun)}"
                if not exact
                else f"run {text!r} exists in {len(begun)} gates: {_names(begun)}",
                hint="Give more of the id, or name the gate with --config.",
            )
        raise RunNotFound(
            f"no run {text!r} below {self.root}",
            hint=f"There are: {_names(places)}." if places else "There is no run at all there. Is it the right --root?",
        )

    async def latest(self, repository: str | None = None, gate: str | None = None) -> RunPlace:
        """The run with the newest attempt. Raises RunNotFound where there is none."""
        places = await self.all(repository, gate)
        if not places:
            of = f" of gate {gate}" if gate else ""
            raise RunNotFound(f"no run{of} below {self.root}", hint="`gate dispatch` or `gate run` makes one.")
        return await self._call(lambda: max(places, key=_newest_attempt))

    async def _call(self, work: Callable[[], T]) -> T:
        try:
            return await self._lane.call(self._deadline, work)
        except TimeoutError as error:
            raise StoreUnavailable(f"the root {self.root} does not answer within {self._deadline:g} s") from error
        except OSError as error:
            raise translated(error, f"cannot look for runs below {self.root}") from error


def _scan(root: Path, repository: str | None, gate: str | None) -> Iterable[RunPlace]:
    for owner in _folders(root, repository):
        for which in _folders(root / owner, gate):
            for run in _folders(root / owner / which / "runs", None):
                yield RunPlace(unquote(owner), unquote(which), unquote(run), root / owner / which / "runs" / run)


def _folders(path: Path, only: str | None) -> list[str]:
    try:
        with os.scandir(path) as found:
            names = sorted(entry.name for entry in found if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return names if only is None else [name for name in names if name == component(only)]


def _newest_attempt(place: RunPlace) -> tuple[int, str]:
    # Both times are the file server's own, of files that gate makes: this orders runs, and decides nothing.
    try:
        return (place.path / "gate" / "attempts").stat().st_mtime_ns, place.run
    except FileNotFoundError:
        return 0, place.run


def _names(places: Iterable[RunPlace]) -> str:
    listed = [f"{place.repository}/{place.gate} {place.run}" for place in places]
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more
