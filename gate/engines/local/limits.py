"""What this machine offers, and what it will never be able to run."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from gate.contracts import Capabilities, WorkloadRequest
from gate.errors import EngineRefused
from gate.plan.model import Resources

CAPABILITIES = Capabilities(  # noqa: S604 - `shell` says that `gate shell` works here
    list_lag=0.0,
    max_name=120,
    name_pattern=r"[a-z]([a-z0-9-]*[a-z0-9])?",
    privileged=False,
    shared=True,
    images=False,
    timeouts=False,
    logs_after_end=True,
    shell=True,
    queue_position=True,
    gpus=True,
    protects_gate=False,
)


@dataclass(frozen=True, slots=True)
class Slots:
    """How many workloads' worth of processors there is; they are counted, not enforced."""

    cpus: int
    gpus: int


def check(request: WorkloadRequest, slots: Slots) -> None:
    """Raises EngineRefused with everything that cannot be had here."""
    problems = unfit(request.resources, slots)
    if not re.fullmatch(CAPABILITIES.name_pattern, request.name) or len(request.name) > CAPABILITIES.max_name:
        problems.append(f"the name {request.name!r} is not valid here")
    if problems:
        raise EngineRefused(f"refused by the local engine: {'; '.join(problems)}")


def unfit(wanted: Resources, slots: Slots) -> list[str]:
    """What a workload asks for and will never get here."""
    problems: list[str] = []
    if wanted.image is not None:
        problems.append(f"it cannot run the image {wanted.image!r}")
    if wanted.privileged:
        problems.append("it cannot give privileges")
    if wanted.cpus > slots.cpus:
        problems.append(f"it asks for {wanted.cpus} CPUs, and there are {slots.cpus}")
    if wanted.gpus > slots.gpus:
        known = "" if slots.gpus else " (where there are: `engine: {kind: local, gpus: 8}`)"
        problems.append(f"it asks for {wanted.gpus} GPUs, and there are {slots.gpus}{known}")
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if wanted.memory > memory:
        problems.append(f"it asks for {wanted.memory >> 20}Mi of memory, and there are {memory >> 20}Mi")
    return problems
