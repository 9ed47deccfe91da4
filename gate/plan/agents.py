"""Which agent drives a leg, with its options as plain JSON, checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gate.agents.options import OPTIONS, REQUIRED
from gate.documents import Json
from gate.plan.draft import LegSource
from gate.plan.faults import key_place
from gate.plan.legconfig import Leg
from gate.plan.load import Gate
from gate.plan.matrix import fill
from gate.plan.model import AgentPlan
from gate.plan.nodes import MapNode, Node, find, read_yaml
from gate.plan.problems import Faults, Problem, did_you_mean, one_of


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
    if isinstance(options.get("scenario"), str):
        options["scenario"] = _scenario(gate, source, options["scenario"])
    if problems := _wrong(gate, source, kind, options):
        raise Faults(problems)
    return AgentPlan(kind, version, options)


def _wrong(gate: Gate, source: LegSource, kind: str, options: Mapping[str, Json]) -> list[Problem]:
    known = OPTIONS[kind]
    missing = [key for key in REQUIRED[kind] if key not in options]
    found = [(key, "nothing", f"{key}, which a {kind} agent needs", "") for key in missing]
    for key, value in options.items():
        if key not in known:
            every = ("kind", "version", *known)
            found.append((key, f"the unknown key {key!r}", one_of(every), did_you_mean(key, every)))
        elif right := known[key](value):
            shown = "a scenario" if key == "scenario" else repr(value)[:60]
            found.append((key, shown, right, ""))
    problems = []
    for key, what, right, hint in found:
        node = _where(gate, source, key)
        line, column = key_place(node, key)
        path = f"{node.path}.{key}" if node.path else f"agent.{key}"
        problems.append(Problem(gate.path.name, line, column, path, what, right, hint))
    return problems


def _where(gate: Gate, source: LegSource, key: str) -> Node:
    """The `agent` mapping in which `key` stands, the leg's own first."""
    own, top = find(source.node, "agent"), find(gate.root, "agent")
    if isinstance(own, MapNode) and own is not source.node and key in own.items:
        return own
    return top if top is not gate.root else source.node


def _scenario(gate: Gate, source: LegSource, given: str) -> Json:
    path = gate.folder / fill(given, source.axes)
    try:
        raw = path.read_bytes()
    except OSError as error:
        node = find(_where(gate, source, "scenario"), "scenario")
        found = f"{given!r}, which cannot be read: {error.strerror}"
        problem = Problem(gate.path.name, node.line, node.column, node.path, found, "a file beside gate.yaml")
        raise Faults([problem]) from None
    return read_yaml(raw, _shown(path, gate.folder)).plain()


def _shown(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)
