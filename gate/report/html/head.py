"""The first screen as plain values for the template: what a release manager needs at seven in the morning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gate.machines.decision import phrase
from gate.machines.verdict import Outcome, Reason
from gate.report.board_frame import state_of
from gate.report.html.page import Burning, Lane, Page
from gate.report.html.texts import iso, short, size, utc
from gate.report.html.words import glyph, headline, rank
from gate.rundir.formats import Manifest

LISTED = 8
"""Blocking legs that are listed one by one; beyond that they are grouped by reason."""
INFORMING = 3
"""The same for legs that never change the decision."""
NAMED = 6

View = dict[str, Any]


def moment(wall: float | None) -> View | None:
    """A wall time for the template's `when`."""
    return None if wall is None else {"utc": utc(wall), "iso": iso(wall)}


def head(page: Page) -> View:
    """Everything above the fold."""
    said = headline(page)
    blocking = [lane for lane in page.lanes if lane.row.blocking]
    lost = sorted((lane for lane in blocking if not _passed(lane)), key=rank)
    informing = sorted((lane for lane in page.lanes if _informs(lane)), key=rank)
    return {
        "word": said.word,
        "glyph": said.glyph,
        "tone": said.tone,
        "meaning": said.meaning,
        "cause": said.cause,
        "simulated": page.kind == "simulation",
        "title": f"{page.plan.gate} {page.plan.version}",
        "observed": moment(page.observed),
        "observed_ago": _ago(page),
        "written": moment(page.written),
        "decided": moment(page.decision.at) if page.decision is not None else None,
        "took": short(page.elapsed),
        "eta": _eta(page),
        "poller": page.poller,
        "running": page.decision is None,
        "subject": _subject(page),
        "blocking": len(blocking),
        "blocking_passed": len(blocking) - len(lost),
        "legs": [_leg(lane) for lane in lost] if len(lost) <= LISTED else [],
        "groups": _groups(lost) if len(lost) > LISTED else [],
        "informing": [_leg(lane) for lane in informing] if len(informing) <= INFORMING else [],
        "informing_groups": _groups(informing) if len(informing) > INFORMING else [],
        "burning": _burning(page.burning),
        "gpus": sum(each.gpus for each in page.burning),
        "next": list(page.next),
    }


def _passed(lane: Lane) -> bool:
    return lane.verdict is not None and lane.verdict.outcome is Outcome.PASS


def _informs(lane: Lane) -> bool:
    return not lane.row.blocking and lane.verdict is not None and not _passed(lane)


def _leg(lane: Lane) -> View:
    word = state_of(lane.row)
    verdict = lane.verdict
    return {
        "name": lane.row.leg,
        "state": word,
        "glyph": glyph(word),
        "tone": verdict.outcome.value if verdict is not None else "going",
        "reason": verdict.reason.value if verdict is not None else "",
        "sentence": verdict.sentence if verdict is not None else lane.sentence,
        "took": short(lane.row.elapsed),
    }


def _groups(lanes: Sequence[Lane]) -> list[View]:
    """Legs with the same state and reason together, in the order of the worst of each."""
    found: dict[tuple[str, Reason | None], list[Lane]] = {}
    for lane in lanes:
        reason = lane.verdict.reason if lane.verdict is not None else None
        found.setdefault((state_of(lane.row), reason), []).append(lane)
    return [
        {
            "state": word,
            "glyph": glyph(word),
            "tone": word if reason is not None else "going",
            "reason": reason.value if reason is not None else "",
            "phrase": phrase(reason) if reason is not None else word,
            "count": len(members),
            "names": [member.row.leg for member in members[:NAMED]],
            "more": max(0, len(members) - NAMED),
            "sentence": members[0].verdict.sentence if len(members) == 1 and members[0].verdict else "",
        }
        for (word, reason), members in found.items()
    ]


def _ago(page: Page) -> str:
    if page.observed is None or page.kind == "simulation":
        return ""
    passed = page.written - page.observed
    return f"{short(passed)} before this page was written" if passed >= 1 else "just before this page was written"


def _eta(page: Page) -> View | None:
    eta = page.eta
    if eta is None:
        return None
    expected = None if eta.expected is None else moment(page.begin + eta.expected)
    return {
        "expected": expected,
        "expected_in": "" if eta.expected is None else short(eta.expected - page.elapsed),
        "latest": moment(page.begin + eta.latest),
        "latest_in": short(eta.latest - page.elapsed),
    }


def _subject(page: Page) -> list[View]:
    plan, manifest = page.plan, page.manifest
    artifact = plan.artifact
    rows: list[View] = []
    if artifact.kind != "none":
        weight = f", {size(artifact.size)}" if artifact.size else ""
        rows.append(_fact("artifact", artifact.name or artifact.source, note=f"{artifact.digest[:19]}…{weight}"))
    else:
        rows.append(_fact("artifact", "none"))
    rows.append(_fact("version", plan.version))
    rows.append(_fact("commit", plan.commit[:12] or "(none)", note=plan.ref, title=plan.commit))
    rows.append(_fact("attempt", f"{page.attempt} of run {page.run}", note=f"tag {page.tag}"))
    chosen, every = len(page.lanes), len(plan.all_legs)
    rows.append(
        _fact("scope", plan.scope, note=f"{chosen} of {every} legs" if chosen != every else f"all {every} legs")
    )
    rows.append(_staging(page, manifest))
    return rows


def _staging(page: Page, manifest: Manifest | None) -> View:
    if page.kind == "simulation":
        return _fact("staged by", "nobody: a simulation launches nothing")
    if manifest is None:
        return _fact("staged by", "nothing was staged")
    own = manifest.run == page.run
    note = utc(manifest.staged_at)
    if not own:
        note = f"{note}, commit {manifest.commit[:12] or '(none)'}"
    return _fact(
        "staged by", f"this run, attempt {manifest.attempt}" if own else f"another run: {manifest.run}", note=note
    ) | {"differs": not own}


def _fact(label: str, value: str, *, note: str = "", title: str = "") -> View:
    return {"label": label, "value": value, "note": note, "title": title, "differs": False}


def _burning(burning: Sequence[Burning]) -> list[View]:
    """Workloads that burn for the same reason together; kept ones where they end in the same minute."""
    found: dict[tuple[str, bool, int | None], list[Burning]] = {}
    for each in burning:
        minute = int(each.until // 60) if each.kept and each.until is not None else None
        found.setdefault((each.why, each.kept, minute), []).append(each)
    return [_fire(members) for members in found.values()]


def _fire(members: Sequence[Burning]) -> View:
    first = members[0]
    commands = dict.fromkeys(each.stop for each in members)
    whole = next(iter(commands)) if len(commands) == 1 else ""
    if len(commands) > 1 and first.stop.startswith("gate stop "):
        whole = "gate stop --run " + first.stop.rpartition(" ")[2]
    return {
        "count": len(members),
        "names": [each.workload for each in members[:NAMED]],
        "more": max(0, len(members) - NAMED),
        "gpus": sum(each.gpus for each in members),
        "why": first.why,
        "kept": first.kept,
        "until": moment(max((each.until for each in members if each.until is not None), default=None)),
        "stop": whole or first.stop,
    }
