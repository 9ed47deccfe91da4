"""The timeline, the lanes and the ladder that `gate simulate` shows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.simulate.lanes import picture, stretches
from gate.simulate.outcome import as_json
from gate.simulate.played import Played
from gate.simulate.rungs import Climbed, climbed
from gate.simulate.scenario import Fault, LegCourse, Scenario
from gate.simulate.timeline import clock, timeline
from gate.simulate.view import LANES, show
from tests.simulate.gates import fault, played, small, without


def lines(result: Played) -> list[str]:
    return [f"{clock(line.at)} {line.subject}: {line.text}" for line in timeline(result)]


def rung(result: Played, name: str, subject: str) -> Climbed:
    (found,) = (each for each in climbed(result) if (each.rung, each.subject) == (name, subject))
    return found


def text(result: Played, width: int = 100) -> str:
    return "\n".join(line.plain for line in show(result, 0.5, width))


def test_the_timeline_tells_when_what_happened() -> None:
    assert lines(played()) == [
        "0:00 dispatcher-1: starts",
        *sorted(["0:00 agent: created as sim-2", "0:00 command: created as sim-1"], key=lambda line: line[-1]),
        "0:00 dispatcher-1: ends",
        "0:01 poller-1: starts",
        "2:00 command: runs, after 2 min in the queue",
        "2:00 agent: runs, after 2 min in the queue",
        "2:05 agent: set-up turn 1: 10 min, completed",
        "12:07 agent: task turn 2 (resumed): 1 min, completed",
        "14:05 command: first state file",
        "25:07 agent: first state file",
        "1:02:05 command: last state file; 7 writes, the longest gap 8 min (from 54:05)",
        "1:02:05 command: Succeeded",
        '1:04:01 command: PASS criteria_met: stop_reason is "converged"',
        "1:13:07 agent: last state file; 7 writes, the longest gap 8 min (from 1:05:07)",
        "1:13:07 agent: Succeeded",
        '1:14:01 agent: PASS criteria_met: stop_reason is "converged", crashes is 0',
        "1:14:01 : GO: all 2 blocking legs passed",
        "1:14:01 poller-1: ends",
    ]


def test_faults_kills_and_blind_time_stand_in_the_timeline() -> None:
    result = played(
        fault("turn_hang", turn=1), fault("kill_poller", at=2000.0), fault("api_401", at=1000.0, lasts=300.0)
    )
    found = lines(result)
    assert "2:05 agent: turn_hang turn 1" in found
    assert "2:05 agent: set-up turn 1: 15 min, timed out ← turn_hang" in found
    assert "33:20 poller-1: killed" in found
    assert any("poller-1: cannot see the engine for" in line and "401" in line for line in found)


def test_the_ladder_says_what_was_spent_of_each_rung() -> None:
    result = played()
    assert rung(result, "queue", "agent") == Climbed("queue", "agent", 120.0, 3600.0, hit=False)
    assert rung(result, "prepare", "agent").spent == 5.0
    assert rung(result, "turn", "agent").spent == 600.0
    assert rung(result, "set-up", "agent").spent == pytest.approx(602.0)
    assert rung(result, "task", "agent").spent == pytest.approx(3660.0)
    assert rung(result, "workload time-out", "agent").spent == pytest.approx(4267.0)
    assert rung(result, "poll deadline", "").spent == 4440.0
    assert rung(result, "task", "agent").slack == pytest.approx(3 * 3600 - 3660)
    assert not any(each.hit for each in climbed(result))


@pytest.mark.parametrize(
    ("struck", "name"),
    [
        (fault("queue", legs=("agent",), seconds=7200.0), "queue"),
        (fault("turn_hang"), "turn"),
        (fault("setup_long", legs=("agent",), seconds=7200.0), "set-up"),
        (fault("task_long", legs=("agent",), seconds=10_000.0), "task"),
        (fault("timeout", legs=("agent",), at=2000.0), "workload time-out"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.kind,
)
def test_who_hits_a_rung_is_named(struck: Fault, name: str) -> None:
    result = played(struck)
    hit = [each.rung for each in climbed(result) if each.hit and each.subject == "agent"]
    assert name in hit
    assert set(hit) - {name, "turn"} == set()
    shown = next(line for line in text(result).splitlines() if line.startswith(f"{name} "))
    assert "agent" in shown
    assert "hit" in shown


def test_lanes_show_phases_in_their_order_and_verdicts_at_their_time() -> None:
    result = played()
    assert [each.phase for each in stretches(result, "agent")] == [
        "queue",
        "prepare",
        "set-up",
        "launch",
        "run",
        "read",
    ]
    drawn = [line.plain for line in picture(result, ["agent", "command"], 100)]
    assert all(len(line) <= 100 for line in drawn)
    agent, command = drawn[1], drawn[2]
    assert agent.rstrip().endswith("✔")
    assert agent.index("▓") < agent.index("▚") < agent.index("█") < agent.index("✔")
    assert command.rstrip().index("✔") < agent.index("✔")


def test_a_leg_that_did_not_pass_says_why_beside_its_lane_and_faults_have_a_line() -> None:
    shown = text(played(fault("oom", legs=("agent",), at=2000.0)))
    assert " NOT MEASURED  leg agent: the workload ran out of memory" in shown
    lane = next(line for line in shown.splitlines() if line.startswith("agent "))
    assert "⚠" in lane
    assert lane.rstrip().endswith("out_of_memory")
    assert any(line.startswith("went wrong") and "↯" in line for line in shown.splitlines())


def test_a_run_that_nobody_decided_says_so() -> None:
    shown = text(played(fault("api_refused", at=0.0, lasts=5.0)))
    assert shown.startswith(" UNDECIDED  connection refused")


def test_of_many_legs_those_are_shown_that_matter() -> None:
    legs = tuple(replace(leg, id=f"{leg.id}-{number}") for number in range(60) for leg in small().legs)
    workloads = tuple(replace(small().workloads[0], id=leg.id, legs=(leg.id,)) for leg in legs)
    many = without(small(), legs=legs, all_legs=tuple(leg.id for leg in legs), workloads=workloads)
    result = played(plan=many, legs={"agent-7": LegCourse(result="fail")})
    shown = text(result).splitlines()
    lanes = [line for line in shown if line.startswith(("agent-", "command-")) and ("✔" in line or "✘" in line)]
    assert len(lanes) == LANES
    assert any(line.startswith("agent-7 ") and "✘" in line for line in lanes)
    assert f"… and {120 - LANES} more legs" in shown
    assert any("--json has them all" in line for line in shown)


def test_text_from_outside_carries_no_escape_sequences() -> None:
    plan = small()
    hostile = without(plan, gate="small", version="1\x1b[31m0")
    assert "\x1b" not in text(played(plan=hostile))


def test_the_json_has_every_line_and_rung() -> None:
    result = played(fault("turn_hang"))
    body = as_json(result)
    assert len(body["timeline"]) == len(timeline(result))
    assert [row["rung"] for row in body["ladder"]] == [each.rung for each in climbed(result)]
    assert body["decision"]["word"] == "GO"
    assert body["scenario"]["faults"] == [{"fault": "turn_hang"}]
    assert Scenario().faults == ()
