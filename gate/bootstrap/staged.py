"""What dispatch staged, made available to one leg.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from gate.errors import ArtifactError
from gate.plan.model import ArtifactPlan
from gate.rundir import layout

COPIED = 512 << 20
"""Bytes up to which each leg gets its own copy of the artifact; a larger one is linked to."""
CHUNK = 1 << 20


def copy(source: Path, workspace: Path, name: str) -> None:
    """Copy one staged file to its place in the workspace. Raises ArtifactError, OSError."""
    target = workspace / name
    if workspace not in target.parents or ".." in Path(name).parts:
        raise ArtifactError(f"staged file {name!r}: its place is outside the leg's workspace")
    if not source.is_file():
        raise ArtifactError(f"{source}: a file that the leg needs is not staged")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def artifact(run_dir: Path, base: Path, plan: ArtifactPlan) -> str:
    """The artifact as the leg finds it: a path in its own directory, an image reference, or "".

    Raises ArtifactError where it is not what its digest says, OSError.
    """
    if plan.kind == "none":
        return ""
    if plan.kind == "image":
        return plan.source
    source = run_dir / layout.STAGED_ARTIFACT / plan.name
    if not source.is_file():
        raise ArtifactError(f"{source}: the artifact is not staged")
    folder = base / "artifact"
    folder.mkdir()
    folder.chmod(0o755)
    target = folder / plan.name
    if source.stat().st_size > COPIED:
        if plan.size not in (0, source.stat().st_size):  # 0: by URL, known only to who fetched it
            raise ArtifactError(f"{source}: expected {plan.size} bytes, found {source.stat().st_size}")
        target.symlink_to(source)
        return str(target)
    found = _copy(source, target)
    if found != plan.digest:
        raise ArtifactError(f"{source}: expected {plan.digest}, found {found}")
    return str(target)


def _copy(source: Path, target: Path) -> str:
    digest = hashlib.sha256()
    with source.open("rb") as read, target.open("xb") as write:
        while chunk := read.read(CHUNK):
            digest.update(chunk)
            write.write(chunk)
    shutil.copymode(source, target)
    return f"sha256:{digest.hexdigest()}"
