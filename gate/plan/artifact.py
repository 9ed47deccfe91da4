"""The product under test: found, hashed, named."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from gate.errors import ArtifactError
from gate.plan.config import NO_ARTIFACT, Artifact
from gate.plan.model import ArtifactPlan

_WHEEL = re.compile(
    r"(?P<name>[A-Za-z0-9_.]+)-(?P<version>[A-Za-z0-9_.!+]+)(?:-[0-9][A-Za-z0-9_.]*)?(?:-[^-]+){3}\.whl"
)
_CHUNK = 1 << 20


def find_artifact(config: Artifact, folder: Path) -> ArtifactPlan:
    """`config`, resolved; a glob is relative to `folder`. Size 0 where it is not known before it is fetched.

    Raises ArtifactError: no file, more than one, unreadable, or not the digest that was given.
    """
    if config.url is not None and config.digest is not None:
        name = Path(urlsplit(config.url).path).name or "artifact"
        return ArtifactPlan("url", config.url, name, config.digest, 0)
    if config.image is not None and config.digest is not None:
        name = config.image.partition("@")[0]
        return ArtifactPlan("image", f"{name}@{config.digest}", name, config.digest, 0)
    if config.file == NO_ARTIFACT or config.file is None:
        return ArtifactPlan("none", "", "", "", 0)
    path = _one_file(config.file, folder)
    digest, size = sha256_of(path)
    if config.digest not in (None, digest):
        raise ArtifactError(
            f"{path}: expected {config.digest}, found {digest}", hint="It is not the file that was meant."
        )
    return ArtifactPlan("file", str(path), path.name, digest, size)


def _one_file(pattern: str, folder: Path) -> Path:
    base = Path(pattern).expanduser()
    if base.is_absolute():
        found = sorted(Path(base.anchor).glob(str(base.relative_to(base.anchor))))
    else:
        found = sorted(folder.glob(str(base)))
    files = [path for path in found if path.is_file()]
    if not files:
        also = f" (only {found[0].name}, which is no file)" if found else ""
        raise ArtifactError(f"artifact: no file matches {pattern!r} below {folder}{also}", hint="Build it first.")
    if len(files) > 1:
        names = ", ".join(path.name for path in files[:10])
        hint = "Remove the stale ones, or write a narrower pattern: a gate judges exactly one."
        raise ArtifactError(f"artifact: {len(files)} files match {pattern!r} below {folder}: {names}", hint=hint)
    # `..` is folded by name: the artifact is what the path says, also where a folder of it is a link.
    return Path(os.path.normpath(files[0].absolute()))


def sha256_of(path: Path) -> tuple[str, int]:
    """`sha256:<hex>` and size of a file, read in chunks. Raises ArtifactError where it cannot be read."""
    digest, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                size += len(chunk)
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read: {error.strerror}") from None
    return f"sha256:{digest.hexdigest()}", size


def wheel_version(name: str) -> str | None:
    """The version in a wheel's file name; None where it is no wheel."""
    match = _WHEEL.fullmatch(name)
    return match["version"] if match else None
