"""A plan for people: what would run, where, and how it is judged."""

from __future__ import annotations

import json
from collections.abc import Iterator

from rich.table import Table
from rich.text import Text

from gate.plan.duration import format_duration
from gate.plan.ladder import named
from gate.plan.model import Judge, LegPlan, Plan, Resources
from gate.plan.size import format_size
from gate.plan.version import UNVERSIONED
from gate.plan.yaml12 import Scalar

COMMAND = 40
"""Characters of a command that are shown."""


def headline(plan: Plan) -> str:
    """What is planned, for which product, in a few lines."""
    total = f"{len(plan.all_legs)} leg{'s' if len(plan.all_legs) != 1 else ''}"
    counted = total if plan.scope == "full" else f"{len(plan.legs)} of {total}"
    artifact = plan.artifact
    product = f"{artifact.name} · {artifact.digest[:19]}… · {format_size(artifact.size)}" if artifact.digest else "none"
    if artifact.kind in ("url", "image"):
        product = f"{artifact.source} · {artifact.digest[:19]}…" if artifact.digest else artifact.source
    commit = f"{plan.ref or 'no ref'} at {plan.commit[:12]}" if plan.commit else "not under git"
    lines = [
        f"gate {plan.gate} · {versioned(plan.version)} · {plan.scope}: {counted}",
        f"  artifact  {product}",
        f"  source    {plan.repository} · {commit}",
        f"  engine    {plan.engine.kind} · root {plan.root}",
    ]
    if plan.secrets:
        lines.append(f"  secrets   {', '.join(f'{ref.name} ({ref.source})' for ref in plan.secrets)}")
    return "\n".join(lines)


def versioned(version: str) -> str:
    """`version 1.2`, or that there is none."""
    return version if version == UNVERSIONED else f"version {version}"


def legs_table(plan: Plan) -> Table:
    """One row a leg."""
    carried = {leg: workload for workload in plan.workloads for leg in workload.legs}
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("leg", "", "driven by", "workload", "budget"):
        shown.add_column(heading, overflow="fold")
    for leg in plan.legs:
        workload = carried[leg.id]
        where = f"{workload.id} (shared)" if workload.shared else "own"
        gets = resources(workload.resources)
        budgets = leg.budgets
        budget = [f"set-up {format_duration(budgets.setup)}"] if leg.kind == "agent" else []
        budget.append(f"task {format_duration(budgets.task)}")
        cells = (
            leg.id,
            "blocking" if leg.blocking else "informing",
            driver(leg),
            f"{where}: {gets}" if gets else where,
            ", ".join(budget),
        )
        shown.add_row(*map(Text, cells))
    return shown


def criteria_table(plan: Plan) -> Table:
    """How legs are judged; those that are judged alike share a row."""
    alike: dict[str, list[str]] = {}
    for leg in plan.legs:
        alike.setdefault(judged(leg.judge), []).append(leg.id)
    shown = Table(box=None, pad_edge=False, header_style="bold")
    shown.add_column("judged", overflow="fold", max_width=36)
    shown.add_column("by", overflow="fold")
    for criteria, legs in alike.items():
        shown.add_row(Text("all legs" if len(alike) == 1 < len(legs) else named(legs)), Text(criteria))
    return shown


def driver(leg: LegPlan) -> str:
    """Agent kind and version, or the beginning of the command."""
    if leg.agent is None:
        lines = [line for line in (leg.command or "").strip().splitlines() if line.strip()]
        first = lines[0].strip() if lines else ""
        return f"$ {first[:COMMAND]}{' …' if lines[1:] or len(first) > COMMAND else ''}"
    return f"{leg.agent.kind} {leg.agent.version or ''}".rstrip()


def resources(asked: Resources) -> str:
    """`8 GPUs, 196 CPUs, 2Ti`; "" where nothing is asked for."""
    parts = [
        f"{asked.gpus} GPU{'s' if asked.gpus > 1 else ''}" if asked.gpus else "",
        f"{asked.cpus} CPU{'s' if asked.cpus > 1 else ''}" if asked.cpus else "",
        format_size(asked.memory) if asked.memory else "",
        "privileged" if asked.privileged else "",
        asked.image or "",
    ]
    return ", ".join(part for part in parts if part)


def judged(judge: Judge) -> str:
    """The criteria in one line."""
    parts = [f"{key} is {_value(value)}" for key, value in judge.finished.items()]
    parts += [f"{key} in {{{', '.join(map(_value, values))}}}" for key, values in judge.passes.items()]
    for key, limit in judge.limits.items():
        low = f"{limit.min:g} ≤ " if limit.min is not None else ""
        high = f" ≤ {limit.max:g}" if limit.max is not None else ""
        parts.append(f"{low}{key}{high}")
    return "; ".join(parts)


def _value(value: Scalar) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value)


def prompts(plan: Plan) -> Iterator[tuple[str, str]]:
    """Heading and rendered text of every prompt of every leg; equal ones of several legs are told once."""
    texts: dict[tuple[str, str], list[str]] = {}
    for leg in plan.legs:
        for name in ("setup", "task", "nudge", "finish_launch", "redrive", "recap"):
            if leg.prompts is not None:
                texts.setdefault((name, getattr(leg.prompts, name)), []).append(leg.id)
    for (name, text), legs in texts.items():
        yield f"{name.replace('_', ' ')} of {', '.join(legs)}", text
