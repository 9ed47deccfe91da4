"""What `gate explain` says of every verdict in the corpus, and of legs that are not judged: one text everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from rich.text import Text
from syrupy.assertion import SnapshotAssertion

from gate.documents import Json
from gate.machines.clock import Now
from gate.machines.gate_derive import CLOCK, ENGINE
from gate.machines.gate_sofar import so_far
from gate.machines.rows import rows
from gate.machines.verdict import Outcome, Rule, Verdict
from gate.poll.replay import Replay
from gate.report.explain import deciding, explain_json, explain_text, undecided_json, undecided_text
from tests.corpus.outcome import replays
from tests.corpus.paths import names


def explained(one: Replay) -> Iterator[tuple[str, tuple[Rule, ...], Verdict | None, Text, Json]]:
    """Leg, its rules, its verdict, the text and the JSON."""
    for leg in one.legs:
        verdict = one.state.legs[leg.leg].verdict
        if verdict is not None:
            yield leg.leg, verdict.rules, verdict, explain_text(verdict), explain_json(verdict)
            continue
        now: Now = one.state.watch.last
        row = next(row for row in rows(one.state, now) if row.leg == leg.leg)
        words, rules = one.state.legs[leg.leg].reading.words, so_far(one.state, leg.leg, now)
        args = (leg.leg, row.phase, words, rules, now.wall)
        yield leg.leg, rules, None, undecided_text(*args), undecided_json(*args)


@pytest.mark.parametrize("name", names())
def test_the_text(name: str, snapshot: SnapshotAssertion) -> None:
    said = [text.plain for one in replays(name) for _, _, _, text, _ in explained(one)]
    assert "\n".join(said) == snapshot


@pytest.mark.parametrize("name", names())
def test_json_holds_the_same_text_and_all_of_its_parts(name: str) -> None:
    for one in replays(name):
        for leg, rules, verdict, text, body in explained(one):
            assert json.loads(json.dumps(body)) == body
            assert body["text"] == text.plain
            assert body["leg"] == leg
            assert [rule["name"] for rule in body["rules"]] == [rule.name for rule in rules]
            if verdict is not None:
                first = next((rule for rule in body["rules"] if rule["decides"]), None)
                assert body["decided_by"] == first is not None


@pytest.mark.parametrize("name", names())
def test_each_rule_says_what_was_observed_where_how_old_and_its_hash(name: str) -> None:
    for one in replays(name):
        for _, rules, verdict, text, _ in explained(one):
            assert rules
            for rule in rules:
                check(rule)
                assert f"observed  {rule.observed}"[:60] in text.plain.replace("⏎", "\n")
            if verdict is not None:
                decider = deciding(rules)
                assert decider is not None
                assert [rule.decides for rule in rules].count(True) == 1
                assert f"decided by  {decider.name}; observed " in text.plain


def check(rule: Rule) -> None:
    assert rule.name
    assert rule.observed
    assert rule.source
    if rule.source.startswith("legs/"):
        assert rule.age is not None, f"{rule.name}: a file was read at some time"
        read = rule.observed not in ("absent", "not there", "no session pointer", "no directory of this leg")
        if rule.source.endswith(".json") and read and not rule.observed.startswith(("absent", "unreadable", "foreign")):
            assert len(rule.sha256) == 64, f"{rule.name}: {rule.observed}: a file that was read has a hash"
    elif rule.source == ENGINE:
        assert rule.age is not None or rule.observed == "not seen"
    elif rule.source == CLOCK:
        assert rule.age is None
        assert rule.observed.startswith("waited ")


def test_what_was_not_judged_is_explained_with_what_was_known() -> None:
    for name in ("fail-fast", "cancelled", "superseded"):
        (one,) = replays(name)
        found = [verdict for _, _, verdict, _, _ in explained(one) if verdict and verdict.outcome is Outcome.NOT_JUDGED]
        assert found
        for verdict in found:
            assert verdict.rules[-1].decides
            assert {"one start", "ours"} <= {rule.name for rule in verdict.rules}


def test_ages_are_told_where_they_matter() -> None:
    (one,) = replays("poll-deadline")
    verdict = one.state.legs["main"].verdict
    assert verdict is not None
    ours = next(rule for rule in verdict.rules if rule.name == "ours")
    assert ours.age is not None
    assert ours.age > 7200, "the root was away for more than two hours"
    assert verdict.evidence is not None
    assert verdict.at - verdict.evidence.read_at == pytest.approx(ours.age, abs=1)
