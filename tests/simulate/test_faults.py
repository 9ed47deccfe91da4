"""Every fault of the menu, end to end: what it does to the verdicts of the small gate, and that nothing leaks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from gate.contracts import Phase
from gate.reap.remaining import UNLISTED
from gate.rundir import layout
from gate.simulate.menu import MENU
from gate.simulate.played import Played
from gate.simulate.scenario import Rerun
from gate.simulate.views import OTHER_TAG
from tests.simulate.gates import PASSED, fault, own, played, settled, small, without, word, words

Check = Callable[[Played], bool]


@dataclass(frozen=True)
class Case:
    """One fault and what it must come to: `says` differs from both legs passing, `shows` must hold."""

    kind: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    says: Mapping[str, str] = field(default_factory=dict)
    shows: Check = lambda played: bool(played.struck)
    name: str = ""

    @property
    def id(self) -> str:
        return f"{self.kind}-{self.name}" if self.name else self.kind


def turns(played: Played) -> list[str]:
    """Kind and end of each turn of the agent leg."""
    return [f"{turn.kind} {turn.end}" for life in played.legs if life.leg == "agent" for turn in life.turns]


def blind(played: Played, what: str) -> float:
    """Seconds for which pollers could not see it."""
    return sum(w.until - w.since for w in played.blind if w.what == what and w.process.startswith("poller"))


def told(played: Played, kind: str) -> bool:
    return any(told.event.kind == kind for told in played.told)


def reads(played: Played, what: str) -> bool:
    """Did a poller see a state file of that status?"""
    (journal,) = (data for key, data in played.files[played.run].items() if key.startswith("gate/observations/"))
    return f'"status":"{what}"' in journal.decode()


def adopted(played: Played) -> bool:
    return any("unclear create" in text for _, _, text in played.said)


def said_phase(played: Played, phase: str) -> bool:
    return any(t.event.kind == "phase" and t.event.data["phase"] == phase and t.at > 1000 for t in played.told)


def went_back(played: Played) -> bool:
    (workload,) = (w for w in own(played) if w.workload == "agent")
    phases = [each.phase for each in workload.history]
    return phases[:4] == [Phase.PENDING, Phase.RUNNING, Phase.PENDING, Phase.RUNNING]


def first_state(played: Played, leg: str) -> float:
    return next(state.at for state in played.states if state.leg == leg)


def redacted(played: Played) -> bool:
    """It was printed, and no sink has it."""
    (value,) = played.secrets.values()
    return bool(played.struck) and not [where for where, data in played.texts() if value.encode() in data]


def late(leg: str, seconds: float) -> Check:
    """The leg's verdict came so much later than the usual 3841 or 4441 s, or more."""
    usual = {"command": 3841.0, "agent": 4441.0}[leg]

    def check(played: Played) -> bool:
        assert played.attempt is not None
        (at,) = (w.at for w in played.attempt.verdicts if w.verdict.leg == leg and w.effect)
        return at >= usual + seconds

    return check


def sentence(leg: str, part: str) -> Check:
    def check(played: Played) -> bool:
        assert played.attempt is not None
        return part in played.attempt.standing[leg].sentence

    return check


AGENT = {"legs": ("agent",)}
AT_END = {"legs": ("agent",), "at": 4380.0}
API = {"at": 1000.0, "lasts": 1500.0}

