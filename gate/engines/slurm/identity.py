"""Ids of Slurm workloads: `JOB:NAME:KEY`. The job's number alone may be another job's after a crash."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

TAG_LENGTH = 10


@dataclass(frozen=True, slots=True)
class SlurmId:
    """A workload's id, taken apart. `key` is in the job's comment too."""

    job: int
    name: str
    key: str

    @property
    def tag(self) -> str:
        """The attempt's tag, with which the name of every workload ends."""
        return self.name[-TAG_LENGTH:]

    def __str__(self) -> str:
        return f"{self.job}:{self.name}:{self.key}"


_PATTERN = re.compile(r"(?P<job>[1-9][0-9]{0,9}):(?P<name>[a-z][a-z0-9-]*):(?P<key>[0-9a-f]{8})")


def parse(text: str) -> SlurmId | None:
    """The id, or None for something that no Slurm engine ever gave out."""
    if (found := _PATTERN.fullmatch(text)) is None:
        return None
    return SlurmId(int(found["job"]), found["name"], found["key"])


def new_key() -> str:
    """A key for one create."""
    return secrets.token_hex(4)
