"""What an occasion costs: everything between the command line and the rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from gate.errors import ConfigError, ScopeError
from gate.plan.load import Gate
from gate.scope.asked import asked
from gate.scope.decide import decide
from gate.scope.history import History
from gate.scope.model import Scoped
from gate.scope.reading import read_change, rules_of, version_at
from gate.scope.span import Asked, Occasion, needed, span_of

Word = Literal["full", "fast", "none"]


def costs(gate: Gate, history: History, occasion: Occasion, scope: Word | None, legs: Sequence[str]) -> Scoped:
    """What `occasion` costs; `scope` and `legs` are what somebody asked for, and stand over the change.

    Raises ConfigError (a version that cannot be read), ScopeError (commits that are not there, a shallow clone),
    UsageError (legs and scopes that do not exist).
    """
    rules = rules_of(gate, history.folder)
    if isinstance(occasion, Asked) or scope is not None or legs:
        why = occasion.why if isinstance(occasion, Asked) else "asked for"
        return asked(rules, scope, legs, why, _version(gate, history, occasion.head))
    return decide(read_change(history, span_of(history, occasion), gate), rules)


def _version(gate: Gate, history: History, head: str) -> str | None:
    """The version, where it can be told: what was asked for does not depend on it."""
    try:
        return version_at(history, needed(history, head, "head"), gate)
    except (ConfigError, ScopeError):
        return None
