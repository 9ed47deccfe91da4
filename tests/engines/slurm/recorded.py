"""What Slurm's commands printed, and jobs to play with."""

from __future__ import annotations

from pathlib import Path

from gate.engines.slurm.comment import Note, encode
from gate.engines.slurm.identity import SlurmId
from gate.engines.slurm.jobs import Exit, Job
from gate.engines.slurm.view import Seen

DATA = Path(__file__).parent / "data"
NOTE = Note("g", "abcdefghij", "w", "local/test", "refs/heads/main", "run-1", "0123abcd", ("a",))
NAME = "g-w-abcdefghij"


def recorded(name: str) -> str:
    """One file of the data folder."""
    return (DATA / name).read_text(encoding="utf-8")


def job(*states: str, number: int = 12, reason: str = "", code: int = 0, signal: int = 0, note: Note = NOTE) -> Job:
    """A job on a node."""
    return Job(
        id=number,
        name=NAME,
        states=states,
        reason=reason,
        exit=Exit(code, signal),
        partition="cpu",
        nodes="" if states == ("PENDING",) else "n3",
        folder="/root/r/g/runs/run-1",
        comment=encode(note),
    )


def seen(one: Job, note: Note = NOTE) -> Seen:
    """The same as the engine knows it."""
    return Seen(SlurmId(one.id, one.name, note.key), note, one)
