"""The ladder: derived values always fit, broken ones name both rungs and a change that really mends them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from gate.errors import LadderError
from gate.plan.budgets import derived_above, fits_below, margin
from gate.plan.duration import format_duration, parse_duration
from gate.plan.ladder_view import picture, table
from gate.plan.resolve import Choice, Resolved, resolve
from gate.plan.workflow import job_rungs
from tests.plan.build import AGENT, COMMAND, resolved, write


def message(shown: Resolved) -> str:
    with pytest.raises(LadderError) as caught:
        shown.ladder.check()
    return str(caught.value)


@given(st.floats(min_value=1, max_value=10**6))
def test_a_derived_rung_keeps_its_margin_and_is_not_wasteful(low: float) -> None:
    high = derived_above(low)
    assert low + margin(low) <= high < low + margin(low) + 60
    assert high % 60 == 0
    assert fits_below(high) >= low


@given(
    task=st.integers(1, 20 * 3600),
    setup=st.integers(1, 3600),
    prepare=st.integers(1, 3600),
)
@settings(max_examples=40, deadline=None)
def test_whatever_few_numbers_are_set_the_derived_ladder_fits(
    tmp_path_factory: pytest.TempPathFactory, task: int, setup: int, prepare: int
) -> None:
    text = AGENT.replace("Set it up.}", f"Set it up., budget: {setup}s}}").replace(
        "it now.}", f"it now., budget: {task}s}}"
    )
    shown = resolved(tmp_path_factory.mktemp("g"), f"{text}budgets: {{prepare: {prepare}s}}\n")
    if shown.ladder.broken:
        assert [step.high.name for step in shown.ladder.broken] == ["token life"]
    else:
        shown.ladder.check()


def test_the_named_inequalities_of_an_agent_leg(tmp_path: Path) -> None:
    steps = resolved(tmp_path, AGENT).ladder.steps
    assert [step.name for step in steps] == [
        "start-up probe < turn",
        "turn < set-up",
        "stall < set-up",
        "leg < workload time-out",
        "workload < poll deadline",
        "poll deadline < token life",
    ]
    values = [format_duration(step.high.seconds) for step in steps]
    assert values == ["20m", "45m", "45m", "2h", "3h7m", "24h"]


BROKEN = [
    (
        "budgets: {turn: 50m}",
        ["turn 50m must stay below set-up 45m", "gate.yaml:10 budgets.turn", "lower budgets.turn to 44m33s"],
    ),
    ("budgets: {stall: 1h, setup: 50m}", ["stall 1h must stay below set-up 50m", "raise budgets.setup to 1h36s"]),
    (
        "budgets: {startup_probe: 30m}",
        ["start-up probe 30m must stay below turn 20m", "lower budgets.startup_probe to 19m48s"],
    ),
    (
        "workloads: {w: {legs: a, timeout: 1h}}",
        [
            "a: prepare 10m + set-up 45m + task 1h + wait margin 3m = 1h58m",
            "workload time-out 1h",
            "raise workloads.w.timeout to 1h59m11s",
        ],
    ),
    (
        "budgets: {poll: 2h}",
        [
            "queue 10m + workload time-out 2h + skew allowance 5m = 2h15m",
            "poll deadline 2h",
            "raise budgets.poll to 2h16m21s",
        ],
    ),
    ("budgets: {job: 2h}", ["poll deadline 2h17m", "job time-out 2h", "raise budgets.job to 2h18m23s"]),
    ("budgets: {job: 24h}", ["job time-out 24h", "must stay below token life 24h", "lower budgets.job to 23h45m44s"]),
    (
        "budgets: {task: 30h}",
        ["poll deadline", "must stay below token life 24h", "lower budgets.task to"],
    ),
    ("budgets: {queue: 23h}", ["poll deadline 25h", "token life 24h", "lower budgets.queue to"]),
]


@pytest.mark.parametrize(("budgets", "says"), BROKEN, ids=[text for text, _ in BROKEN])
def test_a_broken_rung_names_both_and_the_smallest_change(tmp_path: Path, budgets: str, says: list[str]) -> None:
    told = message(resolved(tmp_path, f"{AGENT}{budgets}\n"))
    assert all(fragment in told for fragment in says), told


@pytest.mark.parametrize("budgets", [text for text, _ in BROKEN])
def test_the_change_mends_it_and_a_second_less_does_not(tmp_path: Path, budgets: str) -> None:
    told = message(resolved(tmp_path, f"{AGENT}{budgets}\n"))
    change = re.search(r"smallest change: (raise|lower) (\S+)\.(\w+) to (\S+)", told)
    assert change is not None, told
    verb, _, key, value = change.groups()
    by_hand = re.compile(rf"\b{key}: [0-9hms]+")

    def steps_broken(text: str) -> int:
        return len(resolved(tmp_path, f"{AGENT}{by_hand.sub(f'{key}: {text}', budgets)}\n").ladder.broken)

    assert steps_broken(value) == 0
    less = parse_duration(value) + (-1 if verb == "raise" else 1)
    assert steps_broken(format_duration(less)) > 0


def test_all_broken_ones_are_told_at_once(tmp_path: Path) -> None:
    told = message(resolved(tmp_path, f"{AGENT}budgets: {{turn: 50m, stall: 46m, job: 1h}}\n"))
    assert told.startswith("3 deadlines do not fit:")
    assert told.count("smallest change:") == 3


def test_resolve_refuses_a_broken_ladder(tmp_path: Path) -> None:
    with pytest.raises(LadderError, match="Nothing was launched"):
        resolve(write(tmp_path, f"{AGENT}budgets: {{job: 1h}}\n"), None, {})


def test_a_long_leg_shortens_the_queue_until_the_job_holds_it(tmp_path: Path) -> None:
    poll = resolved(tmp_path, f"{COMMAND}engine: slurm\nbudgets: {{job: 2h}}\n").plan.poll
    assert (poll.queue, poll.deadline) == (89 * 60.0, 118 * 60.0)


def test_a_shared_workload_lasts_as_long_as_its_longest_leg(tmp_path: Path) -> None:
    text = COMMAND + "  b: {run: 'true', budget: 2h}\nworkloads: {both: {legs: '*', shared: true}}\n"
    workload = resolved(tmp_path, text).plan.workloads[0]
    assert workload.legs == ("a", "b")
    assert format_duration(workload.timeout) == "2h18m"


def test_legs_with_equal_rungs_are_one_row(tmp_path: Path) -> None:
    text = COMMAND.partition("legs:")[0] + "matrix: {axes: {n: [1, 2, 3, 4, 5]}, run: 'true'}\n"
    steps = resolved(tmp_path, text).ladder.steps
    assert steps[0].subjects == ("1", "2", "3", "4", "5")
    assert len(steps) == 3


def test_the_table_and_the_picture_show_every_rung(tmp_path: Path) -> None:
    shown = resolved(tmp_path, f"{AGENT}budgets: {{job: 4h}}\n")
    console = Console(width=140)
    with console.capture() as captured:
        console.print(table(shown.ladder))
    text = captured.get()
    for word in ("start-up probe 1m30s", "set-up 45m", "job time-out 4h*", "token life 24h", "✓"):
        assert word in text
    drawn = picture(shown.ladder).splitlines()
    assert [line.split("  ")[0].strip() for line in drawn[:3]] == ["a", "poll deadline", "job time-out"]
    assert all(ink in drawn[0] for ink in "░▒▓█▚")
    assert drawn[2].endswith("4h")
    assert max(map(len, drawn)) <= 100


def test_a_broken_rung_is_marked_in_the_table(tmp_path: Path) -> None:
    console = Console(width=140)
    with console.capture() as captured:
        console.print(table(resolved(tmp_path, f"{AGENT}budgets: {{job: 1h}}\n").ladder))
    assert "✗" in captured.get()


def test_json_of_the_ladder(tmp_path: Path) -> None:
    steps = resolved(tmp_path, f"{AGENT}budgets: {{job: 1h}}\n").ladder.as_json()
    step = next(one for one in steps if one["name"] == "poll deadline < job time-out")
    assert step["holds"] is False
    assert step["slack"] < 0
    assert step["high"] == {"name": "job time-out", "seconds": 3600.0, "set": "gate.yaml:10 budgets.job"}


WORKFLOW = """\
on: {pull_request: {}}
jobs:
  build:
    runs-on: ubuntu-latest
    steps: [{run: make}]
  gate:
    runs-on: [self-hosted, gpu]
    TIMEOUT
    steps:
      - uses: actions/checkout@v5
      - run: |
          exec gate run --config gate.yaml
