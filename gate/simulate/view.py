"""A played gate for people at a terminal: the decision, a lane a leg, what happened, how high each rung was climbed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from gate.machines.duration import spell
from gate.machines.verdict import Outcome
from gate.report.board_frame import STYLES
from gate.report.text import plain
from gate.simulate.lanes import picture
from gate.simulate.played import Played, PlayedAttempt
from gate.simulate.rungs import ORDER, Climbed, climbed
from gate.simulate.timeline import Kind, Line, clock, timeline

LANES = 24
"""Legs that get a lane; of more, those that did not pass and those that climbed highest."""
LINES = 120
"""Lines of what happened; of more, turns and writes are left out."""
WORDS = {
    "GO": "bold white on green",
    "PASSED": "bold white on green",
    "NO-GO": "bold white on red",
    "NOT MEASURED": "bold white on magenta",
}
_STYLE: dict[Kind, str] = {
    "process": "dim",
    "workload": "",
    "turn": "blue",
    "state": "cyan",
    "verdict": "bold",
    "decision": "bold",
    "fault": "red",
    "blind": "yellow",
    "kept": "dim",
}
_DETAILS = ("turn", "state")


def show(played: Played, took: float, width: int) -> Iterator[Text]:
    """Everything, line by line. `took`: seconds of ours."""
    rungs = climbed(played)
    yield from headline(played, took)
    yield Text()
    legs = _lanes(played, rungs)
    if legs:
        yield from picture(played, legs, width)
    left = len(played.plan.legs) - len(legs)
    if left > 0:
        yield Text(f"… and {left} more legs", "dim")
    yield Text()
    yield from happened(played)
    yield Text()
    yield from ladder(rungs)


def headline(played: Played, took: float) -> Iterator[Text]:
    """The decision and what was played."""
    plan, attempt = played.plan, played.attempt
    decision = attempt.decision if attempt is not None else None
    word = decision.word if decision is not None else "UNDECIDED"
    cause = decision.cause if decision is not None else _why(played)
    yield Text.assemble((f" {word} ", WORDS.get(word, "bold black on yellow")), f" {plain(cause)}")
    codes = ", ".join(map(str, played.exit_codes))
    count = len(plan.legs)
    yield Text(
        f"simulated: {plan.gate} {plain(plan.version)} · {plan.scope}, {count} {'leg' if count == 1 else 'legs'} in "
        f"{len(plan.workloads)} · seed {played.seed} · exit {codes} · {spell(_length(played))} in {took:.1f} s",
        "dim",
    )
    for left in played.remaining:
        yield Text(f"still there: {plain(left.workload)}: {plain(left.why)}", "red")


def _length(played: Played) -> float:
    return max((p.ended for p in played.processes if p.role in ("dispatcher", "poller", "reaper")), default=0.0)


def _why(played: Played) -> str:
    errors = [process.error.splitlines()[0] for process in played.processes if process.error]
    return errors[0] if errors else "no poller lived to decide"


def _lanes(played: Played, rungs: Sequence[Climbed]) -> list[str]:
    legs = [leg.id for leg in played.plan.legs]
    if len(legs) <= LANES:
        return legs
    standing = played.attempt.standing if played.attempt is not None else {}
    highest: dict[str, float] = {}
    for rung in rungs:
        if rung.budget > 0:
            highest[rung.subject] = max(highest.get(rung.subject, 0.0), rung.spent / rung.budget)

    def worth(leg: str) -> tuple[bool, float]:
        verdict = standing.get(leg)
        return (verdict is not None and verdict.outcome is not Outcome.PASS, highest.get(leg, 0.0))

    chosen = set(sorted(legs, key=worth, reverse=True)[:LANES])
    return [leg for leg in legs if leg in chosen]


def happened(played: Played) -> Iterator[Text]:
    """The timeline."""
    lines = timeline(played)
    shown = lines if len(lines) <= LINES else [line for line in lines if line.kind not in _DETAILS]
    more = len(shown) > LINES
    cut = [line for line in shown if line.kind not in ("workload", "process")] if more else list(shown)
    width = max((len(line.subject) for line in cut[:LINES]), default=0)
    for line in cut[:LINES]:
        yield _line(line, played.attempt, width)
    if len(lines) > len(cut[:LINES]):
        yield Text(f"{len(lines) - len(cut[:LINES])} more lines: --json has them all", "dim")


def _line(line: Line, attempt: PlayedAttempt | None, width: int) -> Text:
    style = _STYLE[line.kind]
    verdict = attempt.standing.get(line.leg) if line.kind == "verdict" and attempt is not None else None
    if verdict is not None:
        style = STYLES[verdict.outcome.value]
    mark = "↯ " if line.kind == "fault" else ""
    return Text.assemble(
        (f"{clock(line.at):>9}  ", "dim"), (f"{plain(line.subject):<{width}}  ", ""), (mark + plain(line.text), style)
    )


def ladder(rungs: Sequence[Climbed]) -> Iterator[Text]:
    """One line a rung: the leg that came closest to it, and whoever hit it."""
    if not rungs:
        return
    yield Text(f"{'ladder':<18}{'spent':>14} {'of':>12}{'':24}{'slack':>14}  closest", "bold")
    for name in ORDER:
        mine = [rung for rung in rungs if rung.rung == name and rung.budget > 0]
        if not mine:
            continue
        hit = [rung for rung in mine if rung.hit]
        top = max(hit or mine, key=lambda rung: rung.spent / rung.budget)
        part = top.spent / top.budget
        style = "bold red" if hit and name != "turn" else "yellow" if hit or part > 0.9 else "green"
        bar = "█" * min(20, round(part * 20))
        text = Text(f"{name:<18}{spell(top.spent):>14} {spell(top.budget):>12}  ")
        text.append(f"{bar:·<20}", style).append(f"  {spell(top.slack):>14}", style)
        text.append(f"  {plain(top.subject) or 'the gate'}")
        if len(hit) > 1:
            text.append(f" (hit by {len(hit)} legs)", style)
        elif hit:
            text.append(" (hit)", style)
        yield text
