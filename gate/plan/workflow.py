"""A GitHub workflow's time-outs: what the jobs that run the gate allow."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from gate.errors import ConfigError
from gate.plan.budgets import Origin
from gate.plan.nodes import ListNode, MapNode, Node, ScalarNode, find, read_yaml
from gate.plan.problems import Faults, Problem
from gate.plan.steps import Rung

DEFAULT_MINUTES = 360  # of GitHub, on self-hosted runners too
_RUNS_GATE = re.compile(r"(?:^|[\s;&|/])gate\s+(?:run|poll|retry)\b", re.MULTILINE)
_HOSTED = re.compile(r"(?:ubuntu|windows|macos)-")


def job_rungs(path: Path) -> tuple[list[Rung], list[str]]:
    """Time-outs of the jobs and steps of the workflow at `path` that run `gate run`, `poll` or `retry`; and notes.

    Raises ConfigError: missing, not a workflow, no such job, a time-out that is no number.
    """
    try:
        root = read_yaml(path.read_bytes(), path.name)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    jobs = root.items.get("jobs") if isinstance(root, MapNode) else None
    if not isinstance(jobs, MapNode):
        raise Faults([Problem(path.name, 1, 1, "jobs", "no mapping of jobs", "a GitHub workflow")])
    rungs: list[Rung] = []
    notes: list[str] = []
    for name, job in jobs.items.items():
        steps = [step for step in _steps(job) if _RUNS_GATE.search(_text(step, "run"))]
        for node in ([job] if steps else []) + steps:
            _add(path.name, name, node, rungs, notes, is_job=node is job)
    if not rungs and not notes:
        found = f"jobs {', '.join(jobs.items)}, none of which runs the gate"
        expected = "a step with `gate run`, `gate poll` or `gate retry`"
        raise Faults([Problem(path.name, jobs.line, jobs.column, "jobs", found, expected)])
    return rungs, notes


def _add(file: str, job: str, node: Node, rungs: list[Rung], notes: list[str], *, is_job: bool) -> None:
    value = node.items.get("timeout-minutes") if isinstance(node, MapNode) else None
    if value is None and not is_job:
        return
    minutes: float = DEFAULT_MINUTES
    where = node
    if isinstance(value, ScalarNode):
        where = value
        if isinstance(value.value, str) and "${{" in value.value:
            notes.append(f"{file}:{value.line} {value.path}: {value.value} is known to GitHub alone, not checked")
            return
        if isinstance(value.value, bool) or not isinstance(value.value, (int, float)) or value.value <= 0:
            raise Faults([Problem(file, value.line, value.column, value.path, repr(value.text), "a number of minutes")])
        minutes = value.value
    if is_job and _HOSTED.match(_text(node, "runs-on")) and minutes > DEFAULT_MINUTES:
        notes.append(f"{file}:{where.line} jobs.{job}: GitHub's own runners end a job after {DEFAULT_MINUTES} minutes")
        minutes = DEFAULT_MINUTES
    path = where.path if value is not None else f"jobs.{job}.timeout-minutes"
    kind = "job" if is_job else "step"
    shown = f"{kind} time-out of {job}" + ("" if value is not None else " (GitHub's default)")
    rungs.append(Rung(shown, "timeout-minutes", minutes * 60.0, Origin(file, path, where.line)))


def _steps(job: Node) -> Iterator[Node]:
    steps = find(job, "steps")
    if isinstance(steps, ListNode):
        yield from steps.items


def _text(node: Node, key: str) -> str:
    value = node.items.get(key) if isinstance(node, MapNode) else None
    return value.text if isinstance(value, ScalarNode) else ""
