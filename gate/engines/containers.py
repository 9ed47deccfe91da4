"""Legs that start their own container inside a shared workload: what exactly each may have.

Which devices, groups, memory and processors belong to the leg at which position is worked out here, in code, and not in
gate.yaml or by the agent: a wrong card is another leg's card.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from gate.bootstrap.containment_containers import LABEL_TAG, LABEL_WORKLOAD
from gate.contracts import WorkloadRequest
from gate.plan import identity

FIRST_RENDER_NODE = 128
OF_MEMORY = 0.9
"""Share of the memory that the containers may have together: their daemon, page tables and bootstrap need the rest."""
RENDER_STEP = 8
"""Partitions of one card have render nodes of their own: the next card's comes eight later."""


def render_node(index: int) -> str:
    """The device of the card at `index`."""
    return f"/dev/dri/renderD{FIRST_RENDER_NODE + RENDER_STEP * index}"


def shares(request: WorkloadRequest, mount: str) -> Sequence[str]:
    """Shell lines that put each leg's share into `GATE_LEG_<position>_…`, which bootstrap gives that leg alone.

    Empty where the workload carries one leg, or has neither cards nor the privileges that containers need. Groups are
    those of the device files as this machine has them, by number: names differ between host and container.
    """
    wanted = request.resources
    if len(request.legs) < 2 or not wanted.gpus or not wanted.privileged:
        return ()
    count = len(request.legs)
    lines: list[str] = []
    for position in range(count):
        devices = ["/dev/kfd", render_node(position)]
        prefix = f"{identity.ENV_LEG_SHARE}{position}_CONTAINER"
        fixed = {
            "DEVICES": " ".join(devices),
            "MEMORY": str(int(wanted.memory * OF_MEMORY) // count),
            "CPUS": str(max(1, wanted.cpus // count)),
            "MOUNT": mount,
            "LABELS": f"{LABEL_TAG}={request.tag} {LABEL_WORKLOAD}={request.workload}",
        }
        lines += [f"export {prefix}_{name}={shlex.quote(value)}" for name, value in fixed.items()]
        found = " ".join(shlex.quote(each) for each in devices)
        lines.append(f"export {prefix}_GROUPS=\"$(stat -c %g {found} 2>/dev/null | sort -nu | tr '\\n' ' ')\"")
    return lines
