"""Secrets on their way into a job: a file that only its owner may read, on storage that is not the shared root.

Slurm itself has no place for them: the environment of sbatch and the batch script are shown to who asks. The job takes
its file away when it ends; what a killed job or an unanswered create leaves is taken away by whoever lists next.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from gate.engines.slurm.script import assignments
from gate.errors import ConfigError, EngineRefused

FORGOTTEN = 3600.0
"""Seconds after which a file whose job nobody knows is one that no create will claim any more."""
_FILE = re.compile(r"(?P<name>[a-z][a-z0-9-]*)\.(?P<key>[0-9a-f]{8})")

Claim = tuple[str, str]
"""Name and key of a workload."""


def check_place(folder: Path, root: Path) -> None:
    """Raises ConfigError for a folder below the shared root: everybody who reads results could read it."""
    real, shared = folder.resolve(), root.resolve()
    if real == shared or shared in real.parents:
        raise ConfigError(
            f"engine slurm: secrets_dir {folder} is below the shared root {root}",
            hint="Name a folder in your home or on the nodes' own disks, such as ~/.gate-secrets.",
        )


@dataclass(frozen=True, slots=True)
class SecretFiles:
    """The files in `folder`, `NAME.KEY` each."""

    folder: Path

    def path(self, claim: Claim) -> Path:
        """Where this workload's secrets lie."""
        return self.folder / ".".join(claim)

    def write(self, claim: Claim, secrets: Mapping[str, str]) -> Path:
        """Put them there, readable by this user alone. Raises EngineRefused."""
        path = self.path(claim)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                file.write(assignments(secrets))
                file.flush()
                os.fsync(fd)
        except OSError as error:
            raise EngineRefused(
                f"the secrets of {claim[0]} cannot be written to {self.folder}: {error.strerror}",
                hint="Name another folder: `engine: {kind: slurm, secrets_dir: ~/.gate-secrets}`.",
            ) from error
        return path

    def remove(self, claim: Claim) -> None:
        """Take them away; nothing to do where they are gone."""
        self.path(claim).unlink(missing_ok=True)

    def sweep(self, live: Collection[Claim], ended: Collection[Claim]) -> None:
        """Take away the files of ended workloads, and old ones whose workload is not known at all."""
        if not self.folder.is_dir():
            return
        for path in self.folder.iterdir():
            if (found := _FILE.fullmatch(path.name)) is None:
                continue
            claim = (found["name"], found["key"])
            if claim in ended or (claim not in live and _age(path) > FORGOTTEN):
                path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
