"""What the page's script draws, as plain JSON: one object a leg, times in seconds on the page's axis."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from gate.documents import Json
from gate.report.board_frame import state_of
from gate.report.explain import explain_text, undecided_text
from gate.report.html.page import Lane, Page, Rung, Turn
from gate.report.html.texts import pieces
from gate.report.html.words import glyph, rank


def data(page: Page) -> Json:
    """The whole; `legs` in the order of gate.yaml, `worst` their positions, worst first."""
    lanes = page.lanes
    order = sorted(range(len(lanes)), key=lambda at: (rank(lanes[at]), at))
    return {
        "begin": page.begin,
        "elapsed": _round(page.elapsed),
        "running": page.decision is None,
        "run": page.run,
        "simulated": page.kind == "simulation",
        "blind": [[each.what, _round(each.begin), _maybe(each.end), each.text] for each in page.blind],
        "rungs": [_rung(rung) for rung in page.rungs],
        "moments": [[_round(each.at), each.text] for each in page.moments],
        "worst": order,
        "legs": [_leg(lane, page.observed) for lane in lanes],
    }


def _leg(lane: Lane, observed: float | None) -> Json:
    row, verdict = lane.row, lane.verdict
    word = state_of(row)
    found: dict[str, Json] = {
        "name": row.leg,
        "state": word,
        "glyph": glyph(word),
        "outcome": row.outcome.value if row.outcome is not None else "",
        "reason": verdict.reason.value if verdict is not None else "",
        "sentence": verdict.sentence if verdict is not None else lane.sentence,
        "blocking": row.blocking,
        "carried": row.carried,
        "flaky": row.flaky,
        "took": None if row.carried else _round(row.elapsed),
        "at": _round(verdict.elapsed) if verdict is not None else None,
        "workload": row.workload,
        "spans": [[span.kind, _round(span.begin), _maybe(span.end)] for span in lane.spans],
        "turns": [_turn(turn) for turn in lane.turns],
        "gaps": [[_round(gap.begin), _maybe(gap.end)] for gap in lane.gaps],
        "rungs": [_rung(rung) for rung in lane.rungs],
        "counts": [row.turns, row.resumes, row.recaps, row.redrives],
        "cost": row.cost_usd,
        "fields": [list(pair) for pair in row.fields],
        "explain": pieces(_explained(lane, observed)),
    }
    return found | {key: value for key, value in _seldom(lane).items() if value}


def _seldom(lane: Lane) -> dict[str, Json]:
    """Left out where there is nothing: a thousand legs are to stay a small file."""
    return {
        "starts": list(lane.incarnations) if len(lane.incarnations) > 1 else [],
        "agent": lane.agent_version or "",
        "survivors": list(lane.survivors),
        "secrets": list(lane.secret_hits),
        "remarks": list(lane.remarks),
        "moments": [[_round(each.at), each.text] for each in lane.moments],
        "log": lane.log,
    }


def _explained(lane: Lane, observed: float | None) -> Text:
    """The text of `gate explain`."""
    if lane.verdict is not None:
        return explain_text(lane.verdict)
    return undecided_text(lane.row.leg, lane.row.phase, lane.sentence, lane.rules, observed)


def _turn(turn: Turn) -> Sequence[Json]:
    return [
        *(turn.ordinal, turn.kind, turn.how, _round(turn.begin), _maybe(turn.end)),
        *(turn.outcome, turn.said, turn.budget, turn.cost_usd),
    ]


def _rung(rung: Rung) -> Sequence[Json]:
    return [rung.name, _round(rung.budget), _maybe(rung.begin), _maybe(rung.used), rung.hit, rung.open]


def _round(seconds: float) -> float:
    return round(seconds, 2)


def _maybe(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 2)
