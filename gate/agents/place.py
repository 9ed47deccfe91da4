"""Where an agent runs, and where its output goes.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from gate.contracts import TurnRequest


class Mirror(Protocol):
    """Takes everything that a turn prints, redacts it and keeps it (`gate.bootstrap.transcript.Transcript`)."""

    async def begin(self, request: TurnRequest) -> None: ...

    async def write(self, data: bytes, channel: Literal["out", "err"] = "out") -> None: ...

    async def end(self, words: str) -> None: ...


class Redacts(Protocol):
    """Takes secrets out of a text (`gate.bootstrap.redact.Redactor`)."""

    def redact_text(self, text: str) -> str: ...


@dataclass(frozen=True, slots=True)
class AgentPlace:
    """One leg's agent in its workload. Paths are absolute."""

    cwd: str
    """The leg's workspace. It never changes: some versions find a conversation only from where it began."""
    home: str
    """The agent's own HOME; conversations lie in it."""
    env: Mapping[str, str]
    """The complete environment, secrets included; nothing is inherited beside it."""
    transcript: Mirror
    redactor: Redacts
    scratch: str
    """A private directory, memory-backed where there is one: prompts pass through it."""
    staged: str | None = None
    """`staged/agent`, where dispatch staged the command line."""
