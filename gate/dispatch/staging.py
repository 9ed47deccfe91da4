"""Staging on a real file system: everything that workloads read, under `staged/`."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from gate.adapters.threads import Lane
from gate.bootstrap.pack import pack
from gate.dispatch.agentcli import stage_agent
from gate.dispatch.digests import sha256_file
from gate.dispatch.placing import make_readable, place, place_bytes
from gate.dispatch.world import Staged
from gate.errors import ArtifactError, StoreError, StoreFull, StoreUnavailable
from gate.plan.model import LegPlan, Plan
from gate.rundir import layout

T = TypeVar("T")

DEADLINE = 1800.0
"""Seconds for all of it: an artifact of some gigabytes over a slow share."""
RESERVE_SIZE = 1 << 20


@dataclass
class FileStaging:
    """Stages into `run_dir`. `origin` says whose artifact it is where an earlier run staged it."""

    run_dir: Path
    origin: Mapping[str, str] = field(default_factory=dict)
    lane: Lane = field(default_factory=lambda: Lane("staging", limit=1))

    async def stage(self, plan: Plan) -> Staged:
        return await self._run("stage", lambda: self._stage(plan))

    async def verify(self, files: Mapping[str, str]) -> None:
        await self._run("verify", lambda: self._verify(files))

    async def _run(self, what: str, work: Callable[[], T]) -> T:
        try:
            return await self.lane.call(DEADLINE, work)
        except TimeoutError as error:
            raise StoreUnavailable(f"cannot {what} under {self.run_dir}: no answer within {DEADLINE:g} s") from error
        except OSError as error:
            kind = StoreFull if error.errno in (28, 122) else StoreError
            raise kind(
                f"cannot {what} under {self.run_dir}: {error.strerror or error}"
                + (f": {error.filename}" if error.filename else "")
            ) from error

    # --- blocking, in a thread -----------------------------------------------------------------------

    def _stage(self, plan: Plan) -> Staged:
        staged = self.run_dir / layout.STAGED
        files = self._artifact(plan)
        base = Path(plan.config).parent
        for name in sorted({name for leg in plan.legs for name in leg.files}):
            source = base / name
            if not source.is_file():
                raise ArtifactError(
                    f"{source}: a file that a leg needs is not there", hint="Was it moved since `gate plan`?"
                )
            files[f"files/{name}"] = place(source, self.run_dir / layout.STAGED_FILES / name)
        for leg in plan.legs:
            for name, text in _texts(leg).items():
                files[f"prompts/{name}"] = place_bytes(text.encode(), staged / "prompts" / name)
        pyz = self.run_dir / layout.STAGED_PYZ
        files[pyz.relative_to(staged).as_posix()] = self._pyz(pyz)
        tools = {"python": platform.python_version()}
        if plan.stage_agent:
            agent, agent_tools = stage_agent(plan, self.run_dir / layout.STAGED_AGENT)
            files |= {f"agent/{name}": digest for name, digest in agent.items()}
            tools |= agent_tools
        self._reserve()
        return Staged(files, tools, self.origin)

    def _artifact(self, plan: Plan) -> dict[str, str]:
        artifact = plan.artifact
        target = self.run_dir / layout.STAGED_ARTIFACT / artifact.name
        match artifact.kind:
            case "file":
                source = Path(plan.config).parent / artifact.source  # an absolute source stays as it is
                if not source.is_file():
                    raise ArtifactError(f"{source}: the artifact is not there", hint="Was it built? Was it moved?")
                return {f"artifact/{artifact.name}": place(source, target, artifact.digest)}
            case "url":
                from gate.dispatch.fetching import fetch  # noqa: PLC0415 - httpx, and only for an artifact by URL

                return {f"artifact/{artifact.name}": fetch(artifact.source, target, artifact.digest)}
            case "image" | "none":
                return {}

    def _pyz(self, target: Path) -> str:
        temporary = target.with_name(f".gate-tmp-{os.getpid()}-{target.name}")
        make_readable(target.parent)
        try:
            pack(temporary)
            return place(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)

    def _reserve(self) -> None:
        """Room that is given up first when the disk is full, so that evidence still fits."""
        reserve = self.run_dir / layout.RESERVE
        if not reserve.exists() and shutil.disk_usage(self.run_dir).free > 64 * RESERVE_SIZE:
            place_bytes(b"\0" * RESERVE_SIZE, reserve)

    def _verify(self, files: Mapping[str, str]) -> None:
        wrong: list[str] = []
        for name, digest in files.items():
            path = self.run_dir / layout.STAGED / name
            found = sha256_file(path) if path.is_file() else "nothing"
            if found != digest:
                wrong.append(f"{path}: staged as {digest}, found {found}")
        if wrong:
            raise ArtifactError(
                "what was staged is not what workloads would read:\n  " + "\n  ".join(wrong),
                hint="Nothing was launched. Does something else write below this root? Is the share consistent?",
            )


def _texts(leg: LegPlan) -> Mapping[str, str]:
    """The leg's prompts and commands as files for people; workloads read them from their assignment."""
    texts: dict[str, str] = {}
    if leg.prompts is not None:
        texts[f"{leg.id}/setup.md"] = leg.prompts.setup
        texts[f"{leg.id}/task.md"] = leg.prompts.task
    if leg.command is not None:
        texts[f"{leg.id}/command.sh"] = leg.command + "\n"
    return texts
