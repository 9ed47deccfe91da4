"""What one leg's driver is given inside its workload.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from gate.contracts.agent import Agent
from gate.contracts.clock import Clock
from gate.documents import Json
from gate.machines.verdict import StateView
from gate.plan.model import LegPlan
from gate.rundir.formats import LegResult, Pointer


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A finished command. `output` is the redacted, bounded tail of stdout and stderr, merged."""

    exit_code: int | None
    """None: ended by its time-out. Negative: by that signal."""
    output: str


class Commands(Protocol):
    """Running the leg's own commands (verify, prepare, the command of a command leg) in its workspace."""

    async def run(self, command: str, budget: float) -> CommandResult:
        """Run `sh -c command` to its end or its budget; its whole tree is ended then."""
        ...

    async def start(self, command: str) -> None:
        """Start the leg's one long command, detached from turns. It ends with the workload at the latest."""
        ...

    async def poll(self) -> CommandResult | None:
        """The long command's result, or None while it runs."""
        ...

    async def survivors(self) -> tuple[str, ...]:
        """Live processes of this leg that no running turn or command accounts for, as `pid command`."""
        ...

    async def end_all(self) -> tuple[str, ...]:
        """End every process of this leg; what could not be ended, as `pid command`."""
        ...


@dataclass(frozen=True, slots=True)
class Scan:
    """Liveness. `changed`: some entry's (inode, size, mtime, ctime) differs from the last look, or came or went.

    `full`: every entry was compared, from start to end of this call. A scan that could not see the tree is `blind`.
    """

    changed: bool
    full: bool
    blind: bool
    entries: int


class LegHome(Protocol):
    """One leg's own directory inside the workload: `legs/LEG/TAG/INCARNATION/`."""

    async def open(self) -> str:
        """Make this start's directory (never one that exists); return the incarnation."""
        ...

    async def equip(self) -> None:
        """Copy in artifact and staged files. Raises ArtifactError where one is not what it should be, StoreError."""
        ...

    async def idle(self, beat: float, longest: float) -> None:
        """Return when a new look at the leg is worth its cost, at the latest after `longest` seconds.

        A home that must look to find out returns every `beat` seconds; one that is told of changes waits for the next.
        """
        ...

    async def scan(self, *, full: bool) -> Scan:
        """Look for change below workspace and session: the hot set, or everything in slices when `full`."""
        ...

    async def states(self, *, fresh: bool) -> tuple[StateView, ...]:
        """One snapshot of each state file that counts; empty while there is none.

        Not `fresh`: one that has come just now may be missing, where looking for it costs much. `fresh` where what
        was seen decides something.
        """
        ...

    async def publish(self, document: Pointer | LegResult) -> None:
        """Write pointer.json or leg.json atomically, readable by the runner."""
        ...

    async def record(self, entry: Mapping[str, Json]) -> None:
        """Append to the leg's journal (turns before they start, observations)."""
        ...

    async def secret_hits(self) -> tuple[str, ...]:
        """Files below the leg root in which a secret stands, as `path: secret name`."""
        ...


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Somebody asked this process to end: signal number and when its supervisor will use force."""

    signal: int
    grace: float


class Signals(Protocol):
    """Requests to end, from outside."""

    async def wait(self) -> StopRequest:
        """Return at the first request; at once where one has already come."""
        ...


class LegWorld(Protocol):
    """Everything one leg's driver is given."""

    @property
    def leg(self) -> LegPlan: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def home(self) -> LegHome: ...
    @property
    def commands(self) -> Commands: ...
    @property
    def agent(self) -> Agent | None: ...
    @property
    def signals(self) -> Signals: ...
