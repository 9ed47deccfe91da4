"""A plan for people: it is read at a glance, also in a narrow terminal."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from gate.plan.model import Plan
from gate.plan.plan_view import criteria_table, driver, headline, legs_table
from tests.plan.build import COMMAND, resolved


def shown(plan: Plan, width: int) -> list[str]:
    output = io.StringIO()
    console = Console(width=width, file=output, markup=False, highlight=False)
    console.print(legs_table(plan))
    console.print(criteria_table(plan))
    return output.getvalue().splitlines()


def test_a_row_a_leg_also_in_eighty_columns(tmp_path: Path) -> None:
    legs = "".join(f"  docker-vllm-{hours}h: {{run: python3 tune.py}}\n" for hours in range(1, 9))
    lines = shown(resolved(tmp_path, COMMAND + legs).plan, 80)
    assert sum("docker-vllm-" in line and "python3 tune.py" in line for line in lines) == 8
    assert any(line.startswith("all legs") and "done is true; ok in {true}" in line for line in lines)


def test_legs_that_are_judged_alike_share_a_row(tmp_path: Path) -> None:
    other = "  c: {run: 'true', judge: {finished: {end: true}, limits: {n: {max: 0}}}}\n"
    lines = shown(resolved(tmp_path, COMMAND + "  b: {run: 'true'}\n" + other).plan, 80)
    assert any(line.startswith("a, b ") and "done is true" in line for line in lines)
    assert any(line.startswith("c ") and "n ≤ 0" in line for line in lines)


def test_a_command_of_many_lines_is_shown_by_its_beginning(tmp_path: Path) -> None:
    text = COMMAND.replace("run: 'true'", 'run: "\\nmake it\\nmake more\\n"')
    assert driver(resolved(tmp_path, text).plan.leg("a")) == "$ make it …"


def test_one_leg_is_one_leg_and_no_version_is_none(tmp_path: Path) -> None:
    first = headline(resolved(tmp_path, COMMAND).plan).splitlines()[0]
    assert first == "gate g · unversioned · full: 1 leg"


def test_the_digest_of_a_url_is_shown(tmp_path: Path) -> None:
    artifact = f"artifact: {{url: 'http://127.0.0.1:1/a.whl', digest: 'sha256:{'ab' * 32}'}}"
    text = COMMAND.replace("artifact: none", artifact)
    assert "http://127.0.0.1:1/a.whl · sha256:abababababab…" in headline(resolved(tmp_path, text).plan)
