"""`sha256:<hex>`, as plans and manifests write it."""

from __future__ import annotations

import hashlib
from pathlib import Path


def sha256(raw: bytes) -> str:
    """The digest of these bytes."""
    return "sha256:" + hashlib.sha256(raw).hexdigest()


def sha256_file(path: Path) -> str:
    """The digest of a file's bytes. Raises OSError."""
    with path.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()
