"""The SaFE engine's world for the conformance suite: the fake server over a real socket, really running its pods."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import anyio

from gate.adapters.clock import SystemClock
from gate.contracts import Clock, Engine, Phase, WorkloadRequest
from gate.documents import Json, dump
from gate.engines.safe.engine import SafeEngine
from gate.engines.safe.http import Api
from gate.engines.safe.parameters import parameters
from gate.errors import CreateUnclear
from gate.plan import identity
from gate.rundir import layout
from gate.testing.safe.app import Safe
from gate.testing.safe.pods import RealPods, processes
from gate.testing.safe.serve import served
from gate.testing.safe.switches import KEY, Fault, Switches, What
from tests.bootstrap.supervise_harness import ASSIGNMENT, REPOSITORY
from tests.conformance.engine_worlds import Job, Scenario, in_phase, plain_request

LAG = 0.15
PROGRAM = """
import sys
from gate.bootstrap.supervise import main
split = sys.argv.index("--")
assignment = sys.argv[-1]
sys.exit(main([*sys.argv[2:split], "--grace", "1", "--", "sh", "-c", 'exec sh "$1.sh"', "sh", assignment]))
"""
"""Stands in for gate.pyz: the real supervisor, with a shell script as bootstrap."""


def engine_at(url: str, **given: Json) -> SafeEngine:
    asked = {"url": url, "workspace": "ws", "image": "img", "python": sys.executable, "list_lag": "400ms"}
    found = parameters({**asked, **given})
    return SafeEngine(found, Api(found, KEY))


class SafeWorld:
    """Lists lag a little, as the real ones do."""

    def __init__(self, path: Path, safe: Safe, url: str) -> None:
        self.clock: Clock = SystemClock()
        self.path = path
        self.safe = safe
        self.url = url
        self.opened: list[SafeEngine] = []

    def open(self) -> SafeEngine:
        self.opened.append(engine_at(self.url))
        return self.opened[-1]

    def request(self, job: Job) -> WorkloadRequest:
        request = plain_request(job, str(self.path / "run"))
        resources = replace(request.resources, cpus=1, memory=1 << 30)
        env = {**request.env, "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}
        name = identity.workload_name("g", job.workload, request.tag, 44)
        request = replace(request, name=name, resources=resources, env=env)
        path = Path(request.run_dir, request.assignment)
        path.parent.mkdir(parents=True, exist_ok=True)
        pyz = Path(request.run_dir, layout.STAGED_PYZ)
        pyz.parent.mkdir(parents=True, exist_ok=True)
        pyz.write_text(PROGRAM, encoding="utf-8")
        assignment = replace(
            ASSIGNMENT, tag=request.tag, workload=job.workload, run_dir=request.run_dir, timeout=job.timeout
        )
        path.write_bytes(dump(assignment))
        wait = "sleep 300" if job.seconds is None else f"sleep {job.seconds}"
        Path(f"{path}.sh").write_text(f"printf %s '{job.output}'\n{wait}\nexit {job.exit_code}\n", encoding="utf-8")
        return request

    async def occupy(self, engine: Engine) -> None:
        created = await engine.create(self.request(Job(gpus=1, workload="holder")))
        await in_phase(self, engine, created, Phase.RUNNING)

    async def unclear(self, engine: Engine, request: WorkloadRequest, *, took_effect: bool) -> None:
        what: What = "reset_after" if took_effect else "reset"
        self.safe.fail(Fault(what, "POST", "/api/v1/workloads"))
        try:
            await engine.create(request)
        except CreateUnclear:
            return
        raise AssertionError("the create was answered")

    def left(self) -> list[str]:
        return [f"{each.pid} of {id_}" for id_ in self.safe.jobs for each in processes(id_)]


def run_safe(scenario: Scenario, path: Path) -> None:
    """Run it, stop what the server lists as alive, and see that neither it nor this machine has anything left."""
    safe = Safe(Switches(gpus=1, lag=LAG), RealPods(path / "pods"))
    with served(safe) as url:
        world = SafeWorld(path, safe, url)

        async def main() -> None:
            engine = world.open()
            try:
                await scenario(world, engine)
            finally:
                stopper = world.open()
                for id_ in safe.live():
                    await stopper.stop(id_)
                for each in world.opened:
                    await each.aclose()

        anyio.run(main)
        assert safe.live() == []
        assert world.left() == []
