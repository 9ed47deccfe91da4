"""Choosing legs by id or glob."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from gate.errors import UsageError
from gate.plan.problems import did_you_mean


def matching(pattern: str, ids: Iterable[str]) -> list[str]:
    """Ids that `pattern` is, or matches as a glob (`*`, `?`, `[…]`), in the order of `ids`."""
    return [leg for leg in ids if leg == pattern or fnmatchcase(leg, pattern)]


def select(patterns: Sequence[str], ids: Sequence[str]) -> tuple[str, ...]:
    """The legs that `patterns` (each may be several, split by commas) name, in the order of gate.yaml.

    Raises UsageError for a pattern that matches nothing; it lists the ids.
    """
    wanted = [part.strip() for pattern in patterns for part in pattern.split(",") if part.strip()]
    if not wanted:
        raise UsageError("--legs names no leg", hint=_known(ids))
    chosen: set[str] = set()
    missing: list[str] = []
    for pattern in wanted:
        found = matching(pattern, ids)
        chosen.update(found)
        if not found:
            hint = did_you_mean(pattern, ids)
            missing.append(f"no leg matches {pattern!r}" + (f" ({hint})" if hint else ""))
    if missing:
        raise UsageError("; ".join(missing), hint=_known(ids))
    return tuple(leg for leg in ids if leg in chosen)


def _known(ids: Sequence[str]) -> str:
    return f"Legs: {', '.join(ids)}"
