"""A scenario as text: faults from the command line, and whole scenarios written back as they are read."""

from __future__ import annotations

import json
from dataclasses import fields

from gate.documents import Json
from gate.errors import ConfigError
from gate.plan.duration import format_duration
from gate.plan.problems import Faults, Problem
from gate.simulate.scenario import Durations, Fault, LegCourse, Scenario, Span
from gate.simulate.scenario_file import KEYS, parse_scenario
from gate.simulate.scenario_words import spell_span


def parse_fault(text: str) -> Fault:
    """`NAME[@TIME][:key=value,…]`, as `oom@2h:legs=docker-*`. Raises ConfigError."""
    head, _, rest = text.partition(":")
    kind, _, at = head.partition("@")
    words = [f"at={at}"] if at else []
    words += [word for word in rest.split(",") if word]
    parts = [f"fault: {json.dumps(kind)}"]
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(f"--fault {text}: found {word!r}; expected key=value, as for=10m or legs=docker-*")
        parts.append(f"{key}: {value if key in ('turn', 'step') or _is_number(value) else json.dumps(value)}")
    document = f"version: 1\nfaults: [{{{', '.join(parts)}}}]"
    try:
        (fault,) = parse_scenario(document.encode(), "--fault").faults
    except Faults as faults:
        lines = [
            f"found {problem.found}; expected {problem.expected}" + (f" ({problem.hint})" if problem.hint else "")
            for problem in faults.problems
        ]
        raise ConfigError(
            f"--fault {text}: " + "; ".join(lines), hint="`gate simulate --menu` lists them all."
        ) from None
    return fault


def _told(problem: Problem) -> str:
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"found {problem.found}; expected {problem.expected}{hint}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def spell_fault(fault: Fault) -> dict[str, Json]:
    """The fault as it stands in a scenario file: what differs from the usual alone."""
    usual = Fault(fault.kind)
    found: dict[str, Json] = {"fault": fault.kind}
    for field in fields(Fault):
        value = getattr(fault, field.name)
        if field.name != "kind" and value != getattr(usual, field.name):
            found[KEYS.get(field.name, field.name)] = _spelled(field.name, value)
    return found


def _spelled(name: str, value: Json) -> Json:
    if name == "restart" and value is None:
        return "never"
    if name in ("at", "lasts", "seconds", "restart"):
        return format_duration(value)
    if name == "signal":
        return "SIGINT" if value == 2 else "SIGTERM"
    return list(value) if name == "legs" else value


def spell(scenario: Scenario) -> dict[str, Json]:
    """The whole scenario as plain JSON, which is YAML too."""
    usual = Scenario()
    found: dict[str, Json] = {"version": 1}
    if scenario.name:
        found["name"] = scenario.name
    durations = _spans(scenario.durations, usual.durations)
    if durations:
        found["durations"] = durations
    if scenario.legs:
        found["legs"] = {glob: _spell_course(course) for glob, course in scenario.legs.items()}
    if scenario.faults:
        found["faults"] = [spell_fault(fault) for fault in scenario.faults]
    if scenario.reruns:
        found["reruns"] = [{"after": format_duration(r.after), "fresh": r.fresh} for r in scenario.reruns]
    if scenario.neighbours:
        found["neighbours"] = True
    return found


def _spans(durations: Durations | LegCourse, usual: Durations | LegCourse) -> dict[str, Json]:
    values = {f.name: getattr(durations, f.name) for f in fields(durations)}
    return {k: spell_span(v) for k, v in values.items() if isinstance(v, Span) and v != getattr(usual, k)}


def _spell_course(course: LegCourse) -> dict[str, Json]:
    return _spans(course, LegCourse()) | ({"result": course.result} if course.result != "pass" else {})
