"""Jobs as Slurm's commands show them, in one shape whatever the version and the command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gate.documents import Json

SEPARATOR = "\x1f"
"""Between fields: no name, path or comment of ours can hold it."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How the batch script ended: a code, or the signal that ended it."""

    code: int
    signal: int

    @property
    def shell(self) -> int:
        """As a shell counts: 128 + n for signal n."""
        return 128 + self.signal if self.signal else self.code


@dataclass(frozen=True, slots=True)
class Job:
    """One job. `states` holds its base state and flags, in capitals: `CANCELLED`, `COMPLETING`."""

    id: int
    name: str
    states: tuple[str, ...]
    reason: str = ""
    exit: Exit = Exit(0, 0)
    restarts: int = 0
    priority: int = 0
    partition: str = ""
    nodes: str = ""
    folder: str = ""
    """Its working directory: the run directory."""
    comment: str = ""
    by: str = ""
    """Who cancelled it, where Slurm says: a user's number."""


FIELDS = (
    "JobID",
    "State",
    "Reason",
    "exit_code",
    "RestartCnt",
    "PriorityLong",
    "Partition",
    "NodeList",
    "WorkDir",
    "Name",
    "Comment",
)
"""Of `squeue -O`; a width that is not given is as wide as it needs."""


def from_text(line: str) -> Job | None:
    """One line of squeue with `FIELDS`; None for what is no plain job (a task of an array), which gate never makes."""
    parts = line.split(SEPARATOR)
    if len(parts) < len(FIELDS) or not parts[0].strip().isdigit():
        return None
    number, state, reason, code, restarts, priority, partition, nodes, folder, name, comment = (
        part.strip() for part in parts[: len(FIELDS)]
    )
    return Job(
        id=int(number),
        name=name,
        states=(state,),
        reason=_plain(reason),
        exit=exit_of(code),
        restarts=_number(restarts),
        priority=_number(priority),
        partition=partition,
        nodes=_plain(nodes),
        folder=folder,
        comment=_plain(comment),
    )


def from_json(job: Mapping[str, Json]) -> Job | None:
    """One entry of `squeue --json`: 22.05's plain values as 24.11's `{set, infinite, number}` and lists of states."""
    number = _number(job.get("job_id"))
    if not number:
        return None
    state = job.get("job_state")
    states = tuple(str(each) for each in state) if isinstance(state, list) else (str(state or ""),)
    comment = job.get("comment")
    if isinstance(comment, Mapping):
        comment = comment.get("job")
    return Job(
        id=number,
        name=str(job.get("name") or ""),
        states=tuple(each.upper() for each in states if each),
        reason=_plain(str(job.get("state_reason") or "")),
        exit=_exit(job.get("exit_code")),
        restarts=_number(job.get("restart_cnt")),
        priority=_number(job.get("priority")),
        partition=str(job.get("partition") or ""),
        nodes=str(job.get("nodes") or ""),
        folder=str(job.get("current_working_directory") or ""),
        comment=str(comment or ""),
    )


def exit_of(text: str) -> Exit:
    """`7:0` (code, signal), or a raw wait status as 22.05's squeue shows it: 1792 is exit code 7."""
    code, colon, number = text.partition(":")
    if colon:
        return Exit(_number(code), _number(number))
    return _waited(_number(text))


def _waited(status: int) -> Exit:
    signal = status & 0x7F
    return Exit(0 if signal else (status >> 8) & 0xFF, signal)


def _exit(value: Json) -> Exit:
    if not isinstance(value, Mapping):
        return _waited(_number(value))
    number = value.get("signal")
    signal = number.get("id", number.get("signal_id")) if isinstance(number, Mapping) else number
    return Exit(_number(value.get("return_code")), _number(signal))


def _number(value: Json) -> int:
    """A number, plain or in 24.11's `{set, infinite, number}`, or as text; 0 for what is none."""
    if isinstance(value, Mapping):
        return _number(value.get("number")) if value.get("set") is True else 0
    if isinstance(value, bool) or value is None:
        return 0
    if isinstance(value, (int, float)):
        return int(value)
    return int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]+", value) else 0


def _plain(text: str) -> str:
    return "" if text in ("None", "(null)", "None assigned", "N/A", "n/a") else text
