"""The closing text: the word first, the cause, what did not pass (worst first), what still burns, what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.text import Text

from gate.machines.decision import WORST
from gate.machines.duration import spell
from gate.machines.verdict import Outcome
from gate.reap.remaining import Remaining
from gate.report.board_frame import GLYPHS, STYLES, decided
from gate.report.text import plain, stamp
from gate.rundir.formats import Decision, Kept, LegDecision

SHOWN = 20
"""Legs that are listed one by one."""
LEAKS = 3
"""Files with a secret in them that are named for each leg."""


@dataclass(frozen=True, slots=True)
class Closing:
    """Everything the closing text is made of. `sentences`: leg id to its verdict's sentence, where known."""

    decision: Decision
    sentences: Mapping[str, str] = field(default_factory=dict)
    kept: Sequence[Kept] = ()
    remaining: Sequence[Remaining] = ()
    now: float = 0.0
    """Wall time, Unix seconds: a lease that has ended is not shown."""
    leaks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Leg id to the files in which its secrets were found, as `path: secret name`."""


def closing(what: Closing, *, headed: bool = True) -> Text:
    """The closing text, ending in a newline; styles only, no markup: it can be printed anywhere.

    Not `headed`: the word and the cause were told just before.
    """
    text = Text()
    if headed:
        text.append_text(decided(what.decision)).append("\n")
    _legs(text, what)
    _leaks(text, what.leaks)
    _burning(text, what)
    text.append("next  ", style="dim").append(
        "\n      ".join(map(plain, next_commands(what.decision))), style="bold"
    ).append("\n")
    return text


def next_commands(decision: Decision) -> tuple[str, ...]:
    """What people do next, most useful first; each can be typed as it stands."""
    run = decision.run
    worst = next((leg.leg for leg in _ordered(decision.legs) if leg.outcome in (Outcome.FAIL, Outcome.ERROR)), None)
    look = () if worst is None else (f"gate explain {worst} --run {run}", f"gate logs {worst} --run {run}")
    match decision.word:
        case "GO":
            return (f"gate status {run}",)
        case "PASSED":
            return (f"gate status {run}", "gate run --scope full   (only a full pass is a release pass)")
        case "NO-GO" | "NOT MEASURED":
            return (*look, f"gate retry {run}")
        case "SUPERSEDED":
            return (f"gate status {run}", f"gate stop --run {run}   (it is left running until its time-out)")
        case "CANCELLED":
            return (*look[:1], f"gate retry {run}", f"gate reap --run {run}   (where anything is left)")


def _ordered(legs: Sequence[LegDecision]) -> list[LegDecision]:
    return sorted(legs, key=lambda leg: (not leg.blocking, WORST.index(leg.outcome)))


def _legs(text: Text, what: Closing) -> None:
    lost = [leg for leg in _ordered(what.decision.legs) if leg.outcome is not Outcome.PASS]
    width = max((len(leg.leg) for leg in lost[:SHOWN]), default=0)
    for leg in lost[:SHOWN]:
        word = leg.outcome.value
        text.append(f"  {GLYPHS[word]} {word:<10} ", style=STYLES[word])
        text.append(f"{plain(leg.leg):<{width}}  ", style="" if leg.blocking else "italic")
        text.append(leg.reason.value, style=STYLES[word]).append("" if leg.blocking else "  informing", style="dim")
        if sentence := what.sentences.get(leg.leg):
            text.append(f"\n      {plain(sentence)}", style="dim")
        text.append("\n")
    if len(lost) > SHOWN:
        text.append(f"  … and {len(lost) - SHOWN} more that did not pass\n", style="dim")
    passed = [leg for leg in what.decision.legs if leg.outcome is Outcome.PASS]
    if passed:
        text.append_text(_passed(passed))


def _passed(passed: Sequence[LegDecision]) -> Text:
    text = Text(f"  {GLYPHS['PASS']} {len(passed)} passed", style="green")
    carried = sum(leg.carried for leg in passed)
    flaky = [leg.leg for leg in passed if leg.flaky]
    if carried:
        text.append(f", {carried} of them carried from an earlier attempt", style="dim")
    if flaky:
        names = ", ".join(flaky[:SHOWN])
        text.append(f", only on a later attempt (flaky): {plain(names)}", style="yellow")
    return text.append("\n")


def _leaks(text: Text, leaks: Mapping[str, Sequence[str]]) -> None:
    for leg, files in leaks.items():
        more = f" and {len(files) - LEAKS} more" if len(files) > LEAKS else ""
        named = ", ".join(map(plain, files[:LEAKS]))
        text.append(f"  ⚠ secrets in files of leg {plain(leg)}: {named}{more}\n", "yellow")


def _burning(text: Text, what: Closing) -> None:
    for lease in what.kept:
        if lease.until <= what.now:
            continue
        left = spell(lease.until - what.now)
        text.append(
            f"  still running: workload {plain(lease.workload)}, until {stamp(lease.until)} (for {left} more), "
        )
        text.append(f"{plain(lease.why)}; stop it: gate stop --run {what.decision.run}\n")
    for one in what.remaining:
        name = f"{plain(one.workload)} ({plain(one.engine_id or 'no id')})"
        text.append(f"  not seen gone: workload {name}: {plain(one.why)}; remove it: {plain(one.command)}\n", "yellow")
