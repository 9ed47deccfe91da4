"""What GitHub should show, in every state a run can be in: closed when it is decided, green only for a pass."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.contracts import NewerRun
from gate.machines.observations import CancelSeen, SupersedeSeen
from gate.publish.desired import desired, nothing
from gate.publish.facts import Facts
from gate.publish.wording import description
from gate.rundir.formats import Decision
from tests.poll.worlds import attempt_of
from tests.publish.cases import SHA, SITE, decision, eight, verdict

OUTCOMES = ("PASS", "FAIL", "ERROR", "NOT_JUDGED")
NEWER = NewerRun("13", "beef" * 10, "")
SAME = NewerRun("13", SHA.upper(), "")


def shown(facts: Facts) -> Mapping[str, tuple[str, str]]:
    return {context: (s.state, s.description) for context, s in desired(facts, SITE).items()}


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    """Any state of a run."""
    scope = draw(st.sampled_from(["full", "fast", "subset"]))
    informing = draw(st.sets(st.sampled_from("abcd")))
    plan = eight(informing=sorted(informing), scope=scope, count=4)
    outcomes = draw(st.dictionaries(st.sampled_from("abcd"), st.sampled_from(OUTCOMES)))
    made: Decision | None = None
    newer = None
    if draw(st.booleans()):
        stop = draw(st.sampled_from([None, CancelSeen(15), SupersedeSeen(NEWER)]))
        newer = NEWER if isinstance(stop, SupersedeSeen) else None
        made = decision(plan, {name: outcomes.get(name, "NOT_JUDGED") for name in "abcd"}, stop)
    verdicts = {name: verdict(name, each, blocking=name not in informing) for name, each in outcomes.items()}
    cancelled = draw(st.sampled_from([None, 2, 15]))
    doing = draw(st.dictionaries(st.sampled_from("abcd"), st.text(max_size=300)))
    return Facts(attempt_of(plan), verdicts, made, cancelled, newer, draw(st.booleans()), (), doing)


@given(facts())
def test_every_state_has_one_status_a_leg_and_one_for_the_gate(state: Facts) -> None:
    found = desired(state, SITE)
    base = "demo (subset)" if state.attempt.plan.scope == "subset" else "demo"
    assert set(found) == {base, *(f"{base}/{name}" for name in "abcd")}
    assert all(status.target_url == SITE.url and status.context == key for key, status in found.items())
    assert all(len(status.description) <= 140 and status.description.isprintable() for status in found.values())
    gate = found[base]
    assert (gate.state == "pending") == (not state.closed)
    assert (gate.state == "success") == (state.decision is not None and state.decision.word in ("GO", "PASSED"))
    if state.closed:
        assert all(status.state != "pending" for status in found.values())
    for leg in state.attempt.plan.legs:
        status = found[f"{base}/{leg.id}"]
        if leg.blocking and status.state == "success":
            assert state.decision is not None or state.verdicts[leg.id].outcome.value == "PASS"
        if not leg.blocking:
            assert status.state in ("pending", "success")
            if status.state == "success" and not status.description.startswith("PASS"):
                assert status.description.startswith("informing: ")


def test_a_pass_of_everything() -> None:
    plan = eight(count=2)
    found = shown(Facts(attempt_of(plan), decision=decision(plan, {"a": "PASS", "b": "PASS"})))
    assert found == {
        "demo/a": ("success", "PASS: criteria_met"),
        "demo/b": ("success", "PASS: criteria_met"),
        "demo": ("success", "passed 2 of 2"),
    }


def test_less_than_the_full_scope_says_so() -> None:
    plan = eight(count=4, scope="fast")
    found = shown(Facts(attempt_of(plan), decision=decision(plan, dict.fromkeys("abcd", "PASS"))))
    assert found["demo"] == ("success", "passed 4 of 4 (fast)")


def test_a_subset_never_touches_the_contexts_of_the_release() -> None:
    plan = eight(count=2, scope="subset")
    found = shown(Facts(attempt_of(plan), decision=decision(plan, {"a": "PASS", "b": "PASS"})))
    assert list(found) == ["demo (subset)/a", "demo (subset)/b", "demo (subset)"]
    assert found["demo (subset)"] == ("success", "passed 2 of 2 (subset)")


def test_an_informing_leg_that_fails_is_told_and_does_not_turn_red() -> None:
    plan = eight(count=3, informing=["c"])
    outcomes = {"a": "PASS", "b": "PASS", "c": "FAIL"}
    verdicts = {"c": verdict("c", "FAIL", blocking=False)}
    found = shown(Facts(attempt_of(plan), verdicts, decision(plan, outcomes)))
    assert found["demo/c"] == ("success", "informing: FAIL: so it was")
    assert found["demo"] == ("success", "passed 2 of 2; informing: FAIL c")


@pytest.mark.parametrize(
    ("outcome", "state"), [("FAIL", "failure"), ("ERROR", "error"), ("NOT_JUDGED", "error"), ("PASS", "success")]
)
def test_outcomes_are_told_apart(outcome: str, state: str) -> None:
    plan = eight(count=2)
    found = shown(Facts(attempt_of(plan), {"a": verdict("a", outcome)}))
    assert found["demo/a"] == (state, f"{outcome}: so it was")
    assert found["demo/b"] == ("pending", "waiting to start")
    assert found["demo"][0] == "pending"


def test_a_loss_is_told_before_the_decision() -> None:
    found = shown(Facts(attempt_of(eight()), {"a": verdict("a", "FAIL"), "b": verdict("b", "PASS")}))
    assert found["demo"] == ("pending", "2 of 8 legs judged; leg a: so it was")


def test_a_cancel_closes_what_has_no_verdict() -> None:
    """duckdb-r#2544: a cancelled leg stays pending for ever."""
    found = shown(Facts(attempt_of(eight(count=2)), {"a": verdict("a", "PASS")}, cancelled=2))
    assert found["demo/a"] == ("success", "PASS: so it was")
    assert found["demo/b"] == ("error", "NOT_JUDGED: cancelled by SIGINT")
    assert found["demo"] == ("error", "cancelled by SIGINT; 1 of 2 legs judged")


