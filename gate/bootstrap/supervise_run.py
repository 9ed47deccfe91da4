"""One workload from its slots to its end.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from gate.bootstrap import supervise_memory
from gate.bootstrap.containment import Process, end_workload
from gate.bootstrap.containment_containers import end_containers
from gate.bootstrap.supervise_child import Child, Order, start
from gate.bootstrap.supervise_files import Survivor
from gate.bootstrap.supervise_keep import EVERY, Keeper, Reader, lapsed
from gate.bootstrap.supervise_log import say
from gate.bootstrap.supervise_outcome import Ending, outcome
from gate.bootstrap.supervise_record import Record
from gate.bootstrap.supervise_signals import Wake
from gate.bootstrap.supervise_slots import Claim
from gate.plan import identity
from gate.rundir.formats import Assignment

TICK = 2.0
"""Seconds between looks at what does not announce itself (stop request, lease, size of the log)."""
LAST_GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL for what is left when bootstrap has ended."""
END_BOUND = 60.0
"""Seconds after which what could not be ended is named as a survivor."""
_GPU_VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
"""Not ROCR_VISIBLE_DEVICES too: the two would be applied one after the other."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to supervise."""

    assignment: Assignment
    command: tuple[str, ...]
    grace: float
    """Seconds that bootstrap has to end by itself after it was asked to."""
    subreaper: bool
    """Orphans come to this process."""


