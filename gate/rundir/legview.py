"""What a leg's files amount to: the part of looking at them that touches no file. Shared by all implementations."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from gate import documents
from gate.contracts import LegQuery, LegView
from gate.errors import DocumentError
from gate.machines.verdict import StateView
from gate.rundir import layout
from gate.rundir.formats import LegResult, Pointer
from gate.rundir.statefile import ABSENT, Found, counts

D = TypeVar("D", Pointer, LegResult)

MAX_DOCUMENT = 1024 * 1024
"""Bytes; pointer.json and leg.json are far shorter."""
NAMED = 5
"""How many files a sentence names."""


@dataclass(frozen=True, slots=True)
class Part(Generic[D]):
    """pointer.json or leg.json as found. `problem`: why it could not be read as ours; then `document` may be None."""

    document: D | None = None
    problem: str = ""
    foreign: bool = False
    sha256: str = ""


def part(cls: type[D], raw: bytes | None, query: LegQuery, incarnation: str, name: str) -> Part[D]:
    """Decode one of the two documents, strictly, and check whose it is."""
    if raw is None:
        return Part()
    if len(raw) > MAX_DOCUMENT:
        return Part(problem=f"{name}: longer than {MAX_DOCUMENT} bytes")
    digest = hashlib.sha256(raw).hexdigest()
    try:
        document = documents.load(cls, raw, name)
    except DocumentError as error:
        return Part(problem=error.message, sha256=digest)
    for what, found, wanted in (
        ("leg", document.leg, query.leg),
        ("tag", document.tag, query.tag),
        ("incarnation", document.incarnation, incarnation),
    ):
        if found != wanted:
            problem = f"{name}: somebody else's: its {what} is {found!r}, not {wanted!r}"
            return Part(document, problem, foreign=True, sha256=digest)
    return Part(document, sha256=digest)


def choose(
    query: LegQuery, pointer: Part[Pointer], result: Part[LegResult], find: Callable[[], Found]
) -> str | StateView:
    """Which file is the leg's state file: its path below the incarnation's directory, or why there is none.

    The session pointer names it, else leg.json does. Where neither does, the only file that counts is used: evidence
    comes first, and bootstrap may have died before it wrote either. One that is older than the task never is. `find` is
    called only if needed.
    """
    if pointer.foreign or result.foreign:
        return StateView("foreign", detail=pointer.problem if pointer.foreign else result.problem)
    for source, document in (("the session pointer", pointer.document), ("leg.json", result.document)):
        named = document.state if document is not None else None
        if named is not None:
            if counts(named, query.globs):
                return named
            return StateView("foreign", detail=f"{source} names {named}, which is no place for a state file")
    if pointer.document is None:
        return _only(find(), still_going=False)
    earlier = pointer.document.earlier
    if earlier is None:
        return StateView("absent", detail="its task has not begun")
    return _younger(earlier, find(), still_going=not _ended(pointer.document, result))


def _ended(pointer: Pointer, result: Part[LegResult]) -> bool:
    return pointer.phase == "ended" or result.document is not None


def _younger(earlier: tuple[str, ...], found: Found, *, still_going: bool) -> str | StateView:
    """What lay there before the task began is no result of it: a trial run's during set-up, or a staged file."""
    older = tuple(name for name in found.counting if name in earlier)
    left = tuple(name for name in found.counting if name not in earlier)
    if older and not left:
        return StateView("absent", detail=f"{_some(older)} lay there before the task began, and was not written since")
    return _only(replace(found, counting=left), still_going=still_going)


def _only(found: Found, *, still_going: bool) -> str | StateView:
    if len(found.counting) == 1:
        return found.counting[0]
    if found.counting:
        some = _some(found.counting)
        if still_going:
            return StateView("absent", detail=f"{some}: the session pointer names none of them yet")
        return StateView("ambiguous", detail=f"{some}: nothing says which one is the result")
    notes = []
    if found.strays:
        notes.append(f"{_some(found.strays)} lies where no state file counts")
    if found.denied:
        notes.append(f"{_some(found.denied)} may not be listed")
    if found.truncated:
        notes.append("too many files to look at them all")
    return StateView("absent", detail="; ".join(notes)) if notes else ABSENT


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def assemble(
    incarnations: tuple[str, ...], pointer: Part[Pointer], result: Part[LegResult], state: StateView, marks: object
) -> LegView:
    """The whole view. `marks` is anything whose repr differs whenever the leg advanced."""
    problem = "; ".join(p for p in (pointer.problem, result.problem) if p)
    stamp = f"{zlib.crc32(repr(marks).encode()):08x}"
    return LegView(
        incarnations, pointer.document, result.document, state, problem, stamp, pointer.sha256, result.sha256
    )


def oldest_first(names: Iterable[str]) -> tuple[str, ...]:
    """Incarnations in the order in which they were made: their names begin with a number."""
    return tuple(sorted((n for n in names if not n.startswith(".")), key=_natural))


def _natural(name: str) -> tuple[tuple[int, int | str], ...]:
    return tuple((0, int(piece)) if piece.isdigit() else (1, piece) for piece in re.split(r"(\d+)", name) if piece)


def state_path(query: LegQuery, incarnation: str, rel: str) -> str:
    """The state file's path as views and evidence show it: relative to the run directory."""
    return f"{layout.incarnation(query.leg, query.tag, incarnation)}/{rel}"
