"""Names that the engine takes, found out before anything is launched: a name that is too long may stick for ever.

What a plan asks of its engine beside names is checked by `gate.plan.capabilities`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gate.contracts import Capabilities, WorkloadRequest
from gate.errors import CapabilityError


def check_names(requests: Sequence[WorkloadRequest], capabilities: Capabilities, kind: str) -> None:
    """Raises one CapabilityError with every name that the engine would refuse, or take and leave stuck."""
    problems: list[str] = []
    names: dict[str, str] = {}
    for request in requests:
        if len(request.name) > capabilities.max_name or not re.fullmatch(capabilities.name_pattern, request.name):
            problems.append(f"workload {request.workload}: the engine does not take the name {request.name!r}")
        if request.name in names:
            problems.append(f"workloads {names[request.name]} and {request.workload}: both are named {request.name}")
        names[request.name] = request.workload
    if problems:
        raise CapabilityError(f"the {kind} engine cannot name this plan's workloads:\n  " + "\n  ".join(problems))
