"""What a job carries in its comment: whose it is, for every process that looks at the queue later.

A job's id may be given to another job after the controller has crashed, and its name is not unique. So each create
writes a key of its own into the comment, and a job is this workload only where id, name and key agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote

from gate.errors import EngineRefused

LONGEST = 1000
"""Slurm refuses comments of more than 1,024 bytes."""
_PREFIX = "gate/1?"
_FIELDS = ("gate", "tag", "workload", "repository", "ref", "run", "key")


@dataclass(frozen=True, slots=True)
class Note:
    """The comment, taken apart. `legs` are for people: those that did not fit are left out."""

    gate: str
    tag: str
    workload: str
    repository: str
    ref: str
    run: str
    key: str
    legs: tuple[str, ...] = ()


def encode(note: Note) -> str:
    """One line of plain ASCII, percent-encoded. Raises EngineRefused where it does not fit into a comment."""
    text = _PREFIX + "&".join(f"{name}={_quoted(getattr(note, name))}" for name in _FIELDS)
    if len(text) > LONGEST:
        raise EngineRefused(
            f"{note.workload}: its comment would have {len(text)} characters, and Slurm takes {LONGEST}: gate, "
            "repository, ref and run id are too long together",
            hint="Shorten the run id (--run) or the ref.",
        )
    for count in range(len(note.legs), 0, -1):
        full = f"{text}&legs={_list(note.legs[:count])}"
        if len(full) <= LONGEST:
            return full
    return text


def decode(text: str) -> Note | None:
    """The note in a job's comment, or None for a job that no gate created."""
    if not text.startswith(_PREFIX):
        return None
    pairs = dict(parse_qsl(text[len(_PREFIX) :], keep_blank_values=True))
    if any(name not in pairs for name in _FIELDS):
        return None
    legs = tuple(leg for leg in pairs.get("legs", "").split(",") if leg)
    return Note(**{name: pairs[name] for name in _FIELDS}, legs=legs)


def _quoted(text: str) -> str:
    return quote(text, safe="/:@")


def _list(legs: Sequence[str]) -> str:
    return ",".join(map(_quoted, legs))
