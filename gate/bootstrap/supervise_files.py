"""The supervisor's files: what the local engine asked for, and what became of the workload.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from gate.documents import Document, dump

REQUEST = "request.json"
STATUS = "status.json"
LOG = "log"
LOCK = "lock"
"""Held by the engine that creates the workload and then by its supervisor, without a gap: free means dead."""
STOP = "stop"
"""Its presence asks for the end, also of a supervisor that has yet to start."""

Containment = Literal["", "namespace", "subreaper", "mark"]
"""Level that holds: nothing escapes; what descends is found; only what carries mark or tag is. "": not started."""

Ended = Literal["", "exit", "timeout", "stopped", "out_of_memory", "signal", "bug"]
"""Why bootstrap ended; "" while it has not."""


@dataclass(frozen=True, slots=True)
class LocalRequest(Document):
    """What the local engine asked for (`local/NAME/request.json`). Holds no secret's value."""

    FORMAT: ClassVar[str] = "gate.local.request"
    VERSION: ClassVar[int] = 1

    name: str
    workload: str
    tag: str
    gate: str
    repository: str
    ref: str
    run: str
    legs: tuple[str, ...]
    host: str
    boot: str
    """First eight characters of the boot id."""
    created: float
    ticket: str
    """Its place in the queue for slots; "" where it needs none."""
    cpus: int
    gpus: int
    total_cpus: int
    """Slots there are, as this request's plan says."""
    total_gpus: int
    secrets: tuple[str, ...]
    """Names of the secrets in its environment."""


@dataclass(frozen=True, slots=True)
class Survivor:
    """A process that could not be ended."""

    pid: int
    start: int
    command: str


@dataclass(frozen=True, slots=True)
class Supervised(Document):
    """What became of a workload: `local/NAME/status.json`, and `legs/.workloads/TAG/ID.json` for other engines."""

    FORMAT: ClassVar[str] = "gate.supervised"
    VERSION: ClassVar[int] = 1

    tag: str
    workload: str
    host: str
    pid: int
    """Of the supervisor; 0 and 0 where unknown."""
    start: int
    phase: Literal["pending", "running", "keeping", "ended"]
    containment: Containment = ""
    marked: bool = False
    """Its processes carry the inherited mark."""
    cpus: tuple[int, ...] = ()
    gpus: tuple[int, ...] = ()
    started: float | None = None
    """Wall time at which bootstrap was started."""
    ended: float | None = None
    """Wall time at which bootstrap ended."""
    exit_code: int | None = None
    reason: Ended = ""
    message: str = ""
    kept_until: float | None = None
    survivors: tuple[Survivor, ...] = ()


def write(path: Path, document: Document) -> None:
    """Write `document` durably and atomically, readable by everyone. Raises OSError."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        with os.fdopen(fd, "wb") as file:
            os.fchmod(fd, 0o644)  # whatever the umask: bootstrap may be root and the runner not
            file.write(dump(document))
            file.flush()
            os.fsync(fd)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
