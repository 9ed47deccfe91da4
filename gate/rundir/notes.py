"""What the note of a workload's entry says about a create that did not lead to a workload."""

from __future__ import annotations

from typing import Literal

from gate.rundir.formats import WorkloadEntry

REFUSED = "refused: "
"""The engine said no: nothing was created."""
UNCLEAR = "unclear: "
"""Nobody knows whether it was created, and it is never created again blindly."""

Problem = Literal["", "refused", "unclear"]


def create_problem(entry: WorkloadEntry) -> tuple[Problem, str]:
    """What dispatch could not do, and why in words; ("", "") where the workload was created or still may be."""
    if entry.engine_id is None and entry.note.startswith(REFUSED):
        return "refused", entry.note.removeprefix(REFUSED)
    if entry.engine_id is None and entry.note.startswith(UNCLEAR):
        return "unclear", entry.note.removeprefix(UNCLEAR)
    return "", ""


def may_live(entry: WorkloadEntry) -> bool:
    """False where it was seen gone, or the engine refused to create it: then nothing of it can run."""
    return entry.stage != "seen_gone" and create_problem(entry)[0] != "refused"
