"""Attempt n+1: what is carried, adopted and launched, and what of the earlier ones is stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from gate.contracts import LegView
from gate.dispatch.driver import Dispatched, dispatch
from gate.dispatch.world import Order
from gate.errors import UsageError
from gate.machines.verdict import Outcome, Reason, Verdict
from gate.plan.model import ArtifactPlan, LegPlan, Plan
from gate.rundir.formats import Decision, Kept, LegResult
from gate.rundir.run import Run
from gate.simulate.clock import EPOCH, SimClock
from gate.simulate.store import MemoryStore
from tests.dispatch.fake_engine import FolderEngine
from tests.dispatch.plans import leg, plan
from tests.dispatch.worlds import NoLegs, virtually, world

REASONS = {
    Outcome.PASS: Reason.CRITERIA_MET,
    Outcome.FAIL: Reason.NOT_ACCEPTED,
    Outcome.ERROR: Reason.SETUP_STALLED,
    Outcome.NOT_JUDGED: Reason.FAIL_FAST,
}


class Case:
    """One run, dispatched again and again."""

    def __init__(self, folder: Path) -> None:
        self.store = MemoryStore()
        self.engine = FolderEngine(folder, SimClock())
        self.views: dict[str, LegView] = {}

    def dispatch(self, wanted: Plan | None = None, *, ci: Mapping[str, str] | None = None, **order: Any) -> Dispatched:
        async def main() -> Dispatched:
            made = world(self.store, self.engine, ci=ci or {}, files=NoLegs(self.views))
            return await dispatch(made, wanted or plan(), Order("r1", **order))

        found: Dispatched = virtually(main)
        return found

    def judge(self, done: Dispatched, outcomes: Mapping[str, Outcome], *, carried_from: str | None = None) -> None:
        async def main() -> None:
            for name, outcome in outcomes.items():
                await Run(self.store).write_verdict(
                    Verdict(
                        leg=name,
                        blocking=True,
                        outcome=outcome,
                        reason=REASONS[outcome],
                        sentence="so it was",
                        tag=done.attempt.tag,
                        attempt=done.attempt.attempt,
                        at=EPOCH,
                        elapsed=1.0,
                        evidence=None,
                        carried_from=carried_from,
                    )
                )

        virtually(main)

    def live(self) -> list[str]:
        return sorted({name.split("-")[1] for name in self.engine.live()})


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def retry(case: Case, wanted: Plan | None = None, **order: Any) -> Dispatched:
    return case.dispatch(wanted, again=True, **order)


def test_a_pass_is_carried_and_only_the_rest_is_launched(case: Case) -> None:
    first = case.dispatch()
    case.judge(first, {"a": Outcome.PASS, "b": Outcome.FAIL})
    second = retry(case)
    assert second.attempt.attempt == 2
    assert second.attempt.tag != first.attempt.tag
    assert second.attempt.carried == {"a": first.attempt.tag}
    assert second.attempt.launched == ("b",)
    assert case.live() == ["b"], "the earlier workloads are stopped, also that of the carried leg"


def test_a_pass_is_carried_from_where_it_was_measured(case: Case) -> None:
    first = case.dispatch()
    case.judge(first, {"a": Outcome.PASS, "b": Outcome.FAIL})
    second = retry(case)
    case.judge(second, {"a": Outcome.PASS}, carried_from=first.attempt.tag)
    case.judge(second, {"b": Outcome.ERROR})
    assert retry(case).attempt.carried == {"a": first.attempt.tag}


@pytest.mark.parametrize("changed", ["leg", "artifact"])
def test_a_pass_of_something_else_is_not_carried(case: Case, changed: str) -> None:
    case.judge(case.dispatch(), {"a": Outcome.PASS, "b": Outcome.PASS})
    other = ArtifactPlan("image", "registry/x@sha256:1", "x", "sha256:1", 0)
    wanted = plan([leg("a", digest="sha256:new"), "b"]) if changed == "leg" else plan(artifact=other)
    second = retry(case, wanted)
    assert second.attempt.launched == (("a",) if changed == "leg" else ("a", "b"))


def test_a_fail_after_a_pass_is_not_hidden_by_carrying_the_pass(case: Case) -> None:
    case.judge(case.dispatch(), {"a": Outcome.PASS, "b": Outcome.PASS})
    case.judge(retry(case, fresh=True), {"a": Outcome.FAIL, "b": Outcome.PASS})
    third = retry(case)
    assert "a" in third.attempt.launched
    assert set(third.attempt.carried) == {"b"}


def test_fresh_carries_nothing_and_stops_the_earlier_ones(case: Case) -> None:
    first = case.dispatch()
    case.judge(first, {"a": Outcome.PASS})
    second = retry(case, fresh=True)
    assert second.attempt.fresh
    assert (second.attempt.carried, second.attempt.adopted) == ({}, {})
    assert second.attempt.launched == ("a", "b")
    assert {w.tag for w in case.engine.all() if not w.phase.terminal} == {second.attempt.tag}


def test_nothing_from_before_a_fresh_attempt_is_carried(case: Case) -> None:
    case.judge(case.dispatch(), {"a": Outcome.PASS, "b": Outcome.PASS})
    retry(case, fresh=True)
    assert retry(case).attempt.carried == {}


def test_what_still_lives_is_adopted_under_its_own_tag(case: Case) -> None:
    first = case.dispatch()
    second = retry(case)
    assert second.attempt.adopted == {"a": first.attempt.tag, "b": first.attempt.tag}
    assert second.attempt.launched == ()
    assert sorted(case.engine.creates) == ["a", "b"]
    third = retry(case)
    assert third.attempt.adopted == {"a": first.attempt.tag, "b": first.attempt.tag}, "and again from there"


def test_what_is_over_is_launched_anew(case: Case) -> None:
    first = case.dispatch()
    case.engine.change(first.entries["a"].engine_id or "", phase="Succeeded")
    assert retry(case).attempt.launched == ("a",)


@pytest.mark.parametrize("outcome", [Outcome.FAIL, Outcome.ERROR])
def test_the_workload_of_a_judged_leg_is_not_adopted_though_it_lives(case: Case, outcome: Outcome) -> None:
    case.judge(case.dispatch(), {"a": outcome})
    second = retry(case)
    assert second.attempt.launched == ("a",)
    assert set(second.attempt.adopted) == {"b"}


def test_a_leg_that_was_not_judged_is_adopted(case: Case) -> None:
    case.judge(case.dispatch(), {"a": Outcome.NOT_JUDGED})
    assert set(retry(case).attempt.adopted) == {"a", "b"}


def test_a_workload_whose_leg_has_failed_in_it_is_not_waited_for(case: Case) -> None:
    first = case.dispatch()
    result = LegResult(
        leg="a",
        tag=first.attempt.tag,
        incarnation="1",
        outcome="failed",
        reason=Reason.SETUP_STALLED,
        sentence="",
        state=None,
        turns=1,
        resumes=0,
        recaps=0,
        redrives=0,
        cost_usd=None,
        agent_version=None,
        survivors=(),
        secret_hits=(),
        ended=EPOCH,
    )
    case.views["a"] = LegView(("1",), result=result)
    assert retry(case).attempt.launched == ("a",)


def test_a_shared_workload_is_launched_with_the_legs_that_remain(case: Case) -> None:
    wanted = plan(["a", "b", "c"], shared={"host": ["a", "b", "c"]})
    first = case.dispatch(wanted)
    case.judge(first, {"a": Outcome.PASS, "b": Outcome.FAIL, "c": Outcome.ERROR})
    second = retry(case, wanted)
    assert second.entries["host"].legs == ("b", "c")


def test_a_kept_workload_is_left_alone(case: Case) -> None:
    first = case.dispatch()
    case.judge(first, {"a": Outcome.FAIL, "b": Outcome.PASS})

    async def keep() -> None:
        await Run(case.store).keep(Kept("a", first.attempt.tag, EPOCH + 3600, "post-mortem", "somebody"))

    virtually(keep)
    retry(case)
    assert len(case.engine.live()) == 2, "the kept one and its successor"


def test_another_ci_attempt_is_the_next_attempt_and_the_same_one_goes_on(case: Case) -> None:
    ci = {"GITHUB_RUN_ID": "77", "GITHUB_RUN_ATTEMPT": "1"}
    first = case.dispatch(ci=ci)
    assert case.dispatch(ci=ci).attempt == first.attempt
    second = case.dispatch(ci=ci | {"GITHUB_RUN_ATTEMPT": "2"})
    assert (second.attempt.attempt, second.continued) == (2, False)


def test_a_decided_attempt_is_shown_and_launches_nothing(case: Case) -> None:
    first = case.dispatch()
    decision = Decision("r1", 1, first.attempt.tag, "full", "NO-GO", 1, "a failed", (), EPOCH, 10.0)
    virtually(lambda: Run(case.store).write_decision(decision))
    case.engine.creates.clear()
    again = case.dispatch()
    assert again.decision == decision
    assert case.engine.creates == []


@pytest.mark.parametrize(
    ("legs", "said"), [(["a"], "leg b is missing"), ([leg("a", digest="sha256:x"), "b"], "leg a changed")]
)
def test_an_attempt_does_not_go_on_with_another_plan(case: Case, legs: Sequence[LegPlan | str], said: str) -> None:
    case.dispatch()
    with pytest.raises(UsageError, match=said) as caught:
        case.dispatch(plan(legs))
    assert "gate retry r1" in str(caught.value)


def test_a_run_is_of_one_version(case: Case) -> None:
    case.dispatch()
    with pytest.raises(UsageError, match=r"decides version 1\.0"):
        retry(case, plan(version="1.1"))
