"""A coding agent's command line, one bounded turn at a time.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class TurnEnd(str, Enum):
    """How a turn of an agent ended. Everything but COMPLETED is a warning, never a failure of the leg."""

    COMPLETED = "completed"
    EMPTY = "empty"  # exit 0 and nothing said
    FAILED = "failed"  # the agent says so (API error, max turns, refusal)
    TIMED_OUT = "timed_out"
    NO_START = "no_start"  # the start-up probe saw no byte
    SESSION_LOST = "session_lost"  # resume: no such conversation
    SESSION_USED = "session_used"  # start: the id is taken
    KILLED = "killed"  # ended by a signal that was not ours
    UNAVAILABLE = "unavailable"  # cannot be executed at all


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One bounded turn. `resume` continues `session`, else it is started under that id (a UUID)."""

    ordinal: int
    prompt: str
    session: str
    resume: bool
    budget: float
    """Seconds after which the turn is ended with everything that it did not detach."""
    startup_probe: float
    """Seconds until the first byte of output; 0 switches the probe off."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one turn."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """What a turn came to. `cost_usd` is of this turn alone, None where unknown."""

    end: TurnEnd
    text: str
    """The agent's last result text."""
    detail: str
    """Why it did not complete, in one redacted sentence; "" where it did."""
    session: str | None
    """The session id the agent reports."""
    exit_code: int | None
    usage: Usage | None
    cost_usd: float | None


class Agent(Protocol):
    """A coding agent's command line, driven one bounded turn at a time."""

    @property
    def kind(self) -> str: ...

    async def version(self) -> str:
        """What the installed agent calls itself. Raises AgentError: missing, not executable, not the pinned version."""
        ...

    async def turn(self, request: TurnRequest) -> TurnOutcome:
        """Run one turn to its end or its budget. Never raises for a turn that went badly.

        Cancelling the call ends the turn and everything it did not detach, as running out of budget does.
        """
        ...
