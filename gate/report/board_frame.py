"""One frame of the live board: every leg a row where they fit, else the worst and the busiest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from gate.machines.duration import spell
from gate.machines.rows import LegRow
from gate.machines.verdict import Outcome
from gate.report.events import Heading
from gate.report.text import clock, cut, plain
from gate.rundir.formats import Decision

AROUND = 10
"""Lines of a frame that are no rows."""
WIDE = 100
"""Columns from which a bar shows elapsed against budget."""
BAR = 10
STALE = 600.0
"""Seconds without a change after which a row says so in colour."""

STYLES = {
    "PASS": "bold green",
    "FAIL": "bold red",
    "ERROR": "bold magenta",
    "NOT_JUDGED": "dim",
    "carried": "green",
    "queued": "dim",
    "not seen": "dim",
    "starting": "blue",
    "preparing": "blue",
    "set-up": "blue",
    "launching": "blue",
    "running": "cyan",
    "reading": "yellow",
    "ended": "yellow",
    "vanished": "yellow",
}
GLYPHS = {
    "PASS": "✔",
    "FAIL": "✘",
    "ERROR": "⚠",
    "NOT_JUDGED": "–",
    "carried": "✔",
    "queued": "◌",
    "not seen": "◌",
    "reading": "◔",
    "ended": "◔",
    "vanished": "◔",
}
RUNNING = "●"
ORDER = (
    *("FAIL", "ERROR", "reading", "ended", "vanished"),
    *("running", "launching", "set-up", "preparing", "starting"),
    *("queued", "not seen", "NOT_JUDGED", "PASS", "carried"),
)
"""States, worst and busiest first."""
PLACES = {word: place for place, word in enumerate(ORDER)}


@dataclass(frozen=True, slots=True)
class Frame:
    """What the board shows at one moment. `since`: seconds since the last look."""

    heading: Heading
    rows: tuple[LegRow, ...] = ()
    elapsed: float = 0.0
    since: float = 0.0
    engine: str = "seen"
    engine_detail: str = ""
    engine_blind: float = 0.0
    root_blind: float = 0.0
    decision: Decision | None = None
    notes: tuple[str, ...] = field(default=())

    def later(self, seconds: float) -> Frame:
        """The same, so much later: what is undecided goes on."""
        rows = tuple(row if row.outcome is not None else _later(row, seconds) for row in self.rows)
        return replace(self, rows=rows, elapsed=self.elapsed + seconds, since=seconds)

    def decided(self, decision: Decision) -> Frame:
        """The last frame. A leg that a cancel left unjudged is shown so, and not as what it was when last looked at."""
        outcomes = {leg.leg: leg for leg in decision.legs}
        rows = tuple(
            replace(row, outcome=outcomes[row.leg].outcome, reason=outcomes[row.leg].reason, changed=None, note="")
            if row.outcome is None and row.leg in outcomes
            else row
            for row in self.rows
        )
        return replace(self, rows=rows, decision=decision)


def render(frame: Frame, width: int, height: int) -> RenderableType:
    """The frame for a terminal of this size."""
    room = max(3, height - AROUND)
    shown, hidden = _choose(frame.rows, room)
    rule = Rule(style="bright_black")
    parts: list[RenderableType] = [
        rule,
        title(frame.heading, frame.elapsed),
        counts(frame.rows),
        Text(),
        leg_table(shown, width),
    ]
    if hidden:
        parts.append(Text(f"  … and {len(hidden)} more: {_said(hidden)}", style="dim"))
    parts += [Text(), *_foot(frame)]
    return Group(*parts)


def state_of(row: LegRow) -> str:
    """The word of a row's state: its outcome, or where it is."""
    if row.carried:
        return "carried"
    return row.outcome.value if row.outcome is not None else row.phase


def _later(row: LegRow, seconds: float) -> LegRow:
    changed = None if row.changed is None else row.changed + seconds
    return replace(row, elapsed=row.elapsed + seconds, changed=changed)


def _choose(rows: Sequence[LegRow], room: int) -> tuple[Sequence[LegRow], Sequence[LegRow]]:
    if len(rows) <= room:
        return rows, ()
    ordered = sorted(rows, key=_rank)
    return ordered[: room - 1], ordered[room - 1 :]


def _rank(row: LegRow) -> tuple[int, bool, float]:
    return PLACES.get(state_of(row), len(ORDER)), not row.blocking, -(row.changed or 0.0)


def title(heading: Heading, elapsed: float) -> RenderableType:
    """The line that says whose legs these are, and for how long."""
    line = Table.grid(expand=True, padding=0)
    line.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    line.add_column(justify="right", no_wrap=True)
    left = Text.assemble((plain(heading.gate), "bold"), " ", (plain(heading.version), "bold"))
    scope = "" if heading.scope == "full" else f" · {heading.scope} only"
    left.append(f"   run {plain(heading.run)} · attempt {heading.attempt}{scope}", style="dim")
    line.add_row(left, Text(clock(elapsed), style="bold"))
    return line


def counts(rows: Sequence[LegRow]) -> Text:
    """How many legs are where, worst and busiest first."""
    found = Counter(state_of(row) for row in rows)
    line = Text()
    for word in sorted(found, key=lambda word: PLACES.get(word, len(ORDER))):
        line.append(f"{'   ' if line else ''}{GLYPHS.get(word, RUNNING)} {found[word]} {word}", style=STYLES.get(word))
    return line or Text("no leg has been looked at yet", style="dim")


