"""The ladder for people: a table of inequalities, and a picture of where the time goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.table import Table
from rich.text import Text

from gate.plan.duration import format_duration, rough_duration
from gate.plan.ladder import Ladder, named
from gate.plan.model import LegBudgets, Plan, WorkloadPlan
from gate.plan.steps import Rung, Step

WIDTH = 100
"""Columns of a picture at most."""
BAR = (16, 64)
"""Columns of its bars, at least and at most."""
_INK = {"queue": "░", "prepare": "▒", "setup": "▓", "task": "█", "wait_margin": "▚", "skew": "·"}
_LEGEND = ("░ queue  ▒ prepare  ▓ set-up  █ task", "▚ wait margin  · spare and skew")


def table(ladder: Ladder) -> Table:
    """One row an inequality; what was set by hand is marked."""
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "what must stay below", "what", "slack", "for"):
        shown.add_column(heading, justify="right" if heading == "slack" else "left", overflow="fold")
    for step in ladder.steps:
        sign = Text("✓", "green") if step.holds else Text("✗", "bold red")
        slack = Text(rough_duration(step.slack), "" if step.holds else "bold red")
        shown.add_row(sign, Text(_sum(step)), Text(_rung(step.high)), slack, Text(named(step.subjects)))
    return shown


def picture(ladder: Ladder, width: int = WIDTH) -> str:
    """Bars to one scale: each group of workloads, then poll, job and token. Plain text, at most `width` columns."""
    plan = ladder.plan
    if not plan.workloads:
        return "no workload"
    poll = plan.poll
    ends = [("poll deadline", poll.deadline)]
    ends += [
        (step.high.name, step.high.seconds) for step in ladder.steps if step.high.key in ("job", "timeout-minutes")
    ]
    full = max([end for _, end in ends] + [poll.queue + w.timeout for w in plan.workloads])
    rows = [(label[:28], segments) for label, segments in _groups(plan)]
    rows += [(name, [("·", end)]) for name, end in ends]
    said = [format_duration(sum(seconds for _, seconds in segments)) for _, segments in rows]
    first = max(len(label) for label, _ in rows)
    bar = max(BAR[0], min(BAR[1], min(width, WIDTH) - first - 4 - max(map(len, said))))
    lines = [
        f"{label:<{first}}  {_bar(segments, full, bar):<{bar}}  {end}"
        for (label, segments), end in zip(rows, said, strict=True)
    ]
    below = ["  ".join(_LEGEND), f"token life {format_duration(plan.poll.token_life)}"]
    if first + 2 + len(below[0]) > width:
        below[:1] = _LEGEND
    indent = min(first + 2, max(0, width - max(map(len, below))))
    return "\n".join([*lines, "", *(" " * indent + line for line in below)])


def _sum(step: Step) -> str:
    return " + ".join(_rung(rung) for rung in step.low)


def _rung(rung: Rung) -> str:
    return f"{rung}{'*' if rung.origin else ''}"


def _groups(plan: Plan) -> Iterable[tuple[str, list[tuple[str, float]]]]:
    """Workloads that look alike are drawn once."""
    seen: dict[tuple[tuple[str, float], ...], list[str]] = {}
    by_id = {leg.id: leg.budgets for leg in plan.legs}
    for workload in plan.workloads:
        key = (*_segments(plan, workload, by_id),)
        seen.setdefault(key, []).append(workload.id)
    for segments, ids in seen.items():
        yield (ids[0] if len(ids) == 1 else f"{ids[0]} +{len(ids) - 1}"), list(segments)


def _segments(plan: Plan, workload: WorkloadPlan, by_id: Mapping[str, LegBudgets]) -> list[tuple[str, float]]:
    """Ink and seconds, from the attempt's start: queue, the longest leg's phases, what is left to the time-out."""
    budgets = max((by_id[leg] for leg in workload.legs), key=lambda b: b.prepare + b.setup + b.task)
    parts = [("queue", plan.poll.queue)]
    parts += [(name, float(getattr(budgets, name))) for name in ("prepare", "setup", "task", "wait_margin")]
    spare = plan.poll.queue + workload.timeout - sum(seconds for _, seconds in parts)
    return [(_INK[name], seconds) for name, seconds in parts] + [("·", max(0.0, spare))]


def _bar(segments: list[tuple[str, float]], full: float, width: int) -> str:
    text, end = "", 0.0
    for ink, seconds in segments:
        end += seconds
        upto = round(end / full * width)
        if seconds and upto == len(text):
            upto += 1  # a phase that is short still shows
        text += ink * (upto - len(text))
    return text[:width]
