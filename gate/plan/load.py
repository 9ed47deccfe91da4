"""gate.yaml, read and checked: every fault at once, each with its file, line, path and what would be right."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from gate.errors import ConfigError
from gate.plan.checks import check
from gate.plan.config import GateFile, Workload
from gate.plan.draft import Draft, LegSource, WorkloadSource
from gate.plan.faults import key_place, known_keys, problems_of
from gate.plan.legconfig import Leg, Matrix
from gate.plan.matrix import OWN_KEYS, Cell, expand
from gate.plan.nodes import MapNode, Node, read_yaml
from gate.plan.problems import Faults, Problem, did_you_mean, one_of, unique
from gate.plan.types import Model

M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate.yaml without faults."""

    path: Path
    digest: str
    root: MapNode
    file: GateFile
    legs: tuple[LegSource, ...]
    workloads: tuple[WorkloadSource, ...]

    @property
    def folder(self) -> Path:
        """Where relative paths start."""
        return self.path.parent

    def leg(self, leg_id: str) -> tuple[LegSource, Leg]:
        """The leg of that id and its values. Raises KeyError."""
        for leg in self.legs:
            if leg.id == leg_id and leg.config is not None:
                return leg, leg.config
        raise KeyError(leg_id)


def load(path: Path) -> Gate:
    """Read and check the gate.yaml at `path`. Raises ConfigError: missing, unreadable, or Faults with all of them."""
    path = path.absolute()
    raw = _bytes(path)
    root = read_yaml(raw, path.name)
    if not isinstance(root, MapNode):
        problem = Problem(path.name, root.line, root.column, "", "no mapping", "a mapping with version, gate and legs")
        raise Faults([problem])
    draft, problems = _draft(path, root)
    if problems := [*problems, *check(draft)]:
        raise Faults(unique(problems))
    return Gate(path, f"sha256:{hashlib.sha256(raw).hexdigest()}", root, draft.file, draft.legs, draft.workloads)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        hint = "Write one with `gate init`, or name another file."
        raise ConfigError(f"{path}: no such file", hint=hint) from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None


def _draft(path: Path, root: MapNode) -> tuple[Draft, list[Problem]]:
    name = path.name
    root = replace(root, items={key: value for key, value in root.items.items() if not key.startswith("x-")})
    legs, problems = _legs(root, name)
    workloads = tuple(
        WorkloadSource(key, node, _section(Workload, node, name, problems))
        for key, node in _entries(root.items.get("workloads"))
    )
    file, wrong = _top(root, name, problems)
    return Draft(name, path, root, file, tuple(legs), workloads, frozenset(wrong)), problems


def _top(root: MapNode, name: str, problems: list[Problem]) -> tuple[GateFile, set[str]]:
    """Everything but legs, matrix and workloads, whose items are read one by one so that one fault hides no other."""
    plain = {key: node.plain() for key, node in root.items.items()}
    for key in ("legs", "workloads"):
        if isinstance(plain.get(key), dict):
            plain[key] = dict.fromkeys(plain[key], {"legs": "*"} if key == "workloads" else {})
    plain.pop("matrix", None)
    try:
        return GateFile.model_validate(plain), set()
    except ValidationError as error:
        problems.extend(problems_of(error, root, GateFile, name))
        wrong = {str(one["loc"][0]) for one in error.errors() if one["loc"]}
    right: dict[str, Any] = {"version": 1, "gate": "gate", "artifact": "none"}
    right |= {key: value for key, value in plain.items() if key not in wrong}
    return GateFile.model_validate(right), wrong


def _legs(root: MapNode, name: str) -> tuple[list[LegSource], list[Problem]]:
    problems: list[Problem] = []
    legs: list[LegSource] = []
    for key, node in _entries(root.items.get("legs")):
        config = _section(Leg, node, name, problems)
        if isinstance(node, MapNode):
            legs.append(LegSource(key, {}, node, config))
    legs += [
        LegSource(cell.id, cell.axes, cell.node, _section(Leg, cell.node, name, problems))
        for cell in _cells(root.items.get("matrix"), name, problems)
    ]
    return legs, problems


def _cells(node: Node | None, name: str, problems: list[Problem]) -> list[Cell]:
    if node is None:
        return []
    own = node
    if isinstance(node, MapNode):
        known = [*OWN_KEYS, *known_keys(Leg, ())]
        for key in node.items.keys() - set(known):
            line, column = key_place(node, key)
            found = f"the unknown key {key!r}"
            hint = did_you_mean(key, known)
            problems.append(Problem(name, line, column, f"{node.path}.{key}", found, one_of(known), hint))
        node = replace(node, items={key: value for key, value in node.items.items() if key in known})
        own = replace(node, items={key: value for key, value in node.items.items() if key in OWN_KEYS})
    matrix = _section(Matrix, own, name, problems)
    if matrix is None or not isinstance(node, MapNode):
        return []
    cells, more = expand(node, matrix, name)
    problems.extend(more)
    return [] if more else cells


def _section(model: type[M], node: Node, name: str, problems: list[Problem]) -> M | None:
    try:
        return model.model_validate(node.plain())
    except ValidationError as error:
        problems.extend(problems_of(error, node, model, name))
        return None


def _entries(node: Node | None) -> Iterator[tuple[str, Node]]:
    if isinstance(node, MapNode):
        yield from node.items.items()
