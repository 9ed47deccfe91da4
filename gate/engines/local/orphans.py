"""Workloads whose entry in the registry is gone or cannot be read: what of them runs, by their id and /proc alone.

An entry may be removed by hand or torn by a full disk while its workload runs on: that is "running", never "vanished".
"""

from __future__ import annotations

import signal
from collections.abc import Collection
from dataclasses import dataclass

from gate.bootstrap import containment_process as proc
from gate.bootstrap.containment import Census, Process, alive, end_workload, send
from gate.bootstrap.containment_containers import end_containers
from gate.contracts import EndReason, Phase, Workload
from gate.engines.local.identity import LocalId


@dataclass(frozen=True, slots=True)
class Orphan:
    """What runs of it: its supervisor, or else processes with its tag, by the plan id of their workload."""

    id: LocalId
    supervisor: Process | None
    processes: dict[str, tuple[Process, ...]]

    def workload(self, why: str) -> Workload:
        """As the contract has it; `why` says what is wrong with its entry."""
        count = sum(map(len, self.processes.values()))
        what = f"its supervisor {self.supervisor.pid}" if self.supervisor else f"{count} of its processes"
        return _workload(self.id, Phase.RUNNING, f"{why}; {what} runs on")

    def stop(self, *, grace: float, bound: float) -> None:
        """Ask its supervisor to end it, or end what is left."""
        if self.supervisor is not None:
            send(self.supervisor, signal.SIGTERM)
            return
        for workload in self.processes:
            end_workload(self.id.tag, workload, grace=grace, bound=bound)
            end_containers(self.id.tag, workload)


def find(wanted: LocalId, known: Collection[str]) -> Orphan | None:
    """What runs of `wanted`, which began since this boot; `known`: workloads of its tag that have an entry."""
    supervisor = Process(wanted.pid, wanted.start, "")
    if alive(supervisor) and _supervises(wanted):
        return Orphan(wanted, supervisor, {})
    tagged = Census().workloads(wanted.tag)
    left = {workload: found for workload, found in tagged.items() if workload not in known}
    return Orphan(wanted, None, left) if left else None


def _supervises(wanted: LocalId) -> bool:
    """Is that process the supervisor of a workload of this name?"""
    words = proc.read(f"/proc/{wanted.pid}/cmdline").split(b"\0")
    return b"--registry" in words and any(word.endswith(f"/{wanted.name}".encode()) for word in words)


def lost(wanted: LocalId, why: str) -> Workload:
    """Nothing of it runs, and its entry cannot say how it ended."""
    return _workload(wanted, Phase.FAILED, why, reason="lost")


def _workload(wanted: LocalId, phase: Phase, message: str, *, reason: EndReason = "") -> Workload:
    return Workload(
        id=str(wanted),
        name=wanted.name,
        tag=wanted.tag,
        run="",
        ref="",
        phase=phase,
        reason=reason,
        exit_code=None,
        message=message,
        queue_position=None,
        kept_until=None,
    )
