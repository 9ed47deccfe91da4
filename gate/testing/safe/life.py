"""The life of workloads: queue, placing, running, the end, retries, preemption, time-out, and being forgotten."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

from gate.testing.safe.job import Job
from gate.testing.safe.pods import Pods, Start
from gate.testing.safe.switches import Switches


class Life:
    """Steps jobs along the server's clock. `secrets` finds what is mounted."""

    def __init__(self, switches: Switches, pods: Pods, secrets: Callable[[str], dict[str, bytes]]) -> None:
        self._switches = switches
        self._pods = pods
        self._secrets = secrets

    def step(self, jobs: list[Job], now: float) -> None:
        """Bring every job to `now`."""
        for job in jobs:
            if job.gone is None:
                self._one(job, jobs, now)
        self._place([each for each in jobs if each.phase == "Pending" and each.placed is None], jobs, now)

    def stop(self, job: Job, message: str, now: float) -> None:
        """End a live one from outside; the object goes at once."""
        if job.pod is not None:
            job.kept_log = job.pod.log(now)
            job.pod.kill()
        for row in job.pods:
            if row["phase"] == "Running":
                row["phase"] = "Stopped"
        job.phase, job.ended, job.gone = "Stopped", now, now
        job.condition("AdminStopped", message, now)
        job.export(now)

    def preempt(self, job: Job, now: float) -> None:
        """Back to the queue, although nothing may be retried; the script starts again from the beginning."""
        if job.pod is not None:
            job.pod.kill()
        self._requeue(job, now)

    def _requeue(self, job: Job, now: float) -> None:
        job.phase, job.placed, job.pod, job.pods = "Pending", None, None, []
        job.condition("AdminScheduling", "re-scheduled", now)
        job.export(now)

    def _one(self, job: Job, jobs: list[Job], now: float) -> None:
        if job.terminal:
            self._after(job, now)
        elif job.phase == "Running":
            self._running(job, now)
        elif self._pulled(job, now):
            self._start(job, now)

    def _pulled(self, job: Job, now: float) -> bool:
        """Is its image there? Where it never is, the phase stays Pending, and no time-out counts."""
        missing = set(job.spec["images"]) & self._switches.unpullable
        return job.placed is not None and now - job.placed >= self._switches.pull and not missing

    def _after(self, job: Job, now: float) -> None:
        if job.code_at is not None and now >= job.code_at:
            job.code_at = None
            self._code(job)
            job.export(now)
        if job.ended is not None and now - job.ended >= job.spec["ttlSecondsAfterFinished"]:
            job.gone = now
            job.export(now)

    def _place(self, waiting: list[Job], jobs: list[Job], now: float) -> None:
        used = sum(each.gpus for each in jobs if each.placed is not None and not each.terminal)
        position = 0
        for job in sorted(waiting, key=lambda one: (-one.spec["priority"], one.created)):
            if position == 0 and used + job.gpus <= self._switches.gpus and now - job.created >= self._switches.queue:
                self._dispatch(job, jobs, now)
                used += job.gpus
                continue
            position += 1
            message = "In queue - insufficient resources, no gpu available"
            if position > 1:
                message += f". Blocked by earlier {position - 1} workloads"
            if (job.message, job.position) != (message, position):
                job.message, job.position = message, position
                job.export(now)

    def _dispatch(self, job: Job, jobs: list[Job], now: float) -> None:
        job.placed, job.message, job.position = now, "", 0
        job.dispatches += 1
        succeeded = {each.id for each in jobs if each.phase == "Succeeded"}
        problem = "" if job.spec["images"] and job.spec["entryPoints"] else "the images or entryPoints are empty"
        if set(job.spec["dependencies"]) - succeeded:
            problem = "dependent workloads have not succeeded"
        if problem:
            job.phase, job.ended = "Failed", now
            job.condition("AdminFailed", problem, now)
        else:
            job.condition("AdminScheduled", "", now)
            job.condition("AdminDispatched", "", now)
        job.export(now)

    def _start(self, job: Job, now: float) -> None:
        env = {
            "WORKLOAD_ID": job.id,
            "WORKLOAD_KIND": job.spec["groupVersionKind"]["kind"],
            "WORKSPACE": job.spec["workspaceId"],
            "DISPLAY_NAME": job.spec["displayName"],
            "DISPATCH_COUNT": str(job.dispatches),
            "USER_ID": job.user,
            **job.spec["env"],
        }
        secrets = {one["id"]: self._secrets(one["id"]) for one in job.spec["secrets"]}
        entry = job.spec["entryPoints"][0]
        if job.spec["groupVersionKind"]["kind"] == "Authoring":
            entry = base64.b64encode(entry.encode()).decode()
        job.pod = self._pods.start(Start(job.id, entry, env, secrets, now))
        job.phase = "Running"
        job.started = now if job.started is None else job.started
        job.pods = [
            {
                "podId": f"{job.id}-master-0",
                "phase": "Running",
                "adminNodeName": "node-1",
                "hostIP": "10.0.0.1",
                "podIP": "10.1.0.1",
                "rank": "0",
                "groupId": -1,
                "containers": [],
            }
        ]
        job.condition("K8sRunning", "", now)
        job.export(now)

    def _running(self, job: Job, now: float) -> None:
        assert job.pod is not None
        assert job.started is not None
        code, timeout = job.pod.code(now), job.spec["timeout"]
        if code is not None:
            self._end(job, code, now)
        elif timeout and now - job.started >= timeout:
            self.stop(job, "the workload has timed out", now)

    def _end(self, job: Job, code: int, now: float) -> None:
        assert job.pod is not None
        job.kept_log = job.pod.log(now)
        job.pod.kill()  # what the script left behind goes with its container
        job.code = code
        told = {"pod": f"{job.id}-master-0", "container": {"name": "pytorch", "exitCode": code}}
        details = f", details: {json.dumps([told])}" if self._switches.codes and not self._switches.late_code else ""
        job.condition("K8sSucceeded" if code == 0 else "K8sFailed", "" if code == 0 else f"job failed{details}", now)
        if code != 0 and job.dispatches <= job.spec["maxRetry"]:
            self._requeue(job, now)
            return
        job.phase, job.ended = ("Succeeded" if code == 0 else "Failed"), now
        if self._switches.late_code:
            job.code_at = now + self._switches.late_code
        else:
            self._code(job)
        job.export(now)

    def _code(self, job: Job) -> None:
        row = job.pods[-1]
        row["phase"] = "Succeeded" if job.code == 0 else "Failed"
        row["failedMessage"] = job.why
        row["containers"] = [{"name": "pytorch", "exitCode": job.code, "message": job.why}]
