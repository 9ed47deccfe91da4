"""Entries from gates played in virtual time: the driver and machine of production in a world that misbehaves."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gate.plan.resolve import resolve_unchecked
from gate.simulate.play import play
from gate.simulate.scenario import Durations, Fault, LegCourse, Rerun, Scenario, Span

JUDGE = """\
version: 1
gate: corpus
artifact: none
judge: {finished: {done: true}, pass: {stop_reason: [converged]}, limits: {crashes: {max: 0}}, show: [gain]}
agent: {kind: command, version: '1', start: [agent], resume: [agent]}
budgets: {interval: 3m, evidence: 6m, outage: 20m, queue: 1h}
"""
AGENT = """\
  %s:
    setup: {prompt: Set it up., budget: 40m}
    task: {prompt: Run it now., budget: 40m}
"""
ONE = JUDGE + "legs:\n" + AGENT % "main"
TWO = ONE + AGENT % "other"
INFORMING = ONE + "  aside: {informing: true, run: 'true', budget: 30m}\n"
SHARED = TWO + "workloads:\n  both: {legs: [main, other], shared: true}\n"
SILENCE = ONE + "    budgets: {silence: 12m}\n"
NO_FAIL_FAST = TWO.replace("legs:", "fail_fast: false\nlegs:")
FLAKY_FAILS = ONE.replace("legs:", "flaky: fail\nlegs:")
NO_REDRIVES = ONE + "    redrives: 0\n"
NO_LAUNCHES = ONE + "    launches: 0\n"
TWO_TURNS = ONE + "    max_turns: 2\n"
COMMAND = JUDGE + "legs:\n  main: {run: 'true', budget: 40m}\n"
RESTARTS = ONE + "    allow_restart: true\n"

FAST = Durations(install=Span(300, 600), pull=Span(60, 120))
CI = {"GITHUB_REPOSITORY": "example/corpus"}
"""Tags are made of it: a run recorded again has the same."""
ALWAYS = 10 * 86_400.0


@dataclass(frozen=True, slots=True)
class Simulated:
    """One play: a gate.yaml, what goes wrong, and which run of the play is kept."""

    gate: str
    scenario: Scenario
    seed: int = 1


def _play(gate: str = ONE, *faults: Fault, reruns: int = 0, seed: int = 1, **legs: LegCourse) -> Simulated:
    scenario = Scenario(durations=FAST, legs=legs, faults=faults, reruns=(Rerun(),) * reruns)
    return Simulated(gate, scenario, seed)


FAIL = LegCourse(result="fail")

ENTRIES: Mapping[str, Simulated] = {
    # measured
    "pass": _play(),
    "pass-shared": _play(SHARED),
    "fail": _play(main=FAIL),
    "limit-exceeded": _play(main=LegCourse(result="over_limit")),
    "fail-fast": _play(TWO, main=LegCourse(result="fail", task=Span(0.3, 0.3, of_budget=True))),
    "no-fail-fast": _play(NO_FAIL_FAST, main=LegCourse(result="fail", task=Span(0.3, 0.3, of_budget=True))),
    "informing-fails": _play(INFORMING, aside=FAIL),
    "flaky": _play(ONE, Fault("oom", at=2500), reruns=1),
    "carried": _play(NO_FAIL_FAST, Fault("oom", at=2500, legs=("main",)), reruns=1),
    "flaky-fails": _play(FLAKY_FAILS, Fault("oom", at=2500, legs=("main",)), reruns=1),
    # inside the workload
    "never-began": _play(ONE, Fault("prepare_fails")),
    "agent-unavailable": _play(ONE, Fault("agent_missing")),
    "setup-stalled": _play(ONE, Fault("setup_stall")),
    "setup-deadline": _play(ONE, Fault("setup_long", seconds=9000)),
    "task-deadline": _play(ONE, Fault("task_long", seconds=9000)),
    "task-stalled": _play(NO_REDRIVES, Fault("task_stall")),
    "launch-failed": _play(NO_LAUNCHES, Fault("launch_nothing")),
    "turns-spent": _play(TWO_TURNS, *(Fault("turn_early", turn=turn) for turn in (1, 2))),
    "command-failed": _play(COMMAND, Fault("task_dies")),
    "bootstrap-killed": _play(ONE, Fault("kill_bootstrap", at=2000)),
    "silent": _play(SILENCE, Fault("task_stall")),
    # the workload
    "create-refused": _play(ONE, Fault("create_refused")),
    "create-unclear": _play(ONE, Fault("create_lost")),
    "created-after-all": _play(ONE, Fault("create_unclear")),
    "never-started": _play(ONE, Fault("queue", seconds=7200)),
    "image-unavailable": _play(ONE, Fault("image_missing")),
    "unschedulable": _play(ONE, Fault("unschedulable")),
    "vanished": _play(ONE, Fault("vanish", at=2000)),
    "restarted": _play(ONE, Fault("preempt", at=1500)),
    "restart-allowed": _play(RESTARTS, Fault("preempt", at=1500)),
    "out-of-memory": _play(ONE, Fault("oom", at=2000)),
    "evicted": _play(ONE, Fault("evict", at=2000)),
    "node-lost": _play(ONE, Fault("node_lost", at=2000)),
    "time-out": _play(ONE, Fault("timeout", at=2000)),
    "supervisor-killed": _play(ONE, Fault("kill_supervisor", at=2000, restart=None)),
    # the evidence
    "torn-then-good": _play(ONE, Fault("state_torn", at=1500, lasts=60)),
    "torn-for-good": _play(ONE, Fault("state_torn", at=1500, lasts=ALWAYS), Fault("oom", at=3000)),
    "empty-then-good": _play(ONE, Fault("state_empty", at=1500, lasts=60)),
    "value-missing": _play(main=LegCourse(result="missing")),
    "wrong-types": _play(ONE, Fault("state_types")),
    "unreadable": _play(ONE, Fault("state_unreadable", at=600, lasts=ALWAYS)),
    "foreign": _play(ONE, Fault("state_foreign", at=600, lasts=ALWAYS)),
    "two-state-files": _play(ONE, Fault("state_two")),
    "stray": _play(ONE, Fault("state_stray")),
    # the observer
    "outage-that-ends": _play(ONE, Fault("api_refused", at=1200, lasts=900)),
    "outage-refused": _play(ONE, Fault("queue", seconds=3000), Fault("api_refused", at=600, lasts=7200)),
    "outage-rejected": _play(ONE, Fault("queue", seconds=3000), Fault("api_401", at=600, lasts=7200)),
    "outage-timed-out": _play(ONE, Fault("queue", seconds=3000), Fault("api_timeout", at=600, lasts=7200)),
    "outage-error": _play(ONE, Fault("queue", seconds=3000), Fault("api_html", at=600, lasts=7200)),
    "outage-of-a-leg-that-moves": _play(ONE, Fault("api_5xx", at=1200, lasts=ALWAYS)),
    "list-lacks-a-workload": _play(ONE, Fault("api_incomplete", at=1200, lasts=1200)),
    "phases-go-backwards": _play(ONE, Fault("phase_backwards", at=1500)),
    "root-away-then-good": _play(ONE, Fault("root_gone", at=1200, lasts=1200, who="poller")),
    "poll-deadline": _play(ONE, Fault("root_gone", at=1200, lasts=8400, who="poller")),
    "disk-full": _play(ONE, Fault("disk_full", at=2700, lasts=900, who="poller")),
    "poller-restarts": _play(
        TWO, *(Fault("kill_poller", at=at, restart=pause) for at, pause in ((700, 30), (1500, 900), (2600, 60)))
    ),
    "clock-jumps": _play(ONE, Fault("clock_jump", at=1500, seconds=-900, who="poller")),
    # not judged
    "cancelled": _play(TWO, Fault("cancel", at=1500)),
    "superseded": _play(TWO, Fault("newer_run", at=1500)),
    # undecided: its poller died, and nobody went on
    "undecided-queueing": _play(ONE, Fault("queue", seconds=3000), Fault("kill_poller", at=1500, restart=None)),
    "undecided-running": _play(ONE, Fault("kill_poller", at=2000, restart=None)),
    "undecided-in-an-outage": _play(
        ONE, Fault("api_refused", at=1000, lasts=7200), Fault("kill_poller", at=1700, restart=None)
    ),
    "undecided-torn": _play(
        ONE, Fault("state_torn", at=1500, lasts=ALWAYS), Fault("kill_poller", at=1830, restart=None)
    ),
}


def record(name: str) -> Mapping[str, bytes]:
    """Key to content of the play's run directory."""
    entry = ENTRIES[name]
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        path = Path(folder) / "gate.yaml"
        path.write_text(entry.gate, encoding="utf-8")
        plan = resolve_unchecked(path, None, CI).plan
    played = play(plan, entry.scenario, entry.seed)
    return played.files[played.run]
