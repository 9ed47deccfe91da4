"""Which two commits a change lies between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gate.errors import ScopeError
from gate.scope.history import SHALLOW, ZERO, History


@dataclass(frozen=True, slots=True)
class Proposed:
    """A pull request, or a group of the merge queue: what `head` has that `base` has not."""

    base: str
    head: str


@dataclass(frozen=True, slots=True)
class Pushed:
    """A push to a branch. `before` is all zeros where the branch is new, and gone after a force-push."""

    before: str
    head: str
    branch: str


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody, or a clock, asked for a gate: there is no change to look at. `why`: in whose words."""

    head: str
    why: str


Occasion = Proposed | Pushed | Asked
"""Why there is a gate at all."""


@dataclass(frozen=True, slots=True)
class Span:
    """Full ids. `base` None: nothing to compare with, for the reason that `since` says."""

    base: str | None
    head: str
    since: str


def span_of(history: History, occasion: Proposed | Pushed) -> Span:
    """The commits to compare. Raises ScopeError: one is not in this clone, or the clone is shallow."""
    head = needed(history, occasion.head, "head")
    if isinstance(occasion, Proposed):
        base = needed(history, occasion.base, "base")
        return _from_fork_point(history, base, head, occasion.base)
    if ZERO.fullmatch(occasion.before):
        return _new_branch(history, head, occasion.branch)
    before = history.commit(occasion.before)
    if before is not None:
        return Span(before, head, "the commit before the push")
    if history.shallow:
        raise _shallow(history, f"the commit before the push, {occasion.before[:10]}, is not in this clone")
    return _rewritten(history, head, occasion)


def needed(history: History, name: str, what: Literal["base", "head"]) -> str:
    """The commit's full id. Raises ScopeError where this clone has no such commit."""
    found = history.commit(name)
    if found is not None:
        return found
    problem = f"the {what} {name} is not in this clone"
    if history.shallow:
        raise _shallow(history, problem)
    raise ScopeError(f"{problem} ({history.folder})", hint=f"Fetch it: git fetch origin {name}")


def _from_fork_point(history: History, base: str, head: str, name: str) -> Span:
    if history.shallow:
        raise _shallow(history, "where the change began cannot be found in a part of the history")
    found = history.merge_base(base, head)
    if found is None:
        return Span(None, head, f"{name[:10]} and {head[:10]} have no commit in common")
    return Span(found, head, f"where it left {_short(name)}")


def _new_branch(history: History, head: str, branch: str) -> Span:
    """A branch that is new starts where it left the default branch; a default branch that is new, with nothing."""
    trunk = history.default_branch()
    start = None if trunk is None else history.commit(trunk)
    if trunk is not None and start is not None and _short(trunk) != branch:
        return _from_fork_point(history, start, head, trunk)
    if history.shallow:
        raise _shallow(history, "whether this is a first commit cannot be told from a part of the history")
    return Span(None, head, f"{branch} is a new branch")


def _rewritten(history: History, head: str, push: Pushed) -> Span:
    trunk = history.default_branch()
    start = None if trunk is None else history.commit(trunk)
    if trunk is not None and start is not None and _short(trunk) != push.branch:
        return _from_fork_point(history, start, head, trunk)
    return Span(None, head, f"{push.branch} was rewritten, and {push.before[:10]}, which it was before, is gone")


def _shallow(history: History, problem: str) -> ScopeError:
    return ScopeError(f"{problem}: {history.folder} is a shallow clone", hint=SHALLOW)


def _short(name: str) -> str:
    for prefix in ("refs/remotes/origin/", "refs/heads/", "origin/"):
        name = name.removeprefix(prefix)
    return name[:10] if len(name) >= 40 and all(letter in "0123456789abcdef" for letter in name.lower()) else name
