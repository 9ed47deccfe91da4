"""What really happened, written down as it happens: no simulated process sees it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import trio

from gate.contracts import Event
from gate.rundir.formats import LegResult, Pointer
from gate.simulate.life import Life
from gate.simulate.played import Blind, BootstrapLife, Kill, PlayedTurn, Process, Struck, Told, Write
from gate.simulate.scenario import Fault, Side


@dataclass
class LegTrace:
    """One start of one leg, while it is played."""

    leg: str
    tag: str
    began: float
    incarnation: str = ""
    ended: float | None = None
    turns: list[PlayedTurn] = field(default_factory=list)
    pointers: list[tuple[float, Pointer]] = field(default_factory=list)
    results: list[tuple[float, LegResult]] = field(default_factory=list)


@dataclass
class WorkloadTrace:
    """What the engine itself does not know of a workload."""

    bootstraps: list[BootstrapLife] = field(default_factory=list)
    stops: list[tuple[float, str]] = field(default_factory=list)
    kept: list[tuple[float, float]] = field(default_factory=list)
    by: str = ""


@dataclass
class Truth:
    """The record of one play."""

    writes: list[Write] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    said: list[tuple[float, str, str]] = field(default_factory=list)
    blind: list[Blind] = field(default_factory=list)
    kills: list[Kill] = field(default_factory=list)
    struck: list[Struck] = field(default_factory=list)
    legs: list[LegTrace] = field(default_factory=list)
    states: list[tuple[float, str, str, str, str, bytes | None, bool]] = field(default_factory=list)
    """(at, leg, tag, incarnation, path, data, planted)."""
    processes: list[Process] = field(default_factory=list)
    workloads: dict[str, WorkloadTrace] = field(default_factory=dict)
    """By engine id."""
    creators: dict[str, str] = field(default_factory=dict)
    """Name of a workload to the process that asked for it last."""

    @staticmethod
    def now() -> float:
        """Seconds since the play began."""
        return trio.current_time()

    def workload(self, engine_id: str) -> WorkloadTrace:
        """The trace of one workload."""
        return self.workloads.setdefault(engine_id, WorkloadTrace())

    def wrote(
        self,
        process: str,
        run: str,
        op: Literal["create", "replace", "append", "remove"],
        key: str,
        data: bytes,
        effect: bool,
    ) -> None:
        """A write to a run directory."""
        self.writes.append(Write(trio.current_time(), process, run, op, key, data, effect))

    def tell(self, process: str, event: Event, accepted: bool) -> None:
        """An event went to a reporter."""
        self.told.append(Told(trio.current_time(), process, event, accepted))

    def say(self, process: str, text: str) -> None:
        """A line for people."""
        self.said.append((trio.current_time(), process, text))

    def strike(self, fault: Fault, subject: str, detail: str = "") -> None:
        """A fault has struck."""
        self.struck.append(Struck(trio.current_time(), fault, subject, detail))

    def died(self, life: Life, fault: Fault | None, step: int | None, side: Side | None, what: str) -> None:
        """A process was killed."""
        at = trio.current_time()
        self.kills.append(Kill(at, life.name, life.role, step, side, what))
        if fault is not None:
            self.strike(fault, life.name, f"{side} {what}" if side else "")
