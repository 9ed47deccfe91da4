"""A verdict as a derivation: every rule, what was observed, from which file or call, how old that was, its hash, and
the first rule that decided.

The same text for a terminal, for a report and, beside its parts, in JSON.
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
OPEN = "○"
DECIDES = "◀ decided"
HASH = 12
"""Digits of a hash that a line shows; JSON has all of them, and the evidence's own."""


def explain_text(verdict: Verdict) -> Text:
    """The derivation for people; ends in a newline."""
    word = verdict.outcome.value
    text = Text.assemble((f"{GLYPHS[word]} {word}", STYLES[word]), f" {plain(verdict.leg)}: {verdict.reason.value}")
    text.append("" if verdict.blocking else "  (informing: never changes the decision)", style="dim")
    text.append(f"\n  {plain(verdict.sentence)}\n")
    for line in _notes(verdict):
        text.append(f"  {line}\n", style="yellow")
    text.append_text(_decider(verdict))
    text.append("\n").append_text(rules_text(verdict.rules)).append("\n")
    text.append_text(_evidence(verdict))
    text.append(f"judged    {_judged(verdict)}\n", style="dim")
    return text


def explain_json(verdict: Verdict) -> Json:
    """The same for programs: the verdict's fields, the deciding rule by itself, how old the evidence was, the text."""
    return {
        **encode(verdict),
        "decided_by": encode(deciding(verdict.rules)),
        "evidence_age": _age(verdict),
        "text": explain_text(verdict).plain,
    }


def undecided_text(leg: str, phase: str, sentence: str, rules: Sequence[Rule], observed: float | None) -> Text:
    """What is known so far of a leg that is not judged; `rules` as `gate_sofar.so_far` has them, `observed` the wall
    time of the last look, None where nobody has polled yet."""
    when = "nobody has polled this attempt yet" if observed is None else f"as seen at {stamp(observed)}"
    text = Text(f"{plain(leg)} is not judged yet: {plain(phase)}; {when}\n  {plain(sentence)}\n\n")
    return text.append_text(rules_text(rules, open_=True))


def undecided_json(leg: str, phase: str, sentence: str, rules: Sequence[Rule], observed: float | None) -> Json:
    """The same for programs."""
    return {
        "leg": leg,
        "outcome": None,
        "phase": phase,
        "sentence": sentence,
        "observed": observed,
        "rules": encode(rules),
        "text": undecided_text(leg, phase, sentence, rules, observed).plain,
    }


def deciding(rules: Sequence[Rule]) -> Rule | None:
    """The first rule that decided; None in a verdict of no machine's (`gate stop`)."""
    return next((rule for rule in rules if rule.decides), None)


def rules_text(rules: Sequence[Rule], *, open_: bool = False) -> Text:
    """One rule a line, what was observed and where, how old it was and its hash below it.

    `open_`: nothing is decided, and what does not hold yet is no fault.
    """
    text = Text()
    for rule in rules:
        mark, style = (HOLDS, "green") if rule.holds else (BROKEN, "red" if rule.decides else "yellow")
        if open_ and not rule.holds:
            mark, style = OPEN, "dim"
        text.append(f"  {mark} ", style=style).append(plain(rule.name), style="bold" if rule.decides else "")
        if rule.decides:
            text.append(f"   {DECIDES}", style=f"bold {style}")
        text.append(f"\n      observed  {plain(rule.observed)}\n")
        text.append(f"      from      {_from(rule)}\n", style="dim")
    return text


def _from(rule: Rule) -> str:
    age = "" if rule.age is None else f", {spell(rule.age)} old"
    digest = f", sha256:{plain(rule.sha256[:HASH])}" if rule.sha256 else ""
    return f"{plain(rule.source)}{age}{digest}"


def _decider(verdict: Verdict) -> Text:
    rule = deciding(verdict.rules)
    if rule is None:
        return Text()
    # A carried verdict was decided by what its own attempt saw.
    return Text.assemble("  decided by  ", (plain(rule.name), "bold"), f"; observed {plain(rule.observed)}\n")


def _judged(verdict: Verdict) -> str:
    when = f"{stamp(verdict.at)}, {spell(verdict.elapsed)} after the first poll of"
    now = f"attempt {verdict.attempt} (tag {plain(verdict.tag)})"
    if verdict.carried_from is None:
        return f"{when} {now}"
    return f"{when} the attempt with tag {plain(verdict.carried_from)}; carried into {now}"


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
