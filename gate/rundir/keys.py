"""Store keys: relative paths with slashes that cannot lead out of the run directory."""

from __future__ import annotations

from gate.errors import StoreDenied

TEMPORARY = ".gate-tmp-"
"""How names of files that are still being written begin; no key has such a component, and no list shows one."""


def split(key: str) -> tuple[str, ...]:
    """The components of `key`. Raises StoreDenied for one that is empty, absolute, dotted or hidden as temporary."""
    parts = tuple(key.split("/"))
    for part in parts:
        if part in ("", ".", "..") or "\0" in part or part.startswith(TEMPORARY):
            raise StoreDenied(f"{key!r} is not a key of the run directory", hint="Keys are relative, without `..`.")
    return parts


def split_prefix(prefix: str) -> tuple[str, ...]:
    """The same for the folder that is listed; "" is the run directory itself."""
    return split(prefix.rstrip("/")) if prefix.strip("/") else ()
