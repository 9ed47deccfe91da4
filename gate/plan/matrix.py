"""A matrix of legs: every combination of its axes, with values keyed by an axis (`{by: hours, 3: 4h, 12: 13h}`)."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gate.plan.faults import describe, key_place
from gate.plan.legconfig import Matrix
from gate.plan.nodes import ListNode, MapNode, Node, ScalarNode, find
from gate.plan.problems import Problem, did_you_mean, one_of
from gate.plan.yaml12 import Scalar

MOST_LEGS = 10_000
OWN_KEYS = ("axes", "exclude", "id")
_SLOT = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Axis:
    """Values in order: their text as written to their value."""

    name: str
    values: Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination: its id, its axes (name to value) and the leg's own tree, with nothing keyed by axis left."""

    id: str
    axes: Mapping[str, Scalar]
    node: MapNode


def expand(node: MapNode, matrix: Matrix, file: str) -> tuple[list[Cell], list[Problem]]:
    """All cells of the matrix at `node`, in the order of its axes (the last one fastest), and what is wrong with it."""
    return _Expansion(node, file).run(matrix)


def fill(pattern: str, axes: Mapping[str, Scalar]) -> str:
    """`pattern` with each `{axis}` of `axes` replaced; others stay as they are."""
    return _SLOT.sub(lambda m: text_of(axes[m[1]]) if m[1] in axes else m[0], pattern)


def text_of(value: Scalar) -> str:
    """An axis value as it stands in ids, paths and environments."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class _Expansion:
    def __init__(self, node: MapNode, file: str) -> None:
        self.node, self.file = node, file
        self.problems: list[Problem] = []
        self.axes = [self._axis(name, axis) for name, axis in _entries(find(node, "axes"))]
        self.by_name = {axis.name: axis for axis in self.axes}

    def run(self, matrix: Matrix) -> tuple[list[Cell], list[Problem]]:
        count = math.prod(len(axis.values) for axis in self.axes)
        if count > MOST_LEGS:
            self._fault(find(self.node, "axes"), f"{count} combinations", f"at most {MOST_LEGS}")
            return [], self.problems
        pattern = self._pattern(matrix)
        excluded = self._excluded()
        cells = []
        for values in itertools.product(*(axis.values for axis in self.axes)):
            texts = dict(zip(self.by_name, values, strict=True))
            if any(all(texts[name] == value for name, value in rule.items()) for rule in excluded):
                continue
            axes = {name: self.by_name[name].values[text] for name, text in texts.items()}
            kept = {key: value for key, value in self.node.items.items() if key not in OWN_KEYS}
            leg = self._resolved(replace(self.node, items=kept), texts)
            assert isinstance(leg, MapNode)
            cells.append(Cell(fill(pattern, axes), axes, leg))
        if not cells:
            self._fault(find(self.node, "exclude"), "every combination excluded", "at least one leg")
        return cells, self.problems

    def _fault(self, node: Node, found: str, expected: str, hint: str = "") -> None:
        self.problems.append(Problem(self.file, node.line, node.column, node.path, found, expected, hint))

    def _axis(self, name: str, node: Node) -> Axis:
        values: dict[str, Scalar] = {}
        for item in node.items if isinstance(node, ListNode) else ():
            assert isinstance(item, ScalarNode)
            text = text_of(item.value)
            if text in values:
                self._fault(item, f"{text!r} again", "each value of an axis once")
            values[text] = item.value
        return Axis(name, values)

    def _pattern(self, matrix: Matrix) -> str:
        if matrix.id is None:
            return "-".join(f"{{{axis.name}}}" for axis in self.axes)
        named = _SLOT.findall(matrix.id)
        where = find(self.node, "id")
        for name in named:
            if name not in self.by_name:
                expected = "{axis} with " + one_of(self.by_name)
                self._fault(where, f"{{{name}}}", expected, did_you_mean(name, self.by_name))
        missing = [axis.name for axis in self.axes if axis.name not in named and len(axis.values) > 1]
        if missing:
            expected = "a pattern with every axis, else ids collide"
            self._fault(where, describe(where), expected, f"{', '.join(f'{{{m}}}' for m in missing)} is missing")
        return matrix.id

    def _excluded(self) -> list[dict[str, str]]:
        rules: list[dict[str, str]] = []
        excluded = find(self.node, "exclude")
        for item in excluded.items if isinstance(excluded, ListNode) else ():
            rule: dict[str, str] = {}
            for name, value in _entries(item):
                assert isinstance(value, ScalarNode)
                rule[name] = text_of(value.value)
                if name not in self.by_name:
                    hint = did_you_mean(name, self.by_name)
                    self._fault(value, f"the axis {name!r}", one_of(self.by_name), hint)
                elif rule[name] not in self.by_name[name].values:
                    self._fault(value, repr(rule[name]), one_of(self.by_name[name].values))
            if not rule:
                self._fault(item, "an empty mapping", "at least one axis and its value")
            elif all(name in self.by_name for name in rule):
                rules.append(rule)
        return rules

    def _resolved(self, node: Node, texts: Mapping[str, str]) -> Node:
        if isinstance(node, ListNode):
            return replace(node, items=tuple(self._resolved(item, texts) for item in node.items))
        if not isinstance(node, MapNode):
            return node
        if "by" in node.items:
            return self._chosen(node, texts)
        items = {key: self._resolved(value, texts) for key, value in node.items.items()}
        return replace(node, items=items)

    def _chosen(self, node: MapNode, texts: Mapping[str, str]) -> Node:
        by = node.items["by"]
        name = by.text if isinstance(by, ScalarNode) else ""
        if name not in self.by_name:
            self._fault(
                by, describe(by), "the name of an axis: " + one_of(self.by_name), did_you_mean(name, self.by_name)
            )
            return node
        axis = self.by_name[name].values
        for key, value in node.items.items():
            if key not in axis and key != "by":
                line, column = key_place(node, key)
                hint = did_you_mean(key, axis)
                problem = Problem(self.file, line, column, value.path, f"the key {key!r}", one_of(axis), hint)
                self.problems.append(problem)
        if texts[name] not in node.items:
            self._fault(node, f"no value for {name} {texts[name]}", f"a value for each {name}: {', '.join(axis)}")
            return node
        return self._resolved(node.items[texts[name]], texts)


def _entries(node: Node) -> list[tuple[str, Node]]:
    return list(node.items.items()) if isinstance(node, MapNode) else []
