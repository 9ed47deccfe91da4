"""What makes two plans of one attempt different measurements. Pure."""

from __future__ import annotations

from gate.plan.model import Plan


def difference(recorded: Plan, now: Plan) -> tuple[str, ...]:
    """In words, what of `now` is not what the attempt was dispatched with; empty where the attempt can go on."""
    found: list[str] = []
    if recorded.version != now.version:
        found.append(f"version {now.version} instead of {recorded.version}")
    if (recorded.artifact.kind, recorded.artifact.digest) != (now.artifact.kind, now.artifact.digest):
        found.append(f"artifact {now.artifact.name} with {now.artifact.digest} instead of {recorded.artifact.digest}")
    theirs, ours = ({leg.id: leg.digest for leg in plan.legs} for plan in (recorded, now))
    changed = [f"leg {leg} changed" for leg in theirs if leg in ours and ours[leg] != theirs[leg]]
    found += [f"leg {leg} is missing" for leg in theirs if leg not in ours]
    found += [f"leg {leg} is new" for leg in ours if leg not in theirs]
    found += changed
    if recorded.workloads != now.workloads:
        found.append("workloads or their resources changed")
    if recorded.engine != now.engine:
        found.append("the engine or its parameters changed")
    return tuple(found)
