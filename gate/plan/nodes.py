"""A YAML file as a tree that knows where each value stands. Bounded: no input makes it large, deep or slow.

Built from PyYAML's events: duplicate keys, tags, complex keys and values that are no JSON are faults with a line.
Aliases and merge keys (`<<`) work; an alias that multiplies beyond `MOST_VALUES` is a fault before it is expanded.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from gate.documents import Json
from gate.plan.problems import Faults, Problem, unique
from gate.plan.yaml12 import Scalar, core_scalar

MOST_BYTES = 1 << 20
MOST_DEPTH = 40
MOST_VALUES = 200_000


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its place: line and column from 1, dotted path from the top of its file. `size` counts values."""

    line: int
    column: int
    path: str
    size: int

    def plain(self) -> Json:
        """The value as plain JSON."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ScalarNode(Node):
    """`text` as written without quotes; `block` for `|` and `>`, whose text starts on the next line."""

    value: Scalar
    text: str
    block: bool

    def plain(self) -> Json:
        return self.value


@dataclass(frozen=True, slots=True)
class ListNode(Node):
    """A sequence."""

    items: tuple[Node, ...]

    def plain(self) -> Json:
        return [item.plain() for item in self.items]


@dataclass(frozen=True, slots=True)
class MapNode(Node):
    """A mapping. Keys are text as written; `keys` has the place of each, also of merged ones."""

    items: Mapping[str, Node]
    keys: Mapping[str, tuple[int, int]]

    def plain(self) -> Json:
        return {key: value.plain() for key, value in self.items.items()}


def find(node: Node, *parts: str | int) -> Node:
    """The deepest existing node on the way along `parts`."""
    for part in parts:
        if isinstance(node, MapNode) and str(part) in node.items:
            node = node.items[str(part)]
        elif isinstance(node, ListNode) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
        else:
            break
    return node


def read_yaml(raw: bytes, file: str) -> Node:
    """`raw` as one YAML document; `file` is its name in faults. Raises Faults, with all that can be told at once."""
    if len(raw) > MOST_BYTES:
        raise Faults([Problem(file, 1, 1, "", f"a file of {len(raw)} bytes", f"at most {MOST_BYTES} bytes")])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise Faults([Problem(file, line, 1, "", f"byte 0x{raw[error.start]:02x}", "UTF-8 text")]) from None
    builder = _Builder(file, text)
    try:
        root = builder.document()
    except yaml.YAMLError as error:
        raise Faults([*builder.problems, _syntax(error, file)]) from None
    except _Abandoned:
        raise Faults(unique(builder.problems)) from None
    if builder.problems:
        raise Faults(unique(builder.problems))
    return root


class _Abandoned(Exception):
    """A fault after which reading on makes no sense."""


_SLIPS = (
    ("scanning an alias", "a value that begins with * is quoted: '*.whl'"),
    ("scanning an anchor", "a value that begins with & is quoted"),
    ("tab character", "indent with spaces"),
    ("cannot start any token", "indent with spaces; a value that begins with @, ` or % is quoted"),
    ("mapping values are not allowed", "a value that holds a colon and a space is quoted"),
)
"""Parts of what libyaml says, and what was probably meant."""


def _syntax(error: yaml.YAMLError, file: str) -> Problem:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        context = f" {error.context}" if error.context else ""
        hint = next((hint for part, hint in _SLIPS if part in f"{error.problem}{context}"), "")
        return Problem(file, *place, "", f"a syntax error: {error.problem}{context}", "YAML 1.2", hint)
    return Problem(file, 1, 1, "", f"a syntax error: {' '.join(str(error).split())}", "YAML 1.2")


@dataclass(slots=True)
class _Builder:
    file: str
    text: str
    problems: list[Problem] = field(default_factory=list)
    anchors: dict[str, Node] = field(default_factory=dict)
    events: Iterator[Any] = field(init=False)

    def __post_init__(self) -> None:
        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
        self.events = iter(yaml.parse(self.text, Loader=loader))

    def document(self) -> Node:
        """The only document of the file."""
        while not isinstance(event := next(self.events), yaml.DocumentStartEvent):
            if isinstance(event, yaml.StreamEndEvent):
                self._fault(event, "", "an empty file", "a mapping with version, gate and legs")
                raise _Abandoned
        root = self._node(next(self.events), "", 0)
        next(self.events)
        if not isinstance(event := next(self.events), yaml.StreamEndEvent):
            self._fault(event, "", "a second document", "one document a file")
        return root

    def _fault(self, event: Any, path: str, found: str, expected: str, hint: str = "") -> None:
        mark = event.start_mark
        self.problems.append(Problem(self.file, mark.line + 1, mark.column + 1, path, found, expected, hint))

    def _node(self, event: Any, path: str, depth: int) -> Node:
        if depth > MOST_DEPTH:
            self._fault(event, path[:80], "values nested too deeply", f"at most {MOST_DEPTH} levels")
            raise _Abandoned
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, path)
        if event.tag is not None:
            self._fault(event, path, f"the tag {event.tag}", "a value without a tag")
        place = (event.start_mark.line + 1, event.start_mark.column + 1, path)
        if isinstance(event, yaml.ScalarEvent):
            node: Node = self._scalar(event, place)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self._list(place, depth)
        else:
            node = self._map(place, depth)
        if node.size > MOST_VALUES:
            self._fault(event, path, f"{node.size} values once aliases are expanded", f"at most {MOST_VALUES}")
            raise _Abandoned
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, path: str) -> Node:
        known = self.anchors.get(event.anchor)
        if known is None:
            self._fault(event, path, f"the alias *{event.anchor}", f"an anchor &{event.anchor} that ends before it")
            raise _Abandoned
        return known

    def _scalar(self, event: Any, place: tuple[int, int, str]) -> ScalarNode:
        text, plain = event.value, event.style is None or event.style == ""
        try:
            value = core_scalar(text) if plain and event.tag is None else text
        except ValueError as error:
            self._fault(event, place[2], f"a number of {len(text)} characters", str(error))
            value = None
        if isinstance(value, float) and not math.isfinite(value):
            self._fault(event, place[2], text, "a finite number", "quote it if text is meant")
        return ScalarNode(*place, 1, value, text, event.style in ("|", ">"))

    def _list(self, place: tuple[int, int, str], depth: int) -> ListNode:
        items: list[Node] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            items.append(self._node(event, f"{place[2]}[{len(items)}]", depth + 1))
        return ListNode(*place, 1 + sum(item.size for item in items), tuple(items))

    def _map(self, place: tuple[int, int, str], depth: int) -> MapNode:
        items: dict[str, Node] = {}
        keys: dict[str, tuple[int, int]] = {}
        merges: list[Node] = []
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            key = self._key(event, place[2], depth)
            path = f"{place[2]}.{key}" if place[2] else key
            value = self._node(next(self.events), path, depth + 1)
            if key in keys:
                first = keys[key][0]
                self._fault(event, path, f"the key {key!r} again", f"each key once (first on line {first})")
                continue
            keys[key] = (event.start_mark.line + 1, event.start_mark.column + 1)
            if key == "<<" and not event.style:
                merges = self._merged(event, value, path)
            else:
                items[key] = value
        for source in merges:
            if isinstance(source, MapNode):
                items = items | {k: v for k, v in source.items.items() if k not in items}
                keys = keys | {k: v for k, v in source.keys.items() if k not in keys}
        return MapNode(*place, 1 + sum(item.size for item in items.values()), items, keys)

    def _key(self, event: Any, path: str, depth: int) -> str:
        node = self._node(event, path, depth + 1)
        if not isinstance(node, ScalarNode) or not node.text:
            self._fault(event, path, "a key that is no text", "text, a number or a boolean as key")
            return f"?{event.start_mark.line}:{event.start_mark.column}"
        return node.text

    def _merged(self, event: Any, value: Node, path: str) -> list[Node]:
        sources = list(value.items) if isinstance(value, ListNode) else [value]
        if not all(isinstance(source, MapNode) for source in sources):
            self._fault(event, path, "a merge key over something else", "a mapping, or a list of mappings, to merge")
        return sources
