"""Faults in what people write: where, what was found, what would be right. Collected, and raised all at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gate.errors import ConfigError, GateError, PromptError


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One fault. `line` and `column` count from 1; `path` is dotted (`legs.sort.budget`), "" for the whole file."""

    file: str
    line: int
    column: int
    path: str
    found: str
    expected: str
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" + (f": {self.path}" if self.path else "")
        return f"{where}: found {self.found}; expected {self.expected}" + (f" ({self.hint})" if self.hint else "")


class Faults(ConfigError):
    """All faults of a file at once."""

    def __init__(self, problems: Sequence[Problem], *, hint: str = "") -> None:
        super().__init__(listed(problems), hint=hint)
        self.problems = tuple(problems)


class PromptFaults(PromptError):
    """All faults of all prompts at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(listed(problems))
        self.problems = tuple(problems)


def listed(problems: Sequence[Problem]) -> str:
    """One problem as one line; several under a headline, in the order of the file."""
    if len(problems) == 1:
        return str(problems[0])
    return "\n".join([f"{len(problems)} faults:", *(f"  {problem}" for problem in problems)])


def unique(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sorted by place; a fault that many legs of a matrix share is told once."""
    return tuple(sorted(set(problems)))


def did_you_mean(found: str, known: Iterable[str]) -> str:
    """`did you mean 'budget'?`, or "" where nothing is close."""
    close = difflib.get_close_matches(found, list(known), n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else ""


def one_of(names: Iterable[str], limit: int = 40) -> str:
    """`one of a, b, c`, cut after `limit` names."""
    every = list(names)
    more = f" and {len(every) - limit} more" if len(every) > limit else ""
    return f"one of {', '.join(every[:limit])}{more}" if every else "none, for there are none"


def raise_all(errors: Sequence[GateError]) -> None:
    """Nothing for no error; the one error itself; several as one ConfigError that holds every message."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ConfigError("\n".join(str(error) for error in errors))
