"""What came of a played gate: everything that invariants, the timeline and the picture need. Plain values.

Times are seconds of virtual time since the first dispatch began (`clock.EPOCH` on an unskewed wall clock).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from gate.contracts import EndReason, Event, Phase
from gate.machines.verdict import StateView, Verdict
from gate.plan.model import Plan
from gate.reap.remaining import Remaining
from gate.rundir.formats import Attempt, Decision, Kept, LegResult, Pointer
from gate.simulate.scenario import Fault, Scenario, Side

Role = Literal["dispatcher", "poller", "reaper", "supervisor", "bootstrap"]


@dataclass(frozen=True, slots=True)
class Process:
    """One incarnation of a simulated process. `name` is `role-n`, or `supervisor-WORKLOAD-n` for those in workloads."""

    name: str
    role: Role
    began: float
    ended: float
    killed: bool
    exit_code: int | None
    """None: killed."""
    error: str
    """The GateError it ended with, in words; "" for none."""
    steps: tuple[str, ...]
    """The changes it made to the world (`create gate/verdicts/…`, `stop sim-3`), those that took no effect included."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a runner's process to a run directory. `effect` False: it failed, or a file was there (`create`)."""

    at: float
    process: str
    run: str
    op: Literal["create", "replace", "append", "remove"]
    key: str
    data: bytes
    effect: bool


@dataclass(frozen=True, slots=True)
class WrittenVerdict:
    """A verdict that some process tried to write."""

    at: float
    process: str
    verdict: Verdict
    effect: bool


@dataclass(frozen=True, slots=True)
class WrittenDecision:
    """A decision that some process tried to write."""

    at: float
    process: str
    decision: Decision
    effect: bool


@dataclass(frozen=True, slots=True)
class Poll:
    """One poller of an attempt."""

    process: str
    began: float
    ended: float
    exit_code: int | None
    """None: killed, or it ended with an error."""
    decision: Decision | None
    remaining: tuple[Remaining, ...]


@dataclass(frozen=True, slots=True)
class PlayedAttempt:
    """One attempt as it stands at the end of the play."""

    attempt: Attempt
    first_poll: float | None
    polls: tuple[Poll, ...]
    verdicts: tuple[WrittenVerdict, ...]
    """In the order of writing, of all processes, those without effect included."""
    decisions: tuple[WrittenDecision, ...]
    standing: Mapping[str, Verdict]
    """Leg id to the verdict on disk at the end."""
    decision: Decision | None
    kept: tuple[Kept, ...]
    """All leases on disk."""


@dataclass(frozen=True, slots=True)
class BootstrapLife:
    """One start of bootstrap in a workload."""

    incarnation: int
    began: float
    deadline: float
    """When the workload's time-out passes."""
    ended: float
    exit_code: int | None
    """None: it was killed with everything else."""
    forced: bool
    """Its supervisor had to use force: it did not return when asked."""


@dataclass(frozen=True, slots=True)
class Phased:
    """The engine's truth on a workload from `at` on."""

    at: float
    phase: Phase
    reason: EndReason


@dataclass(frozen=True, slots=True)
class PlayedWorkload:
    """One workload that was ever created. `foreign`: of another gate, ref or run, there before the play began; of those
    only `stale` ones (of an older run of this ref that nobody watches) may be stopped."""

    engine_id: str
    name: str
    workload: str
    legs: tuple[str, ...]
    tag: str
    run: str
    ref: str
    foreign: bool
    stale: bool
    created: float
    by: str
    """The process that created it."""
    timeout: float
    history: tuple[Phased, ...]
    ended: float | None
    """None: alive when the play ended."""
    running: tuple[float, ...]
    """When each start began to run."""
    bootstraps: tuple[BootstrapLife, ...]
    stops: tuple[tuple[float, str], ...]
    """When a stop of it was asked for, and by which process."""
    kept: tuple[tuple[float, float], ...]
    """From when to when its supervisor held it open after its bootstrap had ended."""


