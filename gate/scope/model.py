"""What is known of a change, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ScopeWord = Literal["full", "fast", "subset", "none"]


@dataclass(frozen=True, slots=True)
class Versions:
    """The product's version on both sides of a change. `before` None: there was none, or none that can be read."""

    before: str | None
    after: str
    why_unknown: str = ""
    """Why there is none before, in words that go on from "no version before"."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change between two commits. `base` None: nothing to compare with, `since` says why."""

    base: str | None
    head: str
    since: str
    """What `base` is, for people: `merge base with main`, `the commit before the push`."""
    paths: tuple[str, ...]
    """Every path that came, went or differs, from the repository's top; both names of a renamed file."""
    versions: Versions


@dataclass(frozen=True, slots=True)
class Rules:
    """What gate.yaml says of scopes. `own`: globs of the gate's own files, from the repository's top."""

    own: tuple[str, ...]
    legs: tuple[str, ...]
    fast: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scoped:
    """What a change costs: the scope's word, its legs in gate.yaml's order, one sentence why, the version if known."""

    scope: ScopeWord
    legs: tuple[str, ...]
    reason: str
    version: str | None
    base: str | None = None
    head: str | None = None
    since: str = ""

    @property
    def dispatches(self) -> bool:
        """Will anything be launched?"""
        return self.scope != "none"
