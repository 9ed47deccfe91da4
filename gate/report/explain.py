"""A verdict as a derivation: every rule, what was observed, where, how old it was, and the one that decided.

The same content for a terminal, for a report and as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from gate.documents import Json, encode
from gate.machines.duration import spell
from gate.machines.verdict import Evidence, Rule, Verdict
from gate.report.board_frame import GLYPHS, STYLES
from gate.report.text import plain, stamp

HOLDS = "✔"
BROKEN = "✘"
DECIDES = "◀ decided"


def explain_text(verdict: Verdict) -> Text:
    """The derivation for people; ends in a newline."""
    word = verdict.outcome.value
    text = Text.assemble((f"{GLYPHS[word]} {word}", STYLES[word]), f" {plain(verdict.leg)}: {verdict.reason.value}")
    text.append("" if verdict.blocking else "  (informing: never changes the decision)", style="dim")
    text.append(f"\n  {plain(verdict.sentence)}\n")
    for line in _notes(verdict):
        text.append(f"  {line}\n", style="yellow")
    text.append("\n").append_text(rules_text(verdict.rules)).append("\n")
    text.append_text(_evidence(verdict))
    text.append(
        f"judged    {stamp(verdict.at)}, attempt {verdict.attempt} (tag {plain(verdict.tag)}), "
        f"{spell(verdict.elapsed)} after its first poll\n",
        style="dim",
    )
    return text


def explain_json(verdict: Verdict) -> Json:
    """The same for programs: the verdict's fields, the deciding rule by itself, and how old the evidence was."""
    return {
        **encode(verdict),
        "decided_by": encode(deciding(verdict.rules)),
        "evidence_age": _age(verdict),
    }


def deciding(rules: Sequence[Rule]) -> Rule | None:
    """The first rule that decided; None in a verdict of no machine's (`gate stop`)."""
    return next((rule for rule in rules if rule.decides), None)


def rules_text(rules: Sequence[Rule]) -> Text:
    """One rule a line, what was observed and where below it."""
    text = Text()
    for rule in rules:
        mark, style = (HOLDS, "green") if rule.holds else (BROKEN, "red" if rule.decides else "yellow")
        text.append(f"  {mark} ", style=style).append(plain(rule.name), style="bold" if rule.decides else "")
        if rule.decides:
            text.append(f"   {DECIDES}", style=f"bold {style}")
        text.append(f"\n      observed  {plain(rule.observed)}\n")
        text.append(f"      from      {plain(rule.source)}\n", style="dim")
    return text


def _notes(verdict: Verdict) -> list[str]:
    notes: list[str] = []
    if verdict.carried_from is not None:
        notes.append(f"carried: measured by the attempt with tag {plain(verdict.carried_from)}, with identical digests")
    if verdict.flaky:
        notes.append("flaky: an earlier attempt of this run did not pass")
    return notes


def _age(verdict: Verdict) -> float | None:
    # Both are readings of one poller's clock; a carried verdict keeps its first time of judging.
    return None if verdict.evidence is None else max(0.0, verdict.at - verdict.evidence.read_at)


def _evidence(verdict: Verdict) -> Text:
    evidence = verdict.evidence
    if evidence is None:
        return Text("evidence  none was taken\n", style="dim")
    text = Text(style="dim")
    text.append(f"evidence  {_file(evidence)}\n")
    age = _age(verdict) or 0.0
    text.append(f"          read {stamp(evidence.read_at)}, {spell(age)} old when judged\n")
    owner = f"tag {evidence.tag}, " if evidence.tag else "no tag, "
    text.append(f"          {plain(owner)}incarnation {plain(evidence.incarnation)}, pointer {evidence.sequence}; ")
    return text.append(f"the workload then: {plain(evidence.phase)}\n")


def _file(evidence: Evidence) -> str:
    state = evidence.state
    if not state.sha256:
        detail = f": {state.detail}" if state.detail else ""
        return plain(f"state file {state.path or '(none)'} {state.status}{detail}")
    return f"{plain(state.path)}, {state.size} bytes\n          sha256:{plain(state.sha256)}"
