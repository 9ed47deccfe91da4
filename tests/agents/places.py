"""A leg's place for an agent in tests: a workspace, an empty HOME, a clean environment, a transcript."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gate.agents.place import AgentPlace
from gate.agents.processes import row
from gate.bootstrap.redact import Redactor
from gate.bootstrap.transcript import Transcript
from gate.contracts import TurnRequest

SECRET = "sk-test-0123456789abcdef"


@dataclass(frozen=True)
class Place:
    """`agent` is what agents are given; `path` the folder of it all."""

    path: Path
    agent: AgentPlace

    @property
    def workspace(self) -> Path:
        return self.path / "workspace"

    @property
    def transcript(self) -> str:
        return (self.path / "transcript.log").read_text()


def make_place(path: Path, env: Mapping[str, str] = {}, *, staged: Path | None = None) -> Place:
    """Below `path`. `env` comes to PATH, LANG and a secret."""
    for name in ("workspace", "home", "scratch"):
        (path / name).mkdir()
    redactor = Redactor({"TOKEN": SECRET})
    agent = AgentPlace(
        cwd=str(path / "workspace"),
        home=str(path / "home"),
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TOKEN": SECRET, **env},
        transcript=Transcript(path / "transcript.log", redactor),
        redactor=redactor,
        scratch=str(path / "scratch"),
        staged=str(staged) if staged else None,
    )
    return Place(path, agent)


def request(
    prompt: str = "Go.",
    *,
    ordinal: int = 1,
    session: str | None = None,
    resume: bool = False,
    budget: float = 60.0,
    probe: float = 0.0,
) -> TurnRequest:
    """A turn; a fresh session unless one is named."""
    return TurnRequest(
        ordinal=ordinal,
        prompt=prompt,
        session=session or str(uuid.uuid4()),
        resume=resume,
        budget=budget,
        startup_probe=probe,
    )


def runs(pid: int) -> bool:
    """Does a process of that id run (and is no zombie)?"""
    return row(pid) is not None
