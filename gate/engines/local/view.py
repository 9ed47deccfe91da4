"""What the registry and /proc say of a workload, in the engine contract's words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from gate.bootstrap.containment import Census, Process, alive
from gate.bootstrap.supervise_files import LocalRequest, Supervised
from gate.bootstrap.supervise_slots import queue
from gate.contracts import EndReason, Phase, Workload
from gate.engines.local.identity import LocalId, Machine
from gate.engines.local.registry import Entry, Registry

_SHOWN = 3
CONTAINED = {"namespace": "in a pid namespace of its own", "subreaper": "its processes are followed one by one"}
"""How what a workload starts is kept together, for people."""


@dataclass(slots=True)
class Look:
    """One look at many workloads: /proc is read at most once, and only where a supervisor is dead."""

    registry: Registry
    here: Machine
    lost: set[tuple[str, int, int]]
    """Workloads known to be lost (folder, pid, start): nothing marked can come back from nothing."""
    _census: list[Census] = field(default_factory=list)
    _queue: list[tuple[str, ...]] = field(default_factory=list)

    def workload(self, entry: Entry) -> Workload | None:
        """As the contract has it; None where nothing was ever started. Raises Starting."""
        if entry.request.host != self.here.host:
            return self._foreign(entry)
        if entry.ended:
            return self._ended(entry)
        return self._unended(entry)

    def _unended(self, entry: Entry) -> Workload | None:
        if entry.request.boot != self.here.boot:
            return self._gone(entry, "the machine was restarted while it ran")
        key = (entry.path.name, *_process(entry.status))
        if key in self.lost:
            return self._gone(entry, _NO_CODE)
        if entry.held():
            return self._supervised(entry)
        # It may have ended between the two looks; whoever reads "running" and "free" must look again.
        again = self.registry.entry(entry.path.name)
        if again is None or again.status is None:
            return None
        if again.ended:
            return self._ended(again)
        return self._unsupervised(again, key)

    def alive(self, entry: Entry) -> bool:
        """Does anything of it run, or is it about to?"""
        try:
            found = self.workload(entry)
        except Starting:
            return True
        return found is not None and not found.phase.terminal

    def processes(self, entry: Entry) -> tuple[Process, ...]:
        """What carries the workload's mark or tag right now."""
        if not self._census:
            self._census.append(Census())
        return self._census[0].workload(entry.request.tag, entry.request.workload)

    def _supervised(self, entry: Entry) -> Workload:
        status = entry.status
        if status is None:
            raise Starting(entry)
        if status.phase == "pending":
            return _workload(entry.request, status, Phase.PENDING, queue_position=self._position(entry.request.ticket))
        message = ", ".join(text for text in (_level(status), status.message) if text)
        if status.phase == "keeping":
            message = f"held open after exit {status.exit_code}"
        return _workload(entry.request, status, Phase.RUNNING, message=message)

    def _unsupervised(self, entry: Entry, key: tuple[str, int, int]) -> Workload:
        processes = self.processes(entry)
        if not processes:
            self.lost.add(key)
            return self._gone(entry, _NO_CODE)
        return _workload(
            entry.request,
            entry.status,
            Phase.RUNNING,
            message=f"its supervisor was killed, {len(processes)} of its processes run on: {_named(processes)}",
        )

    def _ended(self, entry: Entry) -> Workload:
        status = entry.status
        assert status is not None
        survivors = [Process(each.pid, each.start, each.command) for each in status.survivors]
        if entry.request.boot == self.here.boot and (left := tuple(each for each in survivors if alive(each))):
            message = f"ended, but processes of it could not be ended: {_named(left)}"
            return _workload(entry.request, status, Phase.RUNNING, message=message)
        phase, reason = _END[status.reason]
        if status.exit_code == 0:
            phase, reason = Phase.SUCCEEDED, "exit"
        return _workload(entry.request, status, phase, reason=reason, message=status.message)

    def _gone(self, entry: Entry, message: str) -> Workload:
        return _workload(entry.request, entry.status, Phase.FAILED, reason="lost", message=message)

    def _foreign(self, entry: Entry) -> Workload:
        return _workload(
            entry.request,
            entry.status,
            Phase.UNKNOWN,
            message=f"it runs on {entry.request.host} and cannot be seen from here ({self.here.host})",
        )

    def _position(self, ticket: str) -> int | None:
        if not self._queue:
            self._queue.append(queue(self.registry.root))
        waiting = self._queue[0]
        return waiting.index(ticket) + 1 if ticket in waiting else None


class Starting(Exception):
    """The entry is there, and its supervisor has not said a word yet: pid and id are not known."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.request.name)
        self.entry = entry


_NO_CODE = "its supervisor is gone and left no exit code"
_END: dict[str, tuple[Phase, EndReason]] = {
    "exit": (Phase.FAILED, "exit"),
    "signal": (Phase.FAILED, "exit"),
    "bug": (Phase.FAILED, "exit"),
    "timeout": (Phase.FAILED, "timeout"),
    "out_of_memory": (Phase.FAILED, "out_of_memory"),
    "stopped": (Phase.STOPPED, "stopped"),
    "": (Phase.FAILED, "lost"),
}


def engine_id(request: LocalRequest, pid: int, start: int) -> str:
    """The id of the workload that this supervisor has."""
    return str(LocalId(request.host, request.boot, pid, start, request.name))


def starting(request: LocalRequest, supervisor: Process) -> Workload:
    """A workload whose supervisor was found in /proc and has not said a word yet."""
    found = _workload(request, None, Phase.PENDING, message="its supervisor is starting")
    return replace(found, id=engine_id(request, supervisor.pid, supervisor.start))


def _workload(
    request: LocalRequest,
    status: Supervised | None,
    phase: Phase,
    *,
    reason: EndReason = "",
    message: str = "",
    queue_position: int | None = None,
) -> Workload:
    return Workload(
        id=engine_id(request, *_process(status)),
        name=request.name,
        tag=request.tag,
        run=request.run,
        ref=request.ref,
        phase=phase,
        reason=reason,
        exit_code=status.exit_code if status is not None else None,
        message=message,
        queue_position=queue_position,
        kept_until=status.kept_until if status is not None and phase is Phase.RUNNING else None,
    )


def _process(status: Supervised | None) -> tuple[int, int]:
    return (status.pid, status.start) if status is not None else (0, 0)


def _level(status: Supervised) -> str:
    return CONTAINED.get(status.containment, status.containment)


def _named(processes: tuple[Process, ...]) -> str:
    more = f" and {len(processes) - _SHOWN} more" if len(processes) > _SHOWN else ""
    return "; ".join(str(each) for each in processes[:_SHOWN]) + more
