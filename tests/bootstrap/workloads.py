"""Assignments on disk for tests that start a real bootstrap."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gate.bootstrap.containment import Census
from gate.documents import dump, load
from gate.plan import identity
from gate.plan.model import ArtifactPlan, LegPlan, Resources
from gate.rundir import layout
from gate.rundir.formats import Assignment, LegResult, Pointer

NONE = ArtifactPlan("none", "", "", "", 0)
WORKLOAD = "w"


@dataclass(frozen=True)
class Staged:
    """A run directory with one assignment."""

    run_dir: Path
    path: Path
    tag: str
    """Of this test alone: tests beside it end what carries theirs."""

    def start(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        python: tuple[str, ...] = (sys.executable, "-m", "gate"),
    ) -> subprocess.Popen[str]:
        words = command or ("bootstrap", "--assignment", str(self.path))
        return subprocess.Popen(
            [*python, *words],
            env={**os.environ, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *command: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
        process = self.start(*command, env=env)
        said, _ = process.communicate(timeout=60)
        return process.returncode, said

    def left(self) -> tuple[object, ...]:
        """Live processes of the workload."""
        return Census().workload(self.tag, WORKLOAD)

    def base(self, leg: str = "leg", number: int = 1) -> Path:
        (found,) = (self.run_dir / layout.leg_tag(leg, self.tag)).glob(f"{number}-*")
        return found

    def result(self, leg: str = "leg") -> LegResult:
        path = self.base(leg) / layout.LEG_RESULT
        return load(LegResult, path.read_bytes(), str(path))

    def pointer(self, leg: str = "leg") -> Pointer:
        path = self.base(leg) / layout.POINTER
        return load(Pointer, path.read_bytes(), str(path))


def stage(
    run_dir: Path,
    *legs: LegPlan,
    files: Mapping[str, str] | None = None,
    artifact: ArtifactPlan = NONE,
    gpus: int = 0,
) -> Staged:
    """Write an assignment of `legs` and their files below `run_dir`."""
    tag = identity.tag("o/r", "g", "1", str(run_dir), 1)
    for name, text in (files or {}).items():
        path = run_dir / layout.STAGED_FILES / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assignment = Assignment(
        gate="g",
        repository="o/r",
        run="r1",
        attempt=1,
        tag=tag,
        workload=WORKLOAD,
        run_dir=str(run_dir),
        legs=legs,
        resources=Resources(1, 0, gpus, None, False, {}),
        timeout=300,
        keep_on_fail=0,
        artifact=artifact,
        stage_agent=False,
        isolation="subreaper",
    )
    path = run_dir / layout.assignment(tag, WORKLOAD)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(dump(assignment))
    return Staged(run_dir, path, tag)
