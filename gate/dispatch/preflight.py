"""What can be known before anything is launched: the engine takes every name, option and resource asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gate.contracts import Capabilities, WorkloadRequest
from gate.errors import CapabilityError


def check(requests: Sequence[WorkloadRequest], capabilities: Capabilities, kind: str) -> None:
    """Raises one CapabilityError that names everything the engine would refuse, or worse, take and leave stuck."""
    problems: list[str] = []
    names: dict[str, str] = {}
    for request in requests:
        problems += [f"workload {request.workload}: {what}" for what in _unfit(request, capabilities)]
        if request.name in names:
            problems.append(f"workloads {names[request.name]} and {request.workload}: both are named {request.name}")
        names[request.name] = request.workload
    if problems:
        raise CapabilityError(f"the {kind} engine cannot run this plan:\n  " + "\n  ".join(problems))


def _unfit(request: WorkloadRequest, can: Capabilities) -> list[str]:
    asked, found = request.resources, []
    if len(request.name) > can.max_name or not re.fullmatch(can.name_pattern, request.name):
        found.append(f"its name {request.name!r} is not one that the engine takes")
    if asked.gpus and not can.gpus:
        found.append(f"{asked.gpus} GPUs asked for, and the engine has none to give")
    if asked.image is not None and not can.images:
        found.append(f"image {asked.image} asked for, and the engine runs no images")
    if asked.privileged and not can.privileged:
        found.append("privileged, which the engine does not do")
    if len(request.legs) > 1 and not can.shared:
        found.append("several legs in one workload, which the engine does not do")
    found += [f"resources.options.{key} is unknown to the engine" for key in asked.options if key not in can.options]
    return found