CASES = (
    Case("api_refused", API, shows=lambda p: blind(p, "engine") > 1200 and told(p, "blind") and told(p, "seen_again")),
    Case("api_timeout", API, shows=lambda p: "timed out" in p.blind[0].detail),
    Case("api_401", API, shows=lambda p: "401" in p.blind[0].detail),
    Case("api_403", API, shows=lambda p: "403" in p.blind[0].detail),
    Case("api_5xx", API, shows=lambda p: "503" in p.blind[0].detail),
    Case("api_html", API, shows=lambda p: "HTML" in p.blind[0].detail),
    Case("api_slow", {"seconds": 40.0, "lasts": 1e6}, shows=lambda p: not p.kills and p.ended > 4441),
    Case("api_404", {**AGENT, "at": 2000.0, "lasts": 100.0}, name="for-one-tick"),
    Case("api_incomplete", {**AGENT, "at": 1000.0, "lasts": 3000.0}, name="absence-means-nothing"),
    Case("create_refused", AGENT, {"agent": "ERROR create_refused"}),
    Case("create_unclear", AGENT, shows=lambda p: len(own(p)) == 2 and adopted(p)),
    Case("create_lost", AGENT, {"agent": "ERROR create_unclear"}, lambda p: len(own(p)) == 1),
    Case("create_twice", AGENT, {"agent": "ERROR workload_restarted"}, lambda p: len(own(p)) == 3),
    Case("list_lag", {"seconds": 300.0}),
    Case("list_duplicate", {"lasts": 1e6}),
    Case("phase_backwards", {**AGENT, "at": 1000.0, "lasts": 600.0}, shows=lambda p: said_phase(p, "Pending")),
    Case("queue", {**AGENT, "seconds": 1800.0}, shows=late("agent", 1700.0)),
    Case("queue", {**AGENT, "seconds": 7200.0}, {"agent": "ERROR never_started"}, name="for-hours"),
    Case("image_hang", AGENT, {"agent": "ERROR never_started"}, sentence("agent", "pulling the image")),
    Case("image_missing", AGENT, {"agent": "ERROR image_unavailable"}, sentence("agent", "manifest unknown")),
    Case("unschedulable", AGENT, {"agent": "ERROR unschedulable"}, sentence("agent", "no node fits")),
    Case("vanish", {**AGENT, "at": 2000.0}, {"agent": "ERROR vanished"}),
    Case("oom", {**AGENT, "at": 2000.0}, {"agent": "ERROR out_of_memory"}),
    Case("evict", {**AGENT, "at": 2000.0}, {"agent": "ERROR evicted"}),
    Case("node_lost", {**AGENT, "at": 2000.0}, {"agent": "ERROR node_lost"}),
    Case("timeout", {**AGENT, "at": 2000.0}, {"agent": "ERROR workload_timeout"}),
    Case("preempt", {**AGENT, "at": 2000.0}, {"agent": "ERROR workload_restarted"}, went_back),
    Case("turn_early", shows=lambda p: turns(p)[:2] == ["setup completed", "nudge completed"]),
    Case("turn_hang", shows=lambda p: turns(p)[0] == "setup timed_out"),
    Case("turn_hang", {"turn": 2}, shows=lambda p: "task timed_out" in turns(p), name="the-task-turn"),
    Case("turn_lie", shows=lambda p: turns(p)[:2] == ["setup completed", "nudge completed"]),
    Case("turn_empty", shows=lambda p: turns(p)[0] == "setup empty"),
    Case("turn_429", shows=lambda p: turns(p)[0] == "setup failed"),
    Case("turn_killed", shows=lambda p: turns(p)[0] == "setup killed"),
    Case("turn_no_start", shows=lambda p: turns(p)[0] == "setup no_start"),
    Case("turn_lost", shows=lambda p: "task session_lost" in turns(p)),
    Case("turn_429", {"probability": 1.0}, {"agent": "ERROR setup_stalled"}, name="for-ever"),
    Case("agent_missing", AGENT, {"agent": "ERROR agent_unavailable"}),
    Case("prepare_fails", AGENT, {"agent": "ERROR ended_without_result"}),
    Case("setup_stall", AGENT, {"agent": "ERROR setup_stalled"}),
    Case("setup_long", {**AGENT, "seconds": 900.0}, shows=late("agent", 800.0)),
    Case("setup_long", {**AGENT, "seconds": 7200.0}, {"agent": "ERROR setup_deadline"}, name="too-long"),
    Case("launch_nothing", AGENT, shows=lambda p: "finish_launch completed" in turns(p)),
    Case("task_stall", AGENT, shows=lambda p: "redrive completed" in turns(p)),
    Case("task_stall", {"legs": ("command",)}, {"command": "ERROR task_deadline"}, name="of-a-command"),
    Case("task_dies", AGENT, shows=lambda p: "redrive completed" in turns(p)),
    Case("task_dies", {"legs": ("command",)}, {"command": "ERROR command_failed"}, name="of-a-command"),
    Case("task_long", {**AGENT, "seconds": 3600.0}, shows=late("agent", 3500.0)),
    Case("task_long", {**AGENT, "seconds": 10_000.0}, {"agent": "ERROR task_deadline"}, name="too-long"),
    Case("task_late", {**AGENT, "seconds": 600.0}, shows=lambda p: first_state(p, "agent") > 2000),
    Case("leak", AGENT, shows=redacted),
    Case("state_torn", AGENT, shows=late("agent", 0.0)),
    Case("state_torn", {**AGENT, "lasts": 100.0}, shows=lambda p: reads(p, "torn"), name="at-a-look"),
    Case("state_torn", {**AGENT, "lasts": 400.0}, {"agent": "ERROR evidence_malformed"}, name="for-minutes"),
    Case("state_empty", {**AGENT, "lasts": 100.0}, shows=lambda p: reads(p, "empty")),
    Case("state_types", AGENT, {"agent": "ERROR value_missing"}),
    Case("state_backwards", AGENT, {"agent": "ERROR ended_without_result"}, name="before-the-poll"),
    Case("state_two", AGENT, {"agent": "ERROR task_deadline"}),
    Case("state_stray", AGENT, {"agent": "ERROR launch_failed"}, sentence("agent", "session/state.json")),
    Case("state_unreadable", {**AT_END, "lasts": 70.0}, shows=lambda p: reads(p, "unreadable")),
    Case("state_unreadable", {**AT_END, "lasts": 1e6}, {"agent": "ERROR evidence_unreadable"}, name="for-ever"),
    Case("state_stale", {**AT_END, "lasts": 70.0}, shows=late("agent", 120.0)),
    Case("state_stale", {**AT_END, "lasts": 400.0}, {"agent": "ERROR ended_without_result"}, name="for-minutes"),
    Case("state_foreign", {**AT_END, "lasts": 70.0}, shows=late("agent", 120.0)),
    Case("state_foreign", {**AT_END, "lasts": 1e6}, {"agent": "ERROR evidence_foreign"}, name="for-ever"),
    Case("state_delayed", {**AGENT, "seconds": 100.0}, shows=late("agent", 120.0)),
    Case("disk_full", {"at": 1000.0, "lasts": 900.0}),
    Case("root_hangs", {"at": 1000.0, "lasts": 900.0}, shows=lambda p: blind(p, "root") > 800),
    Case("root_gone", {"at": 1000.0, "lasts": 900.0}, shows=lambda p: told(p, "root_blind")),
    Case("root_gone", {"at": 1000.0, "lasts": 900.0, "who": "workload"}, name="in-the-workload"),
    Case("root_gone", {"at": 3900.0, "lasts": 3000.0, "who": "poller"}, shows=late("agent", 2400.0), name="at-the-end"),
    Case("clock_skew", {"seconds": 900.0}),
    Case("clock_skew", {"seconds": -900.0, "who": "workload"}, name="behind-in-the-workload"),
    Case("clock_jump", {"at": 2000.0, "seconds": -900.0, "who": "poller"}, name="back-at-the-poller"),
    Case("kill_dispatcher", {"step": 5}, shows=lambda p: len(p.kills) == 1 and len(own(p)) == 2),
    Case("kill_poller", {"at": 2000.0}, shows=lambda p: told(p, "resumed_watch")),
    Case("kill_supervisor", {"at": 2000.0, **AGENT}, {"agent": "ERROR workload_restarted"}),
    Case("kill_supervisor", {"at": 2000.0, **AGENT, "restart": None}, {"agent": "ERROR vanished"}, name="for-good"),
    Case("kill_bootstrap", {"at": 3000.0, **AGENT}, shows=lambda p: p.kills[0].role == "bootstrap"),
    Case("kill_bootstrap", {"at": 300.0, **AGENT}, {"agent": "ERROR ended_without_result"}, name="in-set-up"),
    Case("reports_limited", {"lasts": 1e6}, shows=lambda p: not any(told.accepted for told in p.told)),
    Case("reports_down", {"lasts": 1e6}, shows=lambda p: not any(told.accepted for told in p.told)),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_fault_has_its_effect_and_nothing_leaks(case: Case) -> None:
    result = played(fault(case.kind, **case.fields))  # type: ignore[arg-type]
    assert words(result) == {**PASSED, **case.says}
    assert case.shows(result)
    settled(result)


def test_every_fault_of_the_menu_has_a_case() -> None:
    elsewhere = {"cancel", "newer_run"}
    assert {case.kind for case in CASES} | elsewhere == set(MENU)


def test_an_engine_that_refuses_at_dispatch_launches_nothing_and_says_so() -> None:
    result = played(fault("api_refused", at=0.0, lasts=5.0))
    assert result.exit_codes == (2,)
    assert result.attempt is None
    assert own(result) == ()
    assert "connection refused" in result.processes[0].error


# --- what ends a gate from outside -------------------------------------------------------------------


@pytest.mark.parametrize(("signal", "code"), [(2, 130), (15, 143)])
def test_a_cancelled_gate_stops_everything_and_is_never_green(signal: int, code: int) -> None:
    result = played(fault("cancel", at=2000.0, signal=signal))
    assert result.exit_codes == (code,)
    assert word(result) == "CANCELLED"
    assert set(words(result).values()) == {"NOT_JUDGED cancelled"}
    assert all(workload.ended is not None and workload.ended < 2015 for workload in own(result))
    settled(result)


def test_a_cancel_while_it_is_dispatched_leaves_nothing() -> None:
    result = played(fault("cancel", at=0.25), fault("api_slow", seconds=2.0, lasts=1e6))
    assert result.exit_codes == (143,)
    settled(result)


def test_a_superseded_gate_leaves_its_workloads_to_the_newer_run_which_reaps_them() -> None:
    result = played(fault("newer_run", at=2000.0))
    assert result.exit_codes == (4,)
    assert word(result) == "SUPERSEDED"
    newer = next(attempt for attempt in result.attempts if attempt.attempt.run != result.run)
    assert newer.decision is not None
    assert newer.decision.word == "GO"
    older = [workload for workload in own(result) if workload.run == result.run]
    assert [workload.history[-1].phase for workload in older] == [Phase.STOPPED, Phase.STOPPED]
    settled(result)


# --- what faults must not do together ----------------------------------------------------------------


def test_a_short_outage_decides_nothing_and_a_long_one_with_standing_legs_is_not_measured() -> None:
    """skypilot#10157: some 503s, and a healthy job is cancelled and relaunched."""
    assert words(played(fault("api_5xx", at=4000.0, lasts=600.0))) == PASSED
    # The command leg is done by then; the other stands still because its engine took it away unseen.
    gone = played(fault("vanish", at=2000.0, legs=("agent",)), fault("api_5xx", at=1990.0, lasts=1e6))
    assert words(gone) == {**PASSED, "agent": "ERROR api_error"}
    assert [left.workload for left in gone.remaining] != []


def test_evidence_that_is_finished_counts_although_the_engine_cannot_be_asked() -> None:
    """skypilot#6133: the job succeeded during the outage and was judged failed."""
    result = played(fault("api_401", at=1000.0, lasts=1e6))
    assert words(result) == PASSED
    assert result.exit_codes == (0,)
    assert [left.workload for left in result.remaining] == ["agent", "command", UNLISTED]


def test_neighbours_are_neither_touched_nor_believed() -> None:
    result = played(neighbours=True)
    assert words(result) == PASSED
    touched = [w.name for w in result.workloads if w.foreign and not w.stale and w.stops]
    stale = [w.history[-1].phase for w in result.workloads if w.stale]
    assert touched == []
    assert stale == [Phase.STOPPED]
    assert any(key.startswith(layout.leg_tag("agent", OTHER_TAG)) for key in result.files[result.run])


def test_a_rerun_carries_what_passed_and_measures_the_rest() -> None:
    result = played(fault("oom", at=2000.0, legs=("agent",)), reruns=(Rerun(600.0),))
    assert result.exit_codes == (3, 0)
    assert words(result) == PASSED
    assert result.attempt is not None
    assert list(result.attempt.attempt.carried) == ["command"]
    assert result.attempt.standing["agent"].flaky
    settled(result)


def test_what_failed_is_held_open_for_a_look_and_ends_with_its_lease() -> None:
    result = played(fault("agent_missing", legs=("agent",)))
    (workload,) = (w for w in own(result) if w.workload == "agent")
    ((begin, end),) = workload.kept
    assert 1700 < end - begin < 2100  # keep_on_fail is half an hour, from the decision on
    settled(result)


def test_fail_fast_ends_the_gate_with_the_first_loss() -> None:
    plan = without(small(), fail_fast=True)
    result = played(fault("oom", at=2000.0, legs=("agent",)), plan=plan)
    assert words(result) == {"agent": "ERROR out_of_memory", "command": "NOT_JUDGED fail_fast"}
    settled(result)


def test_a_gate_without_legs_is_played_too() -> None:
    nothing = without(small(), legs=(), workloads=(), scope="none")
    result = played(fault("oom"), fault("kill_poller"), plan=nothing, neighbours=True)
    assert result.exit_codes == (3,)
    assert own(result) == ()