def _said(rows: Sequence[LegRow]) -> str:
    return ", ".join(f"{count} {word}" for word, count in Counter(map(state_of, rows)).most_common())


def leg_table(rows: Sequence[LegRow], width: int) -> Table:
    """A row a leg. Columns in which nothing stands are left out: in eighty of them the values need the room."""
    wide = width >= WIDE
    turns, changed = any(row.turns for row in rows), any(row.changed is not None for row in rows)
    table = Table(box=None, expand=True, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    table.add_column("LEG", no_wrap=True, max_width=34 if wide else 22, overflow="ellipsis")
    table.add_column("STATE", no_wrap=True, min_width=12)
    table.add_column("TIME", no_wrap=True)
    if turns:
        table.add_column("TURNS", no_wrap=True, justify="right")
    if changed:
        table.add_column("CHANGED", no_wrap=True, justify="right")
    table.add_column("VALUES", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        word = state_of(row)
        name = Text(plain(row.leg), style="" if row.blocking else "dim italic")
        state = Text(f"{GLYPHS.get(word, RUNNING)} {word}", style=STYLES.get(word, ""))
        between = [*([_turns(row)] if turns else []), *([_changed(row)] if changed else [])]
        table.add_row(name, state, _time(row, wide=wide), *between, _values(row, wide=wide))
    return table


def _time(row: LegRow, *, wide: bool) -> Text:
    if row.carried:
        return Text("–", style="dim")
    text = Text(f"{clock(row.elapsed):>8}")
    if row.budget is None or row.outcome is not None or row.budget <= 0:
        return text
    share = min(1.0, row.elapsed / row.budget)
    colour = "red" if share >= 0.9 else "yellow" if share >= 0.75 else "cyan"
    if not wide:
        return text.append(f" {share:4.0%}", style=colour if share >= 0.75 else "dim")
    filled = round(share * BAR)
    text.append(" ").append("━" * filled, style=colour).append("━" * (BAR - filled), style="bright_black")
    return text.append(f" of {spell(row.budget)}", style="dim")


def _turns(row: LegRow) -> Text:
    again = row.recaps + row.redrives  # a resumed conversation is how it should be
    text = Text(str(row.turns) if row.turns else "–", style="" if row.turns else "dim")
    return text.append(f" ↻{again}", style="yellow") if again else text


def _changed(row: LegRow) -> Text:
    if row.changed is None:
        return Text("–", style="dim")
    return Text(spell(int(row.changed)), style="yellow" if row.changed > STALE else "dim")


def _values(row: LegRow, *, wide: bool) -> Text:
    text = Text()
    if not row.blocking:
        text.append("informing", style="dim italic").append("  ")
    if row.outcome not in (None, Outcome.PASS):
        if row.reason is not None and (wide or not row.note):  # the sentence says more
            text.append(row.reason.value.replace("_", " "), style=STYLES[row.outcome.value]).append("  ")
        return text.append(plain(row.note), style="dim")
    if row.flaky:
        text.append("flaky", style="yellow").append("  ")
    for key, value in _named(row.fields):
        text.append(f"{plain(cut(key, 24))} ", style="dim").append(f"{plain(cut(_short(value), 24))}  ")
    if row.note and row.outcome is None:
        text.append(plain(row.note), style="dim")
    return text


def _named(fields: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Shown fields under the last word of their keys, where that tells them apart."""
    found = Counter(key.rpartition(".")[2] for key, _ in fields)
    return [(last if found[last := key.rpartition(".")[2]] == 1 else key, value) for key, value in fields]


def _short(value: str) -> str:
    """A shown value; a long fraction to six digits, as a board is glanced at and never judged from."""
    if len(value) <= 8 or not value.lstrip("-").replace(".", "", 1).isdigit():
        return value
    return f"{float(value):.6g}" if "." in value else value


def _foot(frame: Frame) -> list[RenderableType]:
    lines: list[RenderableType] = []
    if frame.engine != "seen":
        detail = f" ({plain(frame.engine_detail)})" if frame.engine_detail else ""
        said = f"⚠ engine not seen for {spell(int(frame.engine_blind + frame.since))}: {frame.engine}{detail}"
        lines.append(Text(said, style="yellow", no_wrap=True, overflow="ellipsis"))
    if frame.root_blind:
        said = f"⚠ shared root not seen for {spell(int(frame.root_blind + frame.since))}: nothing is decided meanwhile"
        lines.append(Text(said, style="yellow", no_wrap=True, overflow="ellipsis"))
    if frame.decision is not None:
        lines.append(decided(frame.decision))
    else:
        left = spell(int(max(0.0, frame.heading.deadline - frame.elapsed)))
        said = f"looked {spell(int(frame.since))} ago · deadline in {left} · Ctrl-C cancels the run"
        lines.append(Text(said, style="dim", no_wrap=True, overflow="ellipsis"))
    return lines


def decided(decision: Decision) -> Text:
    """The word, in colour, and the cause."""
    colours = {0: "black on green", 1: "white on red", 3: "white on magenta"}
    style = f"bold {colours.get(decision.exit_code, 'black on yellow')}"
    scope = "" if decision.scope == "full" else f" ({decision.scope})"
    return Text.assemble((f" {decision.word}{scope} ", style), " ", plain(decision.cause))
