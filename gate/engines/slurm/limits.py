"""What a Slurm cluster offers to workloads, and what no workload will ever get from it."""

from __future__ import annotations

import math
import re

from gate.contracts import Capabilities, WorkloadRequest
from gate.engines.slurm.options import OPTIONS, problems_of
from gate.errors import EngineRefused
from gate.plan.model import Resources

CAPABILITIES = Capabilities(  # noqa: S604 - `shell` says that `gate shell` works here
    list_lag=5.0,  # a controller that is restarted reads its state of up to five seconds ago
    max_name=63,
    name_pattern=r"[a-z]([a-z0-9-]*[a-z0-9])?",
    privileged=False,
    shared=True,
    images=False,
    timeouts=True,
    logs_after_end=True,
    shell=True,
    queue_position=True,
    gpus=True,
    protects_gate=False,
    options=tuple(sorted(OPTIONS)),
)

WARNING = 60
"""Seconds before the job's limit at which Slurm tells the supervisor that it is near."""
EARLY = 60
"""Slurm may do so this much earlier than asked to."""
_MARGIN = 30
"""The supervisor ends a workload that is over its time-out, by itself, before Slurm says a word."""


def minutes(timeout: float) -> int:
    """The job's limit, which Slurm takes in whole minutes: the supervisor's own time-out comes first."""
    return math.ceil((timeout + WARNING + EARLY + _MARGIN) / 60)


def check(request: WorkloadRequest) -> None:
    """Raises EngineRefused with everything that cannot be had."""
    problems = unfit(request.resources)
    if not re.fullmatch(CAPABILITIES.name_pattern, request.name) or len(request.name) > CAPABILITIES.max_name:
        problems.append(f"the name {request.name!r} is not valid here")
    if problems:
        raise EngineRefused(f"refused by the slurm engine: {'; '.join(problems)}")


def unfit(wanted: Resources) -> list[str]:
    """What a workload asks for and will never get."""
    problems: list[str] = []
    if wanted.image is not None:
        problems.append(f"it cannot run the image {wanted.image!r}")
    if wanted.privileged:
        problems.append("it cannot give privileges")
    return problems + problems_of(wanted.options, "resources.options")
