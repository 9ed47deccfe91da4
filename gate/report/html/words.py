"""The first thing that is read: the word, what it means, and the cause in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gate.machines.decision import WORST, grouped
from gate.machines.verdict import Outcome
from gate.report.board_frame import GLYPHS, PLACES, RUNNING, state_of
from gate.report.html.page import Lane, Page
from gate.report.html.texts import short


@dataclass(frozen=True, slots=True)
class Headline:
    """The word, its glyph and tone (a class of the style sheet: never colour alone), and what it means."""

    word: str
    glyph: str
    tone: str
    meaning: str
    cause: str


def headline(page: Page) -> Headline:
    """What is told first."""
    decision = page.decision
    if decision is None:
        return Headline("RUNNING", RUNNING, "running", _outlook(page), _running(page))
    glyph, tone, meaning = _MEANING[decision.word]
    word: str = decision.word
    if decision.word == "PASSED":
        word = f"PASSED ({decision.scope})"
        needed = f"{len(page.lanes)} of the {len(page.plan.all_legs)} legs"
        meaning = f"{needed} were asked for. Only a full pass is a release pass."
    elif page.plan.scope != "full":
        meaning = f"{meaning} Only the {page.plan.scope} legs were asked for."
    return Headline(word, glyph, tone, meaning, f"{decision.cause[:1].upper()}{decision.cause[1:]}")


_MEANING = {
    "GO": ("✔", "go", "A full pass: every blocking leg was measured and met its criteria."),
    "PASSED": ("✔", "partial", ""),
    "NO-GO": ("✘", "nogo", "A blocking leg was measured, and the product did not meet its criteria."),
    "NOT MEASURED": ("⚠", "unmeasured", "Nothing is known about the product: a blocking leg gave no measurement."),
    "SUPERSEDED": ("⇥", "stopped", "A newer run for the same ref took over; this one says nothing about the product."),
    "CANCELLED": ("⊘", "stopped", "Somebody ended this run; it says nothing about the product."),
}


def _outlook(page: Page) -> str:
    lost = [lane.verdict for lane in page.lanes if lane.verdict is not None and lane.verdict.blocking]
    said = grouped(lost)
    if said:
        return f"It can no longer pass: {said}."
    if page.eta is None:
        return "Every leg is judged; the decision is not written yet."
    left = page.eta.latest - page.elapsed
    return f"Decided in {short(left)} at the latest, counted from the last observation."


def _running(page: Page) -> str:
    judged = sum(lane.verdict is not None for lane in page.lanes)
    if page.observed is None:
        return f"Nobody has polled this attempt yet; {len(page.lanes)} legs wait to be seen"
    where = ", ".join(f"{count} {word}" for word, count in counts(page.lanes))
    return f"{judged} of {len(page.lanes)} legs judged: {where}"


def counts(lanes: Sequence[Lane]) -> list[tuple[str, int]]:
    """How many legs are where, worst and busiest first."""
    found = Counter(state_of(lane.row) for lane in lanes)
    return sorted(found.items(), key=lambda each: PLACES.get(each[0], len(PLACES)))


def glyph(word: str) -> str:
    """The glyph of a leg's state."""
    return GLYPHS.get(word, RUNNING)


def rank(lane: Lane) -> tuple[int, bool, int, float]:
    """Worst first: what did not pass, then what is not judged yet, then what passed; blocking legs before others."""
    outcome = lane.verdict.outcome if lane.verdict is not None else None
    settled = {Outcome.FAIL: 0, Outcome.ERROR: 0, None: 1, Outcome.NOT_JUDGED: 2, Outcome.PASS: 3}[outcome]
    worst = WORST.index(outcome) if outcome is not None else PLACES.get(lane.row.phase, len(PLACES))
    return settled, not lane.row.blocking, worst, -lane.row.elapsed
