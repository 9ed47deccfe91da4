"""Putting one file where workloads read it: whole, readable by them, and with the digest it had on the way."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from gate.dispatch.digests import sha256_file
from gate.errors import ArtifactError

CHUNK = 1 << 20


def place(source: Path, target: Path, expected: str | None = None) -> str:
    """Copy `source` to `target` and return its digest; atomic, and nothing where it lies there already.

    `expected` is the digest it must have, `sha256:<hex>`. Raises ArtifactError where it has another (nothing is left
    at `target` then), OSError.
    """
    mode = 0o755 if source.stat().st_mode & stat.S_IXUSR else 0o644
    if expected is not None and target.is_file() and sha256_file(target) == expected:
        return expected
    make_readable(target.parent)
    handle, name = tempfile.mkstemp(prefix=".gate-tmp-", dir=target.parent)
    try:
        with open(handle, "wb") as out, source.open("rb") as stream:  # noqa: PTH123 - an open descriptor
            digest = hashlib.sha256()
            while chunk := stream.read(CHUNK):
                digest.update(chunk)
                out.write(chunk)
            found = f"sha256:{digest.hexdigest()}"
            _compare(source, expected, found)
            out.flush()
            os.fchmod(handle, mode)
            os.fsync(handle)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return found


def place_bytes(data: bytes, target: Path, *, mode: int = 0o644) -> str:
    """The same for bytes that are not in a file."""
    make_readable(target.parent)
    handle, name = tempfile.mkstemp(prefix=".gate-tmp-", dir=target.parent)
    try:
        with open(handle, "wb") as out:  # noqa: PTH123 - an open descriptor
            out.write(data)
            out.flush()
            os.fchmod(handle, mode)
            os.fsync(handle)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def make_readable(folder: Path) -> None:
    """Make the folder; a workload may run as somebody else, whatever the umask here."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for one in missing:
        one.chmod(0o755)


def _compare(source: Path, expected: str | None, found: str) -> None:
    if expected is not None and found != expected:
        raise ArtifactError(
            f"{source}: expected {expected}, found {found}", hint="It changed since it was planned: plan again."
        )