"""


def with_workflow(folder: Path, timeout: str, config: str = AGENT) -> Resolved:
    path = folder / "gate.yml"
    path.write_text(WORKFLOW.replace("TIMEOUT", timeout))
    rungs, _ = job_rungs(path)
    return resolved(folder, config, Choice(jobs=tuple(rungs)))


def test_a_workflow_that_leaves_enough_time(tmp_path: Path) -> None:
    with_workflow(tmp_path, "timeout-minutes: 300").ladder.check()


def test_a_workflow_that_ends_the_job_first(tmp_path: Path) -> None:
    told = message(with_workflow(tmp_path, "timeout-minutes: 100"))
    assert "job time-out of gate 1h40m" in told
    assert "gate.yml:8 jobs.gate.timeout-minutes" in told
    assert "raise jobs.gate.timeout-minutes to 189" in told
    with_workflow(tmp_path, "timeout-minutes: 189").ladder.check()
    message(with_workflow(tmp_path, "timeout-minutes: 188"))


def test_github_s_default_of_six_hours_counts(tmp_path: Path) -> None:
    told = message(with_workflow(tmp_path, "name: x", AGENT + "budgets: {task: 10h}\n"))
    assert "job time-out of gate (GitHub's default) 6h" in told


def test_a_time_out_of_the_step_counts_too(tmp_path: Path) -> None:
    path = tmp_path / "gate.yml"
    path.write_text(
        WORKFLOW.replace("TIMEOUT", "timeout-minutes: 900").replace("- run: |", "- timeout-minutes: 30\n        run: |")
    )
    rungs, notes = job_rungs(path)
    assert [(rung.name, rung.seconds) for rung in rungs] == [
        ("job time-out of gate", 54000.0),
        ("step time-out of gate", 1800.0),
    ]
    assert notes == []


def test_an_expression_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "gate.yml"
    path.write_text(WORKFLOW.replace("TIMEOUT", "timeout-minutes: ${{ inputs.minutes }}"))
    rungs, notes = job_rungs(path)
    assert rungs == []
    assert "is known to GitHub alone" in notes[0]


def test_github_s_own_runners_stop_after_six_hours(tmp_path: Path) -> None:
    path = tmp_path / "gate.yml"
    path.write_text(WORKFLOW.replace("TIMEOUT", "timeout-minutes: 900").replace("[self-hosted, gpu]", "ubuntu-24.04"))
    rungs, notes = job_rungs(path)
    assert rungs[0].seconds == 21600.0
    assert "end a job after 360 minutes" in notes[0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1\n", "expected a GitHub workflow"),
        ("jobs: {build: {steps: [{run: make}]}}\n", "jobs build, none of which runs the gate"),
        (
            "jobs: {x: {timeout-minutes: soon, steps: [{run: gate poll}]}}\n",
            "found 'soon'; expected a number of minutes",
        ),
    ],
)
def test_a_workflow_that_cannot_be_checked(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "w.yml"
    path.write_text(text)
    with pytest.raises(Exception, match=re.escape(says)):
        job_rungs(path)


@pytest.mark.parametrize("width", [60, 80, 100, 300])
def test_a_picture_fits_the_terminal(tmp_path: Path, width: int) -> None:
    text = AGENT.replace("  a:\n", "  a-leg-with-quite-a-long-name:\n")
    lines = picture(resolved(tmp_path, text).ladder, width).splitlines()
    assert max(map(len, lines)) <= min(width, 100)
    assert "task" in " ".join(lines)


def test_no_odd_milliseconds_are_shown(tmp_path: Path) -> None:
    shown = resolved(tmp_path, COMMAND + "budgets: {poll: 20m}\n")
    output = io.StringIO()
    Console(width=100, file=output).print(table(shown.ladder))
    assert "task 10m" in output.getvalue()
    assert not re.search(r"\d+s\d+ms", output.getvalue() + message(shown))
