"""Which agent drives a leg, with its options as plain JSON."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from gate.documents import Json
from gate.plan.draft import LegSource
from gate.plan.legconfig import Leg
from gate.plan.load import Gate
from gate.plan.matrix import fill
from gate.plan.model import AgentPlan
from gate.plan.nodes import Node, find, read_yaml
from gate.plan.problems import Faults, Problem


def agent_plan(gate: Gate, source: LegSource, leg: Leg) -> AgentPlan:
    """The leg's own agent over that of the gate. A scripted one's scenario is read and put in. Raises Faults."""
    top, own = gate.file.agent, leg.agent
    same = own is None or own.kind in (None, top.kind)
    kind = top.kind if own is None or own.kind is None else own.kind
    options: dict[str, Json] = {**(top.model_extra or {})} if same else {}
    version = top.version if same else None
    if own is not None:
        options |= own.model_extra or {}
        version = own.version or version
    if kind == "scripted":
        options["scenario"] = _scenario(gate, source, options.get("scenario"))
    return AgentPlan(kind, version, options)


def _scenario(gate: Gate, source: LegSource, given: Json) -> Json:
    node = find(source.node, "agent", "scenario")
    if node.path == source.node.path:
        node = find(gate.root, "agent", "scenario")
    if isinstance(given, dict):
        return given
    if not isinstance(given, str):
        _raise(gate, node, "nothing" if given is None else repr(given), "scenario: a file beside gate.yaml")
    path = gate.folder / fill(str(given), source.axes)
    try:
        raw = path.read_bytes()
    except OSError as error:
        _raise(gate, node, f"{given!r}, which cannot be read: {error.strerror}", "a file beside gate.yaml")
    return read_yaml(raw, _shown(path, gate.folder)).plain()


def _shown(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def _raise(gate: Gate, node: Node, found: str, expected: str) -> NoReturn:
    raise Faults([Problem(gate.path.name, node.line, node.column, node.path or "agent.scenario", found, expected)])
