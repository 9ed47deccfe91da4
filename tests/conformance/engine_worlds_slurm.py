"""The Slurm engine's world for the conformance suite: a real cluster, whose GPUs can all be taken."""

from __future__ import annotations

import getpass
import subprocess
import sys
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from gate.adapters.clock import SystemClock
from gate.bootstrap.containment import Census
from gate.contracts import Clock, Engine, Phase, WorkloadRequest
from gate.documents import dump
from gate.engines.slurm import cli, submit
from gate.engines.slurm.cli import Done
from gate.engines.slurm.engine import Settings, SlurmEngine
from gate.engines.slurm.submit import Program
from gate.errors import CreateUnclear
from tests.bootstrap.supervise_harness import ASSIGNMENT, PROGRAM, REPOSITORY, wait_until
from tests.clusters.slurm import GPU_NODES, GPUS
from tests.conformance.engine_worlds import Job, Scenario, World, ended, in_phase, plain_request, scope

_TAIL = ("sh", "-c", 'exec sh "$1.sh"', "sh", "{assignment}")


class SlurmWorld:
    """Real jobs. The run directory has a per cent sign in its name, as that of a repository `a/b` has."""

    def __init__(self, path: Path) -> None:
        self.clock: Clock = SystemClock()
        self.path = path
        self.secrets = path / "home" / "secrets"
        self.requests: list[WorkloadRequest] = []
        # The controller remembers the jobs of other tests.
        self.repository = f"local/{uuid.uuid4().hex}"

    def open(self) -> SlurmEngine:
        program = Program((sys.executable, "-c", PROGRAM, "supervise"), _TAIL, grace=1.0)
        return SlurmEngine(Settings({"partition": "gpu"}, self.secrets, program))

    def request(self, job: Job) -> WorkloadRequest:
        request = plain_request(job, str(self.path / "root" / "local%2Ftest" / "g" / "runs" / "run-1"))
        request = replace(
            request,
            repository=self.repository,
            env={**request.env, "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        self.requests.append(request)
        path = Path(request.run_dir, request.assignment)
        path.parent.mkdir(parents=True, exist_ok=True)
        assignment = replace(
            ASSIGNMENT, tag=request.tag, workload=job.workload, run_dir=request.run_dir, timeout=job.timeout
        )
        path.write_bytes(dump(assignment))
        wait = "sleep 300" if job.seconds is None else f"sleep {job.seconds}"
        Path(f"{path}.sh").write_text(f"printf %s '{job.output}'\n{wait}\nexit {job.exit_code}\n", encoding="utf-8")
        return request

    async def occupy(self, engine: Engine) -> None:
        for node in range(GPU_NODES):
            holder = await engine.create(self.request(Job(gpus=GPUS, workload=f"holder-{node}")))
            await in_phase(self, engine, holder, Phase.RUNNING)

    async def unclear(self, engine: Engine, request: WorkloadRequest, *, took_effect: bool) -> None:
        """sbatch ends without an answer, after the controller took the job or before."""

        def cut(words: Sequence[str], seconds: float, given: str = "") -> Done:
            if words[0] != "sbatch":
                return cli.run(words, seconds, given)
            if took_effect:
                assert cli.run(words, seconds, given).code == 0
            return Done(1, "", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(submit, "run", cut)
            with pytest.raises(CreateUnclear):
                await engine.create(request)

    def left(self) -> list[str]:
        """Asked of squeue and of /proc."""
        names = {request.name for request in self.requests}
        shown = subprocess.run(
            ["squeue", "--noheader", f"--user={getpass.getuser()}", "--format=%i %T %j"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        jobs = [line for line in shown.splitlines() if line.split()[-1] in names]
        census = Census()
        return jobs + [str(p) for r in self.requests for p in census.workload(r.tag, r.workload)]


def run_slurm(scenario: Scenario, path: Path) -> None:
    """Run it, stop what it left, and look that squeue shows nothing of it and no secret lies about."""
    world = SlurmWorld(path)

    async def main() -> None:
        engine = world.open()
        try:
            await scenario(world, engine)
        finally:
            await stop_all(world, engine, world.requests)

    anyio.run(main)
    wait_until(lambda: not world.left(), 30.0)
    assert not world.secrets.exists() or not list(world.secrets.iterdir())


async def stop_all(world: World, engine: Engine, requests: Sequence[WorkloadRequest]) -> None:
    """Stop every workload of these requests and see each gone."""
    for request in requests:
        for workload in (await engine.list(scope(request))).workloads:
            await engine.stop(workload.id)
            await ended(world, engine, workload.id)