def test_superseded_is_silent_only_on_a_commit_that_it_shares() -> None:
    plan = eight(count=2)
    made = decision(plan, {"a": "NOT_JUDGED", "b": "NOT_JUDGED"}, SupersedeSeen(SAME))
    assert desired(Facts(attempt_of(plan), decision=made, newer=SAME), SITE) == {}
    other = shown(Facts(attempt_of(plan), decision=made, newer=NEWER))
    assert {state for state, _ in other.values()} == {"error"}


def test_nothing_to_decide_is_green() -> None:
    assert nothing("demo", SITE).state == "success"
    none = shown(Facts(attempt_of(eight(count=0, scope="none"))))
    assert none == {"demo": ("success", "nothing to decide")}


# --- descriptions ------------------------------------------------------------------------------------


@given(st.text(max_size=400))
def test_a_description_is_one_printable_line_of_140(text: str) -> None:
    found = description(text)
    assert len(found.encode("utf-16-le", "surrogatepass")) // 2 <= 140
    assert "\n" not in found
    assert "\x1b" not in found


@pytest.mark.parametrize("whole", ["👩‍👩‍👧‍👦", "e\u0301", "🇩🇪", "👍🏽", "❤️", "🏴\U000e0067\U000e0062\U000e007f"])
def test_what_is_seen_as_one_character_is_never_cut_in_two(whole: str) -> None:
    for lead in range(110, 141):
        found = description("x" * lead + whole * 40)
        assert found.endswith("…")
        kept = found[lead:-1]
        assert kept == whole * (len(kept) // len(whole)), (lead, kept)


def test_text_that_fits_is_left_alone_and_controls_are_shown() -> None:
    assert description("PASS: gain 1.7") == "PASS: gain 1.7"
    assert description("a\x1b[31m\u202eb\n c") == "a\\x1b[31m\\u202eb c"
