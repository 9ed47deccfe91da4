"""A job in Slurm's words to a workload in gate's. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from gate.bootstrap import exits
from gate.bootstrap.supervise_files import Ended, Supervised
from gate.contracts import EndReason, Phase, Workload
from gate.engines.slurm.comment import Note
from gate.engines.slurm.identity import SlurmId
from gate.engines.slurm.jobs import Job


@dataclass(frozen=True, slots=True)
class Seen:
    """A workload's job. `doubt`: it left the queue, and this is why its end is not known."""

    id: SlurmId
    note: Note
    job: Job
    doubt: str = ""

    @property
    def phase(self) -> Phase:
        """UNKNOWN where Slurm's word is none that we know."""
        return Phase.UNKNOWN if self.doubt else phase_of(self.job)


_PENDING = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD")
_RUNNING = ("RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING")
_FAILED: dict[str, EndReason] = {
    "FAILED": "exit",
    "TIMEOUT": "timeout",
    "DEADLINE": "unschedulable",
    "OUT_OF_MEMORY": "out_of_memory",
    "NODE_FAIL": "node_lost",
    "BOOT_FAIL": "node_lost",
    "LAUNCH_FAILED": "node_lost",
    "PREEMPTED": "preempted",
}
_NEVER = (
    "BadConstraints",
    "PartitionTimeLimit",
    "PartitionNodeLimit",
    "PartitionInactive",
    "DependencyNeverSatisfied",
    "InvalidAccount",
    "InvalidQOS",
    "QOSMaxWallDurationPerJobLimit",
    "AssocMaxWallDurationPerJobLimit",
    "QOSMaxGRESPerJob",
    "AssocMaxGRESPerJob",
    "QOSMaxMemoryPerJob",
    "AssocMaxMemPerJob",
    "QOSMaxCpuPerJobLimit",
    "AssocMaxCpuPerJobLimit",
    "JobHoldMaxRequeue",
)
"""Reasons that no free node mends: somebody has to change the job or the cluster's limits."""
_WAITING = {
    "Resources": "waits for resources",
    "Priority": "waits behind jobs of higher priority",
    "JobHeldUser": "held: `scontrol release` lets it go on",
    "JobHeldAdmin": "held by an administrator",
    "ReqNodeNotAvail": "a node it asks for is not available",
    "Reservation": "waits for its reservation",
}
_BY_RECORD: dict[Ended, tuple[Phase, EndReason]] = {
    "timeout": (Phase.FAILED, "timeout"),
    "stopped": (Phase.STOPPED, "stopped"),
    "out_of_memory": (Phase.FAILED, "out_of_memory"),
}
_NO_OUTPUT = 53
"""What slurmstepd reports as a signal where it could not open the job's output."""


def phase_of(job: Job) -> Phase:
    """A job that is COMPLETING still has processes: it is not over, whatever it will have come to."""
    states = job.states
    if "COMPLETING" in states or any(state in _RUNNING for state in states):
        return Phase.RUNNING
    if any(state in _PENDING for state in states):
        return Phase.PENDING
    if "COMPLETED" in states:
        return Phase.SUCCEEDED if job.exit.shell == 0 else Phase.FAILED
    if "CANCELLED" in states:
        return Phase.STOPPED
    return Phase.FAILED if any(state in _FAILED for state in states) else Phase.UNKNOWN


def workload(seen: Seen, record: Supervised | None, position: int | None = None) -> Workload:
    """The workload as gate sees it; `record` is the supervisor's, `position` its place in the line."""
    phase, reason, message = _state(seen, record)
    job = seen.job
    code = job.exit.shell if phase.terminal and _ran(job) else None
    if "CANCELLED" in job.states or (code == 0 and phase is not Phase.SUCCEEDED):
        code = None  # what Slurm shows for those that it ended itself is 0:0, or in some versions its own signal
    return Workload(
        id=str(seen.id),
        name=job.name,
        tag=seen.note.tag,
        run=seen.note.run,
        ref=seen.note.ref,
        phase=phase,
        reason=reason,
        exit_code=code,
        message=message,
        queue_position=position if phase is Phase.PENDING else None,
        restarts=job.restarts,
        kept_until=record.kept_until
        if phase is Phase.RUNNING and record is not None and record.phase == "keeping"
        else None,
    )


def _state(seen: Seen, record: Supervised | None) -> tuple[Phase, EndReason, str]:
    job, phase = seen.job, seen.phase
    match phase:
        case Phase.PENDING:
            return phase, "unschedulable" if job.reason in _NEVER else "", _waits(job)
        case Phase.RUNNING:
            return phase, "", _runs(job, record)
        case Phase.SUCCEEDED:
            return phase, "exit", ""
        case Phase.STOPPED:
            return phase, "stopped", f"cancelled by user {job.by}" if job.by else ""
        case Phase.FAILED:
            return _failed(job, record)
        case Phase.UNKNOWN:
            return phase, "", seen.doubt or f"Slurm says {'+'.join(job.states) or 'nothing'} of it"


def _failed(job: Job, record: Supervised | None) -> tuple[Phase, EndReason, str]:
    state = next((each for each in job.states if each in _FAILED), "FAILED")
    reason = _FAILED[state]
    if reason != "exit":
        return Phase.FAILED, reason, _where(job, f"Slurm: {state}")
    if job.reason in _NEVER:
        return Phase.FAILED, "unschedulable", f"Slurm: {job.reason}"
    if job.exit.signal == _NO_OUTPUT:
        return Phase.FAILED, "exit", _where(job, "its output could not be opened: is the shared root mounted there?")
    if record is not None and record.phase == "ended" and record.exit_code == job.exit.shell:
        phase, why = _BY_RECORD.get(record.reason, (Phase.FAILED, reason))
        return phase, why, record.message
    if job.exit.code == exits.TIMED_OUT:
        return Phase.FAILED, "timeout", ""
    return Phase.FAILED, reason, ""


def _ran(job: Job) -> bool:
    """A job that never started has no exit code, only a number in its field."""
    return bool(job.nodes) and job.reason not in _NEVER


def _waits(job: Job) -> str:
    if job.reason in _NEVER:
        return f"Slurm will not start it as it is: {job.reason}"
    return _WAITING.get(job.reason.partition(",")[0], f"pending: {job.reason}" if job.reason else "")


def _runs(job: Job, record: Supervised | None) -> str:
    if "COMPLETING" in job.states:
        return _where(job, "ending")
    if "SUSPENDED" in job.states or "STOPPED" in job.states:
        return _where(job, "suspended by Slurm")
    if record is not None and record.phase == "keeping":
        return _where(job, f"held open after exit {record.exit_code}")
    return _where(job, "")


def _where(job: Job, text: str) -> str:
    return f"{text}, on {job.nodes}".removeprefix(", ") if job.nodes else text
