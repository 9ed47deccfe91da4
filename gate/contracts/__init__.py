"""What drivers may ask of the world. Each contract asks only what every backend must do.

A driver awaits these and nothing else: no threads, subprocesses, signals, clocks or randomness of its own. Every
method is async. Real adapters do blocking I/O in threads with a deadline; simulated ones answer without leaving the
loop. Every contract has a conformance suite in `tests/conformance/` that all its implementations pass. Faults enter as
decorators around a contract. After a simulated kill every call raises `Killed`.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from gate.contracts.agent import Agent, TurnEnd, TurnOutcome, TurnRequest, Usage
from gate.contracts.around import Event, NewerRun, Published, Publisher, Reporter, Supersede
from gate.contracts.clock import Clock
from gate.contracts.engine import (
    Capabilities,
    EndReason,
    Engine,
    Listing,
    LogChunk,
    Phase,
    Scope,
    Workload,
    WorkloadRequest,
)
from gate.contracts.github import Comment, CommitStatus, GitHub, Place, StatusState, WorkflowRun
from gate.contracts.inside import CommandResult, Commands, LegHome, LegWorld, Scan, Signals, StopRequest
from gate.contracts.killed import Killed
from gate.contracts.legfiles import LegFiles, LegQuery, LegView
from gate.contracts.store import CancelNotes, Store

__all__ = [
    "Agent",
    "CancelNotes",
    "Capabilities",
    "Clock",
    "CommandResult",
    "Commands",
    "Comment",
    "CommitStatus",
    "EndReason",
    "Engine",
    "Event",
    "GitHub",
    "Killed",
    "LegFiles",
    "LegHome",
    "LegQuery",
    "LegView",
    "LegWorld",
    "Listing",
    "LogChunk",
    "NewerRun",
    "Phase",
    "Place",
    "Published",
    "Publisher",
    "Reporter",
    "Scan",
    "Scope",
    "Signals",
    "StatusState",
    "StopRequest",
    "Store",
    "Supersede",
    "TurnEnd",
    "TurnOutcome",
    "TurnRequest",
    "Usage",
    "WorkflowRun",
    "Workload",
    "WorkloadRequest",
]
