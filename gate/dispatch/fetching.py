"""An artifact by URL, fetched once, at the runner, and held to its digest."""

from __future__ import annotations

import tempfile
from pathlib import Path

import httpx

from gate.dispatch.digests import sha256_file
from gate.dispatch.placing import make_readable, place
from gate.errors import ArtifactError

TIMEOUT = httpx.Timeout(30.0, read=120.0)


def fetch(url: str, target: Path, digest: str) -> str:
    """Fetch `url` to `target` unless it lies there; return its digest. Raises ArtifactError, OSError."""
    if target.is_file() and sha256_file(target) == digest:
        return digest
    make_readable(target.parent)
    with tempfile.NamedTemporaryFile(prefix=".gate-tmp-", dir=target.parent) as temporary:
        try:
            with httpx.stream("GET", url, timeout=TIMEOUT, follow_redirects=True) as answer:
                if answer.status_code != 200:
                    raise ArtifactError(f"{url}: HTTP {answer.status_code} instead of the artifact")
                for chunk in answer.iter_bytes():
                    temporary.write(chunk)
        except httpx.HTTPError as error:
            raise ArtifactError(f"{url}: {type(error).__name__}: {error}", hint="Nothing was launched.") from error
        temporary.flush()
        return place(Path(temporary.name), target, digest)
