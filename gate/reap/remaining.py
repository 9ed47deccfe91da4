"""What could not be seen gone, and how to remove it."""

from __future__ import annotations

from dataclasses import dataclass

UNLISTED = "whatever no record names"
"""Stands for workloads that nobody can name: the engine never gave a complete list in which they would be."""


@dataclass(frozen=True, slots=True)
class Remaining:
    """One workload that may still run. Never silent: named with why, and with a command that removes it."""

    workload: str
    """Plan id, or the engine's name where no entry was found, or `UNLISTED`."""
    engine_id: str | None
    """None: an intent whose create may or may not have happened."""
    why: str
    command: str


def removal(kind: str, run: str, engine_id: str | None) -> str:
    """The command that removes it: reaping again, on the host that can see it where the engine is local."""
    command = f"gate reap --run {run}"
    if kind == "local" and engine_id is not None and ":" in engine_id:
        return f"{command}   (on host {engine_id.split(':', 1)[0]})"
    return command