class Run:
    """The workload's life. Wall times are for people and leases, CLOCK_BOOTTIME for the time-out."""

    def __init__(self, job: Job, claim: Claim | None, record: Record, wake: Wake) -> None:
        self._job = job
        self._claim = claim
        self._record = record
        self._wake = wake
        self._tag = job.assignment.tag
        self._workload = job.assignment.workload
        self._reader = Reader(Path(job.assignment.run_dir), self._tag, self._workload)
        self._deadline = 0.0
        """On CLOCK_BOOTTIME."""
        self._ending = Ending()

    def run(self) -> int:
        """To the end; returns the exit code. When it returns nothing of the workload runs, or it is named."""
        if not self._wait_for_slots():
            outcome_ = outcome(None, Ending("stopped", "stopped before it was started"), ("", 0), 0.0)
            self._record.update(exit_code=outcome_.code, reason=outcome_.reason, message=outcome_.message)
            return self._close(None)
        memory = supervise_memory.kills()
        child = self._start()
        self._watch(child)
        self._hold(child, memory)
        return self._close(child)

    # --- start ---

    def _wait_for_slots(self) -> bool:
        """False: asked to stop first."""
        while not self._stop_asked():
            if self._claim is None or self._claim.attempt():
                return True
            self._wake.wait(self._claim.beat)
        return False

    def _start(self) -> Child:
        order = Order(
            command=self._job.command,
            env=self._environment(),
            mark=identity.mark(self._tag, self._workload),
            subreaper=self._job.subreaper,
            namespace=self._job.assignment.isolation == "namespace",
        )
        child = start(order)
        self._deadline = _boot() + self._job.assignment.timeout
        for problem in child.problems:
            say(problem)
        say(
            f"{self._workload} of {self._tag}: started under {child.containment}"
            f"{'' if child.marked else ', unmarked'}, time-out {self._job.assignment.timeout:g} s"
        )
        self._record.update(
            phase="running", containment=child.containment, marked=child.marked, started=time.time(), **self._slots()
        )
        self._reader.start()
        return child

    def _slots(self) -> dict[str, tuple[int, ...]]:
        if self._claim is None:
            return {}
        return {"cpus": tuple(sorted(self._claim.cpus)), "gpus": tuple(sorted(self._claim.gpus))}

    def _environment(self) -> dict[str, str]:
        env = {**os.environ, identity.ENV_TAG: self._tag, identity.ENV_WORKLOAD: self._workload}
        if gpus := self._slots().get("gpus"):
            for name in _GPU_VARIABLES:
                if name in env:
                    say(f"{name} is set to {env[name]!r} already and stays so; its GPU slots are {gpus}")
                else:
                    env[name] = ",".join(map(str, gpus))
        return env

    # --- bootstrap runs ---

    def _watch(self, child: Child) -> None:
        """Until bootstrap has ended, by itself or not."""
        kill_at = 0.0
        while child.reap() is None:
            if not self._ending.why:
                self._ending = self._reason_to_end()
                if self._ending.why:
                    say(f"{self._ending.text}; bootstrap has {self._job.grace:g} s to end")
                    child.signal(self._ending.signal)
                    kill_at = _boot() + self._job.grace
            elif _boot() >= kill_at or len(self._wake.stops) > 1:
                # A second request shortens the grace, as a second ^C does everywhere.
                say("bootstrap did not end in time: ending everything")
                self._force(child)
                return
            self._record.tend()
            until = kill_at if self._ending.why else self._deadline
            self._wake.wait(min(TICK, until - _boot()), child.fds)

    def _reason_to_end(self) -> Ending:
        if self._stop_asked():
            interrupted = self._wake.stops[:1] == [signal.SIGINT]
            return Ending("stopped", "asked to stop", signal.SIGINT if interrupted else signal.SIGTERM)
        if _boot() >= self._deadline:
            return Ending("timeout", f"ended after its time-out of {self._job.assignment.timeout:g} s")
        if self._wake.limit:
            return Ending("timeout", "ended because the engine's own time limit for it was near")
        if lapsed(self._reader.latest, time.time()):
            return Ending("stopped", "the run is decided and its lease on this workload has ended")
        return Ending()

    def _force(self, child: Child) -> None:
        self._end_processes(child, grace=0.0)
        deadline = time.monotonic() + LAST_GRACE
        while child.reap() is None and (left := deadline - time.monotonic()) > 0:
            self._wake.wait(left, child.fds)

    # --- bootstrap has ended ---

    def _hold(self, child: Child, memory: tuple[str, int]) -> None:
        """Say what it came to, and hold a failed workload open for as long as somebody may want to look at it."""
        came_to = outcome(child.status, self._ending, memory, self._job.assignment.timeout)
        ended = time.time()
        latest = ended + max(0.0, self._deadline - _boot())
        self._record.update(ended=ended, exit_code=came_to.code, reason=came_to.reason, message=came_to.message)
        say(f"bootstrap ended: {came_to.reason} {came_to.code}" + (f": {came_to.message}" if came_to.message else ""))
        if self._ending.why:
            return
        self._reader.refresh()
        assignment = self._job.assignment
        keeper = Keeper(assignment.run, assignment.keep_on_fail, ended, failed=came_to.keep)
        while not (self._stop_asked() or self._wake.limit) and _boot() < self._deadline:
            until = min(keeper.until(self._reader.latest.lease), latest)
            if (left := until - time.time()) <= 0:
                return
            if self._record.status.kept_until != until:
                say(f"held open until {time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(until))}")
            self._record.update(phase="keeping", kept_until=until)
            child.reap()
            self._record.tend()
            self._wake.wait(min(EVERY, left))

    def _close(self, child: Child | None) -> int:
        survivors: tuple[Process, ...] = ()
        if child is not None:
            survivors = self._end_processes(child, LAST_GRACE)
            child.reap()
            for problem in end_containers(self._tag, self._workload):
                say(f"containers: {problem}")
        for survivor in survivors:
            say(f"could not be ended: {survivor}")
        if self._claim is not None:
            self._claim.release(clean=not survivors)
        self._record.update(
            phase="ended",
            kept_until=None,
            survivors=tuple(Survivor(each.pid, each.start, each.command) for each in survivors),
        )
        self._record.last_word()
        code = self._record.status.exit_code
        assert code is not None
        return code

    def _end_processes(self, child: Child, grace: float) -> tuple[Process, ...]:
        """Everything that descends from the workload or carries its mark; returns what could not be ended."""
        own = os.getpid()
        if child.containment == "namespace":
            # Process 1 last: with it the kernel ends what is left at once, without a grace.
            end_workload(self._tag, self._workload, grace=grace, bound=END_BOUND, root=own, spare=(child.pid,))
            child.close()
            grace = 0.0
        return end_workload(self._tag, self._workload, grace=grace, bound=END_BOUND, root=own)

    def _stop_asked(self) -> bool:
        return bool(self._wake.stops) or self._record.stop_requested()


def _boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)
