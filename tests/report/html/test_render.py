"""The file itself: what its first screen says, that it loads nothing, and that foreign text stays text."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace

import pytest

from gate.contracts import NewerRun
from gate.machines.observations import CancelSeen, SupersedeSeen
from gate.machines.verdict import Verdict
from gate.report.explain import explain_text
from gate.report.html.page import Page
from gate.report.html.render import in_script, render
from gate.report.html.texts import short
from tests.report.html.course import Course
from tests.report.html.made import RUN, Made, Watching, agent_leg, command_leg, make_run, plan_of
from tests.report.html.reading import Read
from tests.report.html.scenes import HOSTILE, eight, failing, hostile, passing, running


def read(made: Made) -> Read:
    return Read(render(made.page()))


def word(made: Made) -> str:
    return read(made).texts["word"]


def two(scope: str = "full", **courses: Course) -> Made:
    plan = plan_of([agent_leg("a"), command_leg("b", blocking=False)], scope=scope)
    return make_run(replace(plan, all_legs=("a", "b", "c")), courses)


def test_go_is_said_of_a_full_pass_alone() -> None:
    assert word(two()) == "GO"
    assert word(two("fast")) == "PASSED (fast)"
    assert word(two("subset")) == "PASSED (subset)"
    assert "Only a full pass is a release pass" in render(two("fast").page())
    assert "Only a full pass" not in render(two().page())


@pytest.mark.parametrize(
    ("course", "said"),
    [
        (Course(state={"done": True, "stop_reason": "gave_up", "gain": 2.0}), "NO-GO"),
        (Course(never=True), "NOT MEASURED"),
    ],
)
def test_what_did_not_pass_is_never_go(course: Course, said: str) -> None:
    assert word(two(a=course)) == said


def test_cancelled_superseded_and_running_say_so() -> None:
    plan = plan_of([agent_leg("a")])
    assert word(make_run(plan, {}, Watching(ends=(600.0, CancelSeen(15))))) == "CANCELLED"
    newer = SupersedeSeen(NewerRun("99", "c" * 40, ""))
    assert word(make_run(plan, {}, Watching(ends=(600.0, newer)))) == "SUPERSEDED"
    assert word(make_run(plan, {}, Watching(until=600.0))) == "RUNNING"


def test_a_running_gate_that_has_lost_says_that_it_can_no_longer_pass() -> None:
    made = make_run(
        plan_of([agent_leg("a"), agent_leg("b")], fail_fast=False),
        {"a": Course(state={"done": True, "stop_reason": "gave_up", "gain": 2.0}), "b": Course(run=9000.0)},
        Watching(until=6000.0),
    )
    text = render(made.page())
    assert "It can no longer pass: leg a: stop_reason is" in text


def test_the_first_screen_holds_what_a_release_manager_asks() -> None:
    made = failing()
    page = made.page()
    text = " ".join(render(page).split())
    shown = text.partition('<section id="legs"')[0]
    assert made.decision is not None
    for wanted in (
        "NO-GO",
        "tune 1.4.2",
        "tune-1.4.2-py3-none-any.whl",
        page.plan.commit[:12],
        f"1 of run {RUN}",
        "this run, attempt 1",
        f"gate explain docker-vllm-3h --run {RUN}",
        f"gate stop --run {RUN}",
        "2 GPUs",
        "kept for post-mortem",
        "5 of 8 passed",
    ):
        assert wanted in shown, wanted
    order = [
        shown.index(f'data-leg="{leg}"') for leg in ("docker-vllm-3h", "baremetal-sglang-12h", "docker-sglang-12h")
    ]
    assert order == sorted(order), "the product's failure before what was not measured"


def test_another_runs_staging_is_told_apart() -> None:
    page = passing().page()
    assert page.manifest is not None
    assert "this run, attempt 1" in render(page)
    other = replace(page, manifest=replace(page.manifest, run="20260101-0000-abcd", commit="deadbeef" * 5))
    text = render(other)
    assert "another run: 20260101-0000-abcd" in text
    assert "commit deadbeefdead" in text
    assert 'class="differs"' in text


def test_numbers_are_those_of_the_run_directory() -> None:
    made = failing()
    data = read(made).data
    assert made.decision is not None
    assert data["elapsed"] == made.decision.elapsed
    assert [leg["name"] for leg in data["legs"]] == [leg.leg for leg in made.decision.legs]
    for leg in data["legs"]:
        verdict = made.verdicts[leg["name"]]
        assert (leg["outcome"], leg["reason"]) == (verdict.outcome.value, verdict.reason.value)
        assert (leg["sentence"], leg["at"]) == (verdict.sentence, verdict.elapsed)
        assert leg["counts"][0] == len(made.legs[leg["name"]].turns)
        assert "".join(piece for _, piece in leg["explain"]) == explain_text(verdict).plain
    assert short(made.decision.elapsed) in render(made.page())


def test_worst_legs_come_first_and_every_leg_is_there_once() -> None:
    data = read(failing()).data
    assert sorted(data["worst"]) == list(range(8))
    names = [data["legs"][index]["name"] for index in data["worst"]]
    assert names[:3] == ["docker-vllm-3h", "baremetal-sglang-12h", "docker-sglang-12h"]


# --- nothing is loaded, nothing foreign is markup ----------------------------------------------------


def scenes() -> list[Made]:
    return [passing(), failing(), running(), hostile()]


@pytest.mark.parametrize("made", scenes(), ids=["passing", "failing", "running", "hostile"])
def test_the_page_loads_nothing_and_carries_no_handler(made: Made) -> None:
    found = read(made)
    tags = {tag for tag, _ in found.tags}
    assert not tags & {"img", "iframe", "object", "embed", "base", "form", "audio", "video", "svg"}
    for tag, attrs in found.tags:
        assert not any(name.startswith("on") or name in ("style", "src", "srcset", "action") for name in attrs), tag
        assert attrs.get("href", "#").startswith(("#", "data:image/svg+xml,")), "a link leads nowhere else"  # type: ignore[union-attr]
    assert len(found.named("script")) == 2
    assert found.comments == []
    css = found.texts  # every style is inline text
    assert "url(" not in render(made.page()).partition("</style>")[0].partition("<style>")[2]
    assert css["data"]


def test_the_policy_allows_the_two_inline_pieces_by_their_hashes_and_nothing_else() -> None:
    text = render(passing().page())
    policy = next(
        attrs["content"] for attrs in Read(text).named("meta") if attrs.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)
    assert style is not None
    assert script is not None
    for kind, found in (("style-src", style), ("script-src", script)):
        digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy


def planted(page: Page) -> Page:
    """Hostile text in every field that comes from outside."""
    lanes = tuple(
        replace(
            lane,
            row=replace(lane.row, leg=f"{lane.row.leg}{HOSTILE}", fields=((HOSTILE, HOSTILE),), workload=HOSTILE),
            verdict=_bad(lane.verdict),
            turns=tuple(replace(turn, said=HOSTILE, kind=HOSTILE, outcome=HOSTILE) for turn in lane.turns),
            incarnations=(HOSTILE, HOSTILE),
            agent_version=HOSTILE,
            survivors=(HOSTILE,),
            secret_hits=(HOSTILE,),
            log=HOSTILE,
            remarks=(HOSTILE,),
        )
        for lane in page.lanes
    )
    burning = tuple(replace(each, workload=HOSTILE, why=HOSTILE, stop=HOSTILE) for each in page.burning)
    plan = replace(page.plan, gate=HOSTILE, version=HOSTILE, ref=HOSTILE, commit=HOSTILE, config=HOSTILE)
    plan = replace(plan, artifact=replace(plan.artifact, name=HOSTILE, digest=HOSTILE))
    decision = replace(page.decision, cause=HOSTILE) if page.decision is not None else None
    return replace(
        page,
        lanes=lanes,
        burning=burning,
        plan=plan,
        decision=decision,
        next=(HOSTILE,) * 3,
        facts=((HOSTILE, HOSTILE),),
    )


def _bad(verdict: Verdict | None) -> Verdict | None:
    return None if verdict is None else replace(verdict, sentence=HOSTILE, leg=HOSTILE)


def test_hostile_text_adds_no_element_and_ends_none() -> None:
    page = hostile().page()
    clean, dirty = Read(render(page)), Read(render(planted(page)))
    assert [tag for tag, _ in dirty.tags if tag not in ("dt", "dd", "small")] == [
        tag for tag, _ in clean.tags if tag not in ("dt", "dd", "small")
    ]
    assert dirty.comments == []
    # Jinja never saw it as a template, and what would turn the text round is visible instead.
    assert "{{ 7*7 }}" in dirty.texts["cause"]
    assert "\\u202egnp" in dirty.texts["cause"]
    assert "\u202e" not in render(planted(page))
    assert dirty.data["legs"][0]["name"].endswith("{{ 7*7 }}&lt;\\u2028\"'")


def test_json_in_a_script_cannot_end_it() -> None:
    text = in_script({"</script>": "<!-- <script> ]]> & \u2028"})
    assert not re.search(r"[<>&\u2028\u2029]", text)
    assert Read(f'<script type="application/json" id="data">{text}</script>').data == {
        "</script>": "<!-- <script> ]]> & \u2028"
    }


def test_eight_legs_make_a_small_file() -> None:
    assert len(render(eight().page()).encode()) < 150_000
