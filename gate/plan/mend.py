"""The smallest change that mends a broken inequality of the ladder.

One rung is moved: what was set by hand rather than what follows from it, and never so that the next inequality breaks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gate.plan.budgets import fits_below, whole_minutes
from gate.plan.duration import format_duration
from gate.plan.steps import SHARE, Rung, Step


def mend(step: Step, ladder: Sequence[Step]) -> str:
    """`raise X to V` or `lower X to V`, X being the path in the file where it stands in one."""
    lower = _lowered(step)
    if _can_rise(step, ladder) and (step.high.origin or lower is None):
        return f"raise {_named(step.high)} to {_value(step.high, _up(step.total + step.margin))}"
    if lower is not None:
        return lower
    traced = _traced(step, ladder)
    if traced is not None:
        return traced
    largest = max(step.low, key=lambda rung: rung.seconds)
    return f"lower {_named(largest)} to {_value(largest, _down(largest.seconds - _excess(step)))}"


def _can_rise(step: Step, ladder: Sequence[Step]) -> bool:
    """Whether `high` may be what `step` needs without breaking what was set above it; what is derived follows."""
    needs = _up(step.total + step.margin)
    fixed = [other for other in ladder if other.high.origin or other.high.key == "token_life"]
    above = [other for other in fixed if other is not step and step.high in other.low]
    rise = needs - step.high.seconds
    if step.high.key == "token_life":
        return False
    return all(
        other.total + rise + max(other.least, (other.total + rise) * SHARE) <= other.high.seconds for other in above
    )


def _excess(step: Step) -> float:
    """By how much the lower side must shrink, its margin with it."""
    return step.total - min(step.high.seconds / (1 + SHARE), step.high.seconds - step.least)


def _lowered(step: Step) -> str | None:
    """Lower the largest rung that was set by hand and is large enough."""
    excess = _excess(step)
    by_hand = [rung for rung in step.low if rung.origin and rung.seconds > excess]
    if not by_hand:
        return None
    rung = max(by_hand, key=lambda one: one.seconds)
    return f"lower {_named(rung)} to {_value(rung, _down(rung.seconds - excess))}"


def _traced(step: Step, ladder: Sequence[Step]) -> str | None:
    """The poll deadline is derived: what it follows from must shrink."""
    if [rung.key for rung in step.low] != ["poll"]:
        return None
    below = next(one for one in ladder if one.name == "workload < poll deadline")
    most = fits_below(whole_minutes(fits_below(step.high.seconds)))
    excess = below.total - most
    by_hand = [rung for rung in below.low if rung.origin and rung.seconds > excess]
    if by_hand:
        rung = max(by_hand, key=lambda one: one.seconds)
        return f"lower {_named(rung)} to {_value(rung, _down(rung.seconds - excess))}"
    timeout = next(rung for rung in below.low if rung.key == "workload")
    allowed = fits_below(whole_minutes(timeout.seconds - excess))
    legs = [one for one in ladder if one.high == timeout and one.total > allowed]
    changes = []
    for leg in legs:
        excess = leg.total - allowed
        fitting = [rung for rung in leg.low if rung.origin and rung.seconds > excess]
        if not fitting:
            return None
        rung = max(fitting, key=lambda one: one.seconds)
        changes.append(f"lower {_named(rung)} to {_value(rung, _down(rung.seconds - excess))}")
    return " and ".join(dict.fromkeys(changes)) or None


def _named(rung: Rung) -> str:
    return rung.origin.path if rung.origin else rung.name


def _value(rung: Rung, seconds: float) -> str:
    """In the unit of the file: a workflow counts minutes."""
    if rung.key == "timeout-minutes":
        return str(math.ceil(seconds / 60))
    return format_duration(seconds)


def _up(seconds: float) -> float:
    unit = 1.0 if seconds >= 60 else 0.001
    return math.ceil(round(seconds / unit, 6)) * unit


def _down(seconds: float) -> float:
    unit = 1.0 if seconds >= 60 else 0.001
    return max(0.0, math.floor(round(seconds / unit, 6)) * unit)
