"""Workloads of the simulated engine: what each goes through, and where it stands at a time."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

import anyio

from gate.contracts import EndReason, Phase, Workload, WorkloadRequest
from gate.simulate.legworld import SimSignals


@dataclass(frozen=True, slots=True)
class SimProcess:
    """What a workload's function is given."""

    request: WorkloadRequest
    signals: SimSignals
    log: bytearray
    restarts: int
    """How often the workload was started before."""
    id: str = ""
    deaths: list[Callable[[], None]] = field(default_factory=list)
    """Called when force is used, before anything is cancelled: a kill is not a cancel."""


Process = Callable[[SimProcess], Awaitable[int]]
"""A workload's life; returns its exit code. It is cancelled when its grace or its time-out is over."""


@dataclass(frozen=True, slots=True)
class Course:
    """What one workload goes through, in seconds. `run` None: until it is stopped or times out."""

    queue: float = 0.0
    run: float | None = None
    exit_code: int = 0
    reason: EndReason = "exit"
    output: bytes = b""
    process: Process | None = None
    """Instead of `run` and `exit_code`."""
    create: Literal["answered", "refused", "unclear", "unclear_lost", "twice"] = "answered"
    """`unclear`: it was created, and the answer is lost; `unclear_lost`: so is the request. `twice`: it was sent twice
    on its way, and there are two."""
    create_time: float = 0.0
    stop_time: float = 0.0
    """From the stop to the end, without a process."""
    grace: float = 10.0
    """From the stop or the time-out to force, with one."""
    remembered: float = math.inf
    """From its end until the engine forgets it."""
    waits_for: EndReason = ""
    waits: str = ""
    """What the engine says of it while it is Pending."""


@dataclass(frozen=True, slots=True)
class End:
    at: float
    phase: Phase
    reason: EndReason
    code: int | None


ENDLESS = End(math.inf, Phase.UNKNOWN, "", None)


@dataclass(frozen=True, slots=True)
class Known:
    """The truth about one workload, forgotten ones too. `end` None: it is alive."""

    id: str
    request: WorkloadRequest
    created: float
    history: tuple[tuple[float, Phase, EndReason], ...]
    end: float | None


@dataclass(slots=True)
class Item:
    id: str
    request: WorkloadRequest
    course: Course
    created: float
    starts: float
    end: End
    log: bytearray
    restarts: int = 0
    signals: SimSignals = field(default_factory=SimSignals)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    asked: Literal["", "stopped", "timeout"] = ""
    deaths: list[Callable[[], None]] = field(default_factory=list)
    past: list[tuple[float, Phase, EndReason]] = field(default_factory=list)
    """Phases of earlier starts."""
    vanished: float | None = None
    shown: Workload | None = None
    """As it was shown last: the same object while nothing changes, which those who compare are glad of."""

    def kill(self) -> None:
        """End everything of it with force."""
        for death in self.deaths:
            death()
        self.scope.cancel()

    def known(self, now: float) -> Known:
        history = [*self.past]
        if not history or history[-1][1] is not Phase.PENDING:
            history.append((self.created, Phase.PENDING, ""))
        over = self.end.at if self.vanished is None else self.vanished
        if self.starts < min(over, now):
            history.append((self.starts, Phase.RUNNING, ""))
        if over > now:
            return Known(self.id, self.request, self.created, tuple(history), None)
        end = (over, Phase.UNKNOWN, "") if self.vanished is not None else (over, self.end.phase, self.end.reason)
        return Known(self.id, self.request, self.created, (*history, end), over)  # type: ignore[arg-type]

    def phase(self, now: float) -> Phase:
        if now >= self.end.at:
            return self.end.phase
        return Phase.RUNNING if now >= self.starts else Phase.PENDING
