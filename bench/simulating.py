"""`gate simulate`: how long the reference gate takes from the prompt to the prompt, a thousand legs, one small gate."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Row, wall
from gate.plan.model import Plan
from gate.plan.resolve import Choice, resolve
from gate.simulate.play import play
from gate.simulate.scenario import Durations, Scenario, Span

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "tests" / "plan" / "data" / "reference" / "gate.yaml"
GATE = str(Path(sys.executable).with_name("gate"))
RUNS = 7
SMALL = 40
"""Plays of the small gate."""

THOUSAND = """\
version: 1
gate: thousand
artifact: none
matrix:
  axes: {{number: [{numbers}], hours: [3, 12]}}
  id: "leg-{{number}}-{{hours}}h"
  setup: {{prompt: "Set it up.", verify: test -x run, budget: 45m}}
  task: {{prompt: "Run it.", budget: {{by: hours, 3: 4h, 12: 13h}}}}
  judge: {{finished: {{done: true}}, pass: {{stop_reason: [converged]}}, show: [gain]}}
budgets: {{queue: 4h, job: 20h}}
engine: {{kind: safe, url: "https://engine.invalid", workspace: e2e, credential: KEY}}
secrets: {{KEY: {{env: KEY}}}}
agent: {{kind: claude, version: 2.1.332}}
"""

THREE = """\
version: 1
gate: three
artifact: none
legs:
  a: &agent
    setup: {prompt: "Set it up, please.", budget: 20m}
    task: {prompt: "Run it, please.", budget: 50m}
    judge: {finished: {done: true}, pass: {stop_reason: [converged]}}
  b: *agent
  c:
    run: make search
    budget: 50m
    judge: {finished: {done: true}, pass: {stop_reason: [converged]}}
workloads: {both: {legs: [a, b], shared: true}}
budgets: {interval: 60s}
engine: {kind: safe, url: "https://engine.invalid", workspace: e2e, credential: KEY}
secrets: {KEY: {env: KEY}}
agent: {kind: claude}
"""


def rows() -> Iterator[Row]:
    """Whole processes on the wall clock; the small gate by its CPU time in one process, as a campaign plays it."""
    words = [GATE, "simulate", str(REFERENCE)]
    wall(words)
    times = [wall(words) for _ in range(RUNS)]
    yield Row(
        what="`gate simulate` of the eight-leg 3 h/12 h reference gate, as a whole process",
        measured=statistics.median(times),
        limit=1,
        unit="s",
        how=f"median of {RUNS} runs, start-up included; the slowest took {max(times):.2f} s",
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "gate.yaml")
        path.write_text(THOUSAND.format(numbers=", ".join(map(str, range(500)))), encoding="utf-8")
        took = wall([GATE, "simulate", str(path)])
    yield Row(
        what="`gate simulate` of 1,000 legs of 3 and 12 hours",
        measured=took,
        limit=60,
        unit="s",
        how="one run as a whole process",
    )
    yield _small()


def _small() -> Row:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "gate.yaml")
        path.write_text(THREE, encoding="utf-8")
        plan: Plan = resolve(path, Choice(version="1.0")).plan
    scenario = Scenario(durations=Durations(pull=Span(60, 300), install=Span(120, 600)))
    hours = play(plan, scenario, 0).ended / 3600
    costs = []
    for seed in range(SMALL):
        began = time.process_time()
        play(plan, scenario, seed)
        costs.append(time.process_time() - began)
    return Row(
        what=f"a gate of three legs and {hours:.1f} h, played in a loop: CPU",
        measured=statistics.median(costs) * 1000,
        limit=30,
        unit="ms",
        how=f"median of {SMALL} plays with as many seeds: {60 / statistics.median(costs):,.0f} a minute",
    )


if __name__ == "__main__":
    for row in rows():
        print(f"{'kept' if row.kept else 'NOT KEPT'}: {row.what}: {row.measured:.4g} {row.unit} ({row.how})")
