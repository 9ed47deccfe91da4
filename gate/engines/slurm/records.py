"""What the supervisor left on the shared root about its workload, and the job's log beside it.

Slurm knows exit codes; only the supervisor knows why bootstrap ended, and that it holds a failed workload open.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gate.bootstrap.supervise_files import Supervised
from gate.documents import load
from gate.engines.slurm.comment import Note
from gate.engines.slurm.jobs import Job
from gate.errors import DocumentError
from gate.rundir import layout

Signature = tuple[int, int, int]


def record_path(folder: str, note: Note) -> Path:
    """Where the supervisor of this workload writes."""
    return Path(folder, layout.supervised(note.tag, note.workload))


def log_path(folder: str, note: Note, job: int | str) -> Path:
    """The job's output; `job` may be sbatch's placeholder."""
    return record_path(folder, note).with_suffix(f".{job}.log")


@dataclass(frozen=True, slots=True)
class _Read:
    signature: Signature
    record: Supervised | None


class Records:
    """Supervisors' records, read again only where the file is another one. For one thread at a time."""

    def __init__(self) -> None:
        self._read: dict[Path, _Read] = {}

    def of(self, job: Job, note: Note) -> Supervised | None:
        """The record, or None where there is none yet, or none that can be read: it only adds to what Slurm says."""
        if not job.folder.startswith("/"):
            return None
        path = record_path(job.folder, note)
        try:
            stat = path.stat()
            signature = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
            known = self._read.get(path)
            if known is None or known.signature != signature:
                known = self._read[path] = _Read(signature, _parse(path))
        except OSError:
            return None
        return known.record


def _parse(path: Path) -> Supervised | None:
    try:
        return load(Supervised, path.read_bytes(), str(path))
    except DocumentError:
        return None