@dataclass(frozen=True, slots=True)
class StateWritten:
    """What really lay at a path of a leg's incarnation from `at` on: the truth behind all views."""

    at: float
    leg: str
    tag: str
    incarnation: str
    path: str
    """Relative to the run directory."""
    data: bytes | None
    """None: removed."""
    view: StateView
    """As an undisturbed reader would see it."""
    planted: bool
    """By an earlier run or somebody else, not by this leg's own run."""


@dataclass(frozen=True, slots=True)
class LegLife:
    """One start of one leg inside a workload."""

    leg: str
    tag: str
    incarnation: str
    began: float
    ended: float | None
    turns: tuple[PlayedTurn, ...]
    pointers: tuple[tuple[float, Pointer], ...]
    results: tuple[tuple[float, LegResult], ...]


@dataclass(frozen=True, slots=True)
class PlayedTurn:
    """One turn of an agent. `end` is TurnEnd's value, "" where it was cut off by the workload's end."""

    ordinal: int
    kind: str
    session: str
    resume: bool
    began: float
    ended: float
    budget: float
    end: str
    fault: str
    """The kind of fault that befell it; "" for none."""


@dataclass(frozen=True, slots=True)
class Blind:
    """A window in which `process` could not see the engine, or the shared root."""

    process: str
    what: Literal["engine", "root"]
    since: float
    until: float
    detail: str


@dataclass(frozen=True, slots=True)
class Kill:
    """A simulated death."""

    at: float
    process: str
    role: Role
    step: int | None
    side: Side | None
    what: str
    """The change at which it happened; "" for a kill at a time."""


@dataclass(frozen=True, slots=True)
class Struck:
    """A fault as it was resolved: it really happened, at this time, to this leg or workload ("" for none)."""

    at: float
    fault: Fault
    subject: str
    detail: str


@dataclass(frozen=True, slots=True)
class Told:
    """An event that a poller gave to its reporters. `accepted` False: the reporter failed."""

    at: float
    process: str
    event: Event
    accepted: bool


@dataclass(frozen=True, slots=True)
class Played:
    """The whole play."""

    plan: Plan
    scenario: Scenario
    seed: int
    run: str
    """The run under test; others (a newer one) are in `attempts` too."""
    ended: float
    """When everything was over, leases and clean-up included."""
    exit_codes: tuple[int, ...]
    """Of the run's jobs, one an attempt: what CI would have seen."""
    processes: tuple[Process, ...]
    attempts: tuple[PlayedAttempt, ...]
    workloads: tuple[PlayedWorkload, ...]
    legs: tuple[LegLife, ...]
    states: tuple[StateWritten, ...]
    writes: tuple[Write, ...]
    told: tuple[Told, ...]
    said: tuple[tuple[float, str, str], ...]
    """Lines that a process told people: time, process, text."""
    logs: Mapping[str, bytes]
    """Engine id to the workload's log."""
    blind: tuple[Blind, ...]
    kills: tuple[Kill, ...]
    struck: tuple[Struck, ...]
    remaining: tuple[Remaining, ...]
    """What the last process to end named as not seen gone."""
    secrets: Mapping[str, str]
    """Name to the value that the simulated world handed out."""
    files: Mapping[str, Mapping[str, bytes]]
    """Run id to every file of its directory at the end."""

    @property
    def attempt(self) -> PlayedAttempt | None:
        """The last attempt of the run under test; None where none was made."""
        own = [each for each in self.attempts if each.attempt.run == self.run]
        return own[-1] if own else None

    def texts(self) -> Iterator[tuple[str, bytes]]:
        """Everything that reached any sink, as (where, bytes): files, events, lines, logs, errors."""
        for run, files in self.files.items():
            for key, data in files.items():
                yield f"{run}/{key}", data
        for write in self.writes:
            yield f"{write.run}/{write.key} (at {write.at:.0f} s)", write.data
        for told in self.told:
            yield f"event {told.event.kind}", repr(told.event).encode()
        for _, process, text in self.said:
            yield f"{process} said", text.encode()
        for engine_id, log in self.logs.items():
            yield f"log of {engine_id}", log
        for process_ in self.processes:
            yield f"error of {process_.name}", process_.error.encode()
