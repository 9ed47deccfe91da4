"""What a change costs. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from gate.scope.globs import matches
from gate.scope.model import Change, Rules, Scoped, ScopeWord

SHOWN = 3
"""Files that a sentence names."""


def decide(change: Change, rules: Rules) -> Scoped:
    """A new version needs every leg, a change of the gate itself the fast ones, anything else none.

    What cannot be compared needs every leg: "nothing to decide" is green, and is said only of what was looked at.
    """
    scope, reason = _decided(change, rules)
    legs = {"full": rules.legs, "fast": rules.fast}.get(scope, ())
    return Scoped(scope, legs, reason, change.versions.after, change.base, change.head, change.since)


def _decided(change: Change, rules: Rules) -> tuple[ScopeWord, str]:
    versions = change.versions
    own = [path for path in change.paths if any(matches(glob, path) for glob in rules.own)]
    if change.base is None:
        return "full", f"there is nothing to compare with: {change.since}"
    if versions.before != versions.after:
        changed = f"the version changed from {versions.before} to {versions.after}"
        return "full", changed if versions.before is not None else f"version {versions.after}; {versions.why_unknown}"
    if own and rules.fast:
        return "fast", f"the gate's own files changed: {named(own)}"
    if own:
        return "full", f"the gate's own files changed ({named(own)}), and scope.fast names no legs for that"
    return "none", f"{_count(len(change.paths))}; the version stays {versions.after}"


def _count(changed: int) -> str:
    if not changed:
        return "nothing changed"
    return f"{changed} file{'' if changed == 1 else 's'} changed, none of the gate's own"


def named(paths: Sequence[str]) -> str:
    """The first few, and how many more."""
    more = len(paths) - SHOWN
    return ", ".join(paths[:SHOWN]) + (f" and {more} more" if more > 0 else "")
