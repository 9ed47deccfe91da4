"""gate.yaml as far as it could be read, with places: what the checks look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gate.plan.config import GateFile, Workload
from gate.plan.legconfig import Leg
from gate.plan.nodes import MapNode, Node
from gate.plan.yaml12 import Scalar


@dataclass(frozen=True, slots=True)
class LegSource:
    """One leg as written: its tree (with places) and its values; `config` is None where it has faults."""

    id: str
    axes: Mapping[str, Scalar]
    node: MapNode
    config: Leg | None


@dataclass(frozen=True, slots=True)
class WorkloadSource:
    """One entry of `workloads` as written."""

    id: str
    node: Node
    config: Workload | None


@dataclass(frozen=True, slots=True)
class Draft:
    """What could be read, with faults or without. `file` has only the sections that are right, the rest as default."""

    name: str
    path: Path
    root: MapNode
    file: GateFile
    legs: tuple[LegSource, ...]
    workloads: tuple[WorkloadSource, ...]
    wrong_sections: frozenset[str]
