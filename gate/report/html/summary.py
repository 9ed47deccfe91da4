"""The summary and the run's identity, below the first screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gate import __version__
from gate.report.html.head import moment
from gate.report.html.page import Page, Rung
from gate.report.html.texts import short, size
from gate.report.html.words import counts, glyph

View = dict[str, Any]


def summary(page: Page) -> View:
    """Counts and totals."""
    return {
        "counts": [{"state": word, "count": count, "glyph": glyph(word)} for word, count in counts(page.lanes)],
        "total": len(page.lanes),
        "figures": [{"label": label, "value": value, "note": note} for label, value, note in _figures(page)],
    }


def _figures(page: Page) -> Iterator[tuple[str, str, str]]:
    rows = [lane.row for lane in page.lanes]
    yield ("so far" if page.decision is None else "decided after"), short(page.elapsed), "since the first poll"
    turns = sum(row.turns for row in rows)
    again = [
        f"{count} {word}{'s' * (count != 1)}"
        for word, count in (
            ("resume", sum(row.resumes for row in rows)),
            ("recap", sum(row.recaps for row in rows)),
            ("redrive", sum(row.redrives for row in rows)),
        )
        if count
    ]
    if turns:
        yield "agent turns", str(turns), ", ".join(again) or "none had to be resumed"
    known = [row.cost_usd for row in rows if row.cost_usd is not None and row.turns]
    spent = sum(row.turns > 0 for row in rows)
    if known:
        yield "cost", f"${sum(known):,.2f}", f"known of {len(known)} of {spent} legs with turns"
    tight = tightest(page)
    if tight is not None:
        leg, rung = tight
        slack = rung.slack or 0.0
        left = f"{short(slack)} of {short(rung.budget)} left" if slack > 0 and not rung.hit else "reached"
        yield "tightest rung", rung.name, f"{leg}: {left}"
    unseen = sum((page.elapsed if each.end is None else each.end) - each.begin for each in page.blind)
    if page.blind:
        times = len(page.blind)
        yield "unseen", short(unseen), f"in {times} stretch{'es' * (times != 1)}; charged to no stall budget"
    flaky = sum(row.flaky for row in rows)
    if flaky:
        yield "flaky", str(flaky), "passed only on a later attempt"


def tightest(page: Page) -> tuple[str, Rung] | None:
    """The rung of a leg with the least of its budget left, where its clock ran to an end."""
    found = [
        (1.0 if rung.hit else rung.used / rung.budget, lane.row.leg, rung)
        for lane in page.lanes
        for rung in lane.rungs
        if rung.used is not None and rung.name != "turn" and (rung.hit or rung.name != "workload time-out")
    ]
    worst = max(found, key=lambda each: each[0], default=None)
    return None if worst is None else (worst[1], worst[2])


def identity(page: Page) -> list[View]:
    """Everything that says exactly which run this was."""
    return [{"label": label, "value": value} for label, value in _identity(page) if value]


def _identity(page: Page) -> Iterator[tuple[str, str]]:
    plan, manifest = page.plan, page.manifest
    yield "gate", plan.gate
    yield "repository", plan.repository
    yield "run, attempt, tag", f"{page.run}, {page.attempt}, {page.tag}"
    yield "product", f"version {plan.version}, ref {plan.ref}"
    yield "commit", plan.commit
    artifact = plan.artifact
    yield "artifact", f"{artifact.kind}: {artifact.name or artifact.source}" if artifact.kind != "none" else "none"
    yield "artifact digest", f"{artifact.digest} ({size(artifact.size)})" if artifact.kind != "none" else ""
    if manifest is not None:
        stamp = moment(manifest.staged_at)
        at = stamp["utc"] if stamp is not None else ""
        yield "staged", f"by run {manifest.run}, attempt {manifest.attempt}, commit {manifest.commit}, {at}"
        yield "staged with", f"gate {manifest.gate_version}"
        yield "tools", ", ".join(f"{name} {version}" for name, version in manifest.tools.items())
        url = manifest.ci.get("url", "")
        yield "staging CI run", url
    agents = {f"{lane.agent_version}" for lane in page.lanes if lane.agent_version}
    yield "agents", ", ".join(sorted(agents))
    yield "engine", plan.engine.kind
    yield "configuration", f"{plan.config} ({plan.config_digest})"
    yield "shared root", plan.root
    yield from page.facts
    yield "this page", f"gate {__version__}"
