"""Fixtures of the agents' tests."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tools.claude_cli import claude
from tests.tools.messages_api import MessagesApi


@pytest.fixture(scope="session")
def claude_program() -> Path:
    """The real CLI."""
    return claude()


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    """What the CLI talks to."""
    with MessagesApi() as server:
        yield server


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Callable[[str], int]]:
    """Reads a pid that a process wrote into `workspace/NAME`, and ends the process after the test."""
    known: list[int] = []

    def read(name: str) -> int:
        pid = int((tmp_path / "workspace" / name).read_text())
        known.append(pid)
        return pid

    yield read
    for pid in known:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
