"""The page's values agree with the run directory they were made from."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from gate import documents
from gate.machines.verdict import Outcome, Reason
from gate.report.html.from_run import page_of, simulated
from gate.report.html.page import Page, Rung
from gate.report.html.records import FileRecords
from gate.rundir import layout
from gate.rundir.files import FileStore
from gate.rundir.run import Run
from tests.report.html.course import INCARNATION, Course
from tests.report.html.made import BEGIN, RUN, TAG, Made, Watching, agent_leg, command_leg, make_run, plan_of
from tests.report.html.scenes import HOUR, NAMES, eight, failing, running


def rung(page: Page, leg: str, name: str) -> Rung:
    """One rung of one leg."""
    lane = next(lane for lane in page.lanes if lane.row.leg == leg)
    return next(each for each in lane.rungs if each.name == name)


def from_disk(made: Made, folder: Path) -> Page:
    made.write(folder)

    async def main() -> Page:
        run = Run(FileStore(folder))
        return await page_of(run, await run.latest_attempt(), FileRecords(folder), written=BEGIN + made.elapsed + 300)

    return anyio.run(main)


def test_a_page_from_disk_is_the_page_from_memory(tmp_path: Path) -> None:
    made = failing()
    assert from_disk(made, tmp_path) == made.page()


def test_lanes_show_what_the_legs_really_did() -> None:
    made = eight()
    page = made.page()
    assert [lane.row.leg for lane in page.lanes] == list(NAMES)
    for lane in page.lanes:
        leg = made.legs[lane.row.leg]
        verdict = made.verdicts[lane.row.leg]
        begins = {span.kind: span.begin for span in lane.spans}
        assert lane.verdict == verdict
        for phase in ("prepare", "setup", "launch", "run"):
            assert begins[phase] == pytest.approx(leg.phases[phase], abs=0.01)
        assert [(turn.begin, turn.end) for turn in lane.turns] == [pytest.approx(turn, abs=0.01) for turn in leg.turns]
        assert lane.spans[0].kind == "queue"
        assert lane.spans[0].begin == 0.0
        assert lane.spans[-1].end == verdict.elapsed, "a judged leg's lane ends with its verdict"
        joints = zip(lane.spans, lane.spans[1:], strict=False)
        assert all(one.end == other.begin for one, other in joints)


def test_write_gaps_are_those_that_are_long_for_the_leg() -> None:
    lane = eight().page().lanes[0]
    assert len(lane.gaps) == 1
    gap = lane.gaps[0]
    assert gap.end is not None
    assert gap.end - gap.begin >= 2400


def test_rungs_tell_what_was_used_and_what_was_left() -> None:
    made = eight()
    page = made.page()
    leg = made.legs["baremetal-vllm-3h"]
    setup = rung(page, "baremetal-vllm-3h", "set-up")
    assert setup.begin == pytest.approx(leg.phases["setup"], abs=0.01)
    assert setup.used == pytest.approx(leg.phases["launch"] - leg.phases["setup"], abs=0.01)
    assert setup.slack == pytest.approx(2700 - (setup.used or 0))
    assert not setup.hit
    turn = rung(page, "baremetal-vllm-3h", "turn")
    assert turn.used == pytest.approx(1200, abs=0.01)
    assert turn.hit, "the longest turn ran out of its budget"


def test_the_rung_that_ended_a_leg_is_the_one_that_was_hit() -> None:
    page = failing().page()
    assert rung(page, "docker-sglang-12h", "set-up").hit
    assert rung(page, "baremetal-sglang-12h", "queue").hit
    assert not rung(page, "docker-vllm-3h", "task").hit
    never = rung(page, "baremetal-sglang-12h", "set-up")
    assert (never.begin, never.used, never.slack) == (None, None, None)


def test_blind_time_is_shown_with_its_reason() -> None:
    page = failing().page()
    assert [(each.what, each.begin, each.end) for each in page.blind] == [
        ("engine", 9000.0, 9900.0),
        ("poller", pytest.approx(19980.0, abs=31), 22000.0),
    ]
    assert "no answer within 10 s" in page.blind[0].text
    assert next(each for each in page.rungs if each.name == "outage").used == 900.0


def test_what_goes_on_goes_on() -> None:
    made = eight(Watching(until=9150.0, root_blind=((9000.0, 99999.0),)))
    page = made.page()
    assert page.decision is None
    assert [each.what for each in page.blind] == ["root"]
    assert page.blind[0].end is None
    assert page.lanes[1].spans[-1].end is None
    assert page.elapsed == made.elapsed


def test_what_the_leg_did_after_the_last_observation_is_not_mixed_in() -> None:
    made = running()
    page = made.page()
    lane = next(lane for lane in page.lanes if lane.verdict is None)
    assert made.legs[lane.row.leg].ended > made.elapsed
    assert all(span.begin <= made.elapsed for span in lane.spans)
    assert [span.kind for span in lane.spans][-1] == "run"
    assert lane.gaps[-1].end is None or lane.gaps[-1].end <= made.elapsed


def test_a_leg_without_a_journal_is_drawn_from_its_pointer() -> None:
    made = eight()
    own = {key for key in made.files if key.endswith(layout.JOURNAL)}
    bare = replace(made, files={key: raw for key, raw in made.files.items() if key not in own})
    for lane, full in zip(bare.page().lanes, made.page().lanes, strict=True):
        assert lane.turns == ()
        kinds = {span.kind: span.begin for span in lane.spans}
        for span in full.spans:
            if span.kind in ("setup", "run"):
                assert kinds[span.kind] == pytest.approx(span.begin, abs=31), "one poll interval later at most"


def test_eta_is_expected_from_legs_alike_and_bound_by_the_ladder() -> None:
    legs = [agent_leg("done"), agent_leg("going")]
    made = make_run(plan_of(legs), {"going": Course(queue=1000.0, run=9000.0)}, Watching(until=5000.0))
    page = made.page()
    assert page.eta is not None
    took = made.verdicts["done"].elapsed - 60
    assert page.eta.expected == pytest.approx(1000 + took, abs=31)
    task = made.legs["going"].phases["launch"] + 14400 + 300 + 120
    assert page.eta.latest == pytest.approx(task, abs=31)


def test_eta_of_the_unknown_is_not_guessed() -> None:
    page = running().page()
    assert page.eta is not None
    assert page.eta.expected is None, "no 12-hour leg is done yet"
    assert page.eta.latest > page.elapsed


def test_a_decided_run_burns_what_is_kept_and_what_was_not_seen_gone() -> None:
    made = failing()
    page = made.page()
    assert page.decision is not None
    until = page.decision.at + 4 * HOUR
    assert [(each.workload, each.kept, each.gpus, each.until, each.stop) for each in page.burning] == [
        (name, True, 1, until, f"gate stop {name} --run {RUN}") for name in ("docker-sglang-12h", "docker-vllm-3h")
    ]
    later = made.page(written=BEGIN + made.elapsed + 5 * HOUR).burning
    assert [(each.kept, each.until, each.stop) for each in later] == [
        (False, None, f"gate reap --run {RUN}   (on host host)")
    ] * 2
    assert all("its lease ended" in each.why and "not seen gone" in each.why for each in later)


def test_a_running_run_burns_until_its_time_outs() -> None:
    page = running().page()
    assert len(page.burning) == 4, "workloads that have ended burn no more"
    assert {each.kept for each in page.burning} == {False}
    first = made_begin(page, page.burning[0].workload)
    assert page.burning[0].until == pytest.approx(BEGIN + first + 15 * HOUR, abs=31)


def made_begin(page: Page, leg: str) -> float:
    lane = next(lane for lane in page.lanes if lane.row.leg == leg)
    return next(span.begin for span in lane.spans if span.kind != "queue")


def test_what_an_earlier_attempt_left_is_named_too() -> None:
    made = failing()
    entry = json.loads(made.files[layout.workload(TAG, "docker-vllm-3h")])
    made.files[layout.workload("zzzzzzzzzz", "old")] = json.dumps({**entry, "id": "old", "tag": "zzzzzzzzzz"}).encode()
    assert {each.workload for each in made.page().burning} == {"old", "docker-sglang-12h", "docker-vllm-3h"}


def test_a_carried_leg_has_a_verdict_and_an_empty_lane() -> None:
    plan = plan_of([agent_leg("a"), command_leg("b")])
    old = replace(make_run(plan, {}).verdicts["a"], tag="zzzzzzzzzz")
    before = {layout.verdict("zzzzzzzzzz", "a"): documents.dump(old)}
    made = make_run(plan, {}, before=before, attempt=2, carried={"a": "zzzzzzzzzz"})
    lane, other = made.page().lanes
    assert lane.row.carried
    assert (lane.spans, lane.rungs) == ((), ())
    assert lane.verdict is not None
    assert lane.verdict.carried_from == "zzzzzzzzzz"
    assert not other.row.carried
    assert other.spans != ()


def test_a_run_that_nobody_polled_is_running_and_says_so() -> None:
    made = make_run(plan_of([agent_leg("a")]), {}, Watching(until=-1.0))
    del made.files[layout.observations(TAG)]
    page = made.page()
    assert page.observed is None
    assert page.decision is None


def test_an_incarnation_that_is_a_link_or_closed_is_remarked_and_nothing_else(tmp_path: Path) -> None:
    made = make_run(plan_of([agent_leg("a"), agent_leg("b")]), {})
    made.write(tmp_path)
    journal = tmp_path / layout.incarnation("a", TAG, INCARNATION) / layout.JOURNAL
    journal.unlink()
    journal.symlink_to("/etc/passwd")
    folder = tmp_path / "legs" / "b"
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")

    async def main() -> Page:
        run = Run(FileStore(tmp_path))
        return await page_of(run, await run.latest_attempt(), FileRecords(tmp_path), written=BEGIN)

    page = anyio.run(main)
    assert [lane.remarks for lane in page.lanes] == [
        ("not all of its records could be read: journal.jsonl: it is a link",),
        ("not all of its records could be read: the leg's directory is a link to another place",),
    ]
    assert all(lane.verdict is not None and lane.verdict.outcome is Outcome.PASS for lane in page.lanes)


def test_a_simulation_says_that_it_is_one_and_burns_nothing() -> None:
    page = simulated(failing().page(), (("seed", "7"),), ("gate run",))
    assert (page.kind, page.burning, page.next) == ("simulation", (), ("gate run",))
    assert page.facts == (("seed", "7"),)


def test_reasons_are_those_of_the_verdicts() -> None:
    page = failing().page()
    found = {lane.row.leg: lane.verdict.reason for lane in page.lanes if lane.verdict is not None}
    assert found["docker-vllm-3h"] is Reason.NOT_ACCEPTED
    assert found["docker-sglang-12h"] is Reason.SETUP_DEADLINE
    assert found["baremetal-sglang-12h"] is Reason.NEVER_STARTED
