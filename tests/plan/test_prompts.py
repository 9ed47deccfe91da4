"""Prompts: undefined names are faults with file and line, slots stay for the workload, the contract is always there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gate.errors import ConfigError, PromptError
from gate.plan.model import SLOTS, Prompts
from gate.plan.templates import SHIPPED
from tests.plan.build import AGENT, JUDGE, resolved


def prompts(folder: Path, text: str, leg: str = "a", **files: str) -> Prompts:
    found = resolved(folder, text, None, **files).plan.leg(leg).prompts
    assert found is not None
    return found


def with_setup(value: str) -> str:
    return AGENT.replace("Set it up.", value)


def test_a_value_with_white_space_is_the_prompt_itself(tmp_path: Path) -> None:
    text = prompts(tmp_path, with_setup("'Install {{ version }} for {{ leg }} of {{ gate }}.'")).setup
    assert text.startswith("Install unversioned for a of g.\n")


def test_a_value_without_white_space_is_a_path(tmp_path: Path) -> None:
    text = prompts(tmp_path, with_setup("p/s.md.j2"), **{"p/s.md.j2": "From a file, {{ leg.id }}.\n"}).setup
    assert text.startswith("From a file, a.\n")


def test_the_contract_is_added_where_it_was_not_included(tmp_path: Path) -> None:
    found = prompts(tmp_path, AGENT)
    assert found.marker == "GATE-SETUP-COMPLETE g/a"
    assert found.setup.rstrip().endswith(found.marker)
    assert "setsid nohup" in found.setup
    assert "setsid nohup" in found.task
    assert found.marker not in found.task


def test_the_contract_is_not_added_twice(tmp_path: Path) -> None:
    setup = 'Set up. {% set marker_expected = true %}\n{% include "gate/_contract.md.j2" %}\n'
    found = prompts(tmp_path, with_setup("s.md.j2"), **{"s.md.j2": setup})
    assert found.setup.count("setsid nohup") == 1
    assert found.setup.count(found.marker) == 1


def test_the_marker_a_prompt_says_is_the_one_that_is_looked_for(tmp_path: Path) -> None:
    found = prompts(tmp_path, with_setup("'Set up; the last line is {{ marker }} alone.'"))
    assert found.marker in found.setup.splitlines()[0]


SLOTTED = "In {{ workspace }} and {{ slot.workspace }} from {{ artifact }}, state {{ state_file }}."


def test_slots_stay_for_the_workload_under_both_names(tmp_path: Path) -> None:
    text = prompts(
        tmp_path,
        with_setup("'In {{ workspace }} and {{ slot.workspace }} from {{ artifact }}, state {{ state_file }}.'"),
    )
    assert text.setup.startswith(
        "In <<gate:workspace>> and <<gate:workspace>> from <<gate:artifact>>, state <<gate:state_file>>."
    )
    for found in re.findall(r"<<gate:(\w+)>>", f"{text.setup}{text.task}{text.nudge}{text.redrive}{text.recap}"):
        assert found in SLOTS


def test_budgets_read_as_people_write_them(tmp_path: Path) -> None:
    text = prompts(tmp_path, with_setup("'{{ budgets.setup }} or {{ budgets.setup.minutes | int }} minutes'")).setup
    assert text.startswith("45m or 45 minutes\n")


MATRIX = (
    f"version: 1\ngate: g\nartifact: none\n{JUDGE}agent: {{kind: command, start: [x], resume: [x]}}\n"
    "matrix:\n  axes: {mode: [bare, docker], hours: [3, 12]}\n"
    '  setup: {prompt: "s-{mode}.md.j2"}\n  task: {prompt: "Run {{ axes.hours + 1 }} h, {{ leg.axes.mode }}."}\n'
)


def test_axes_choose_the_file_and_stand_in_the_text(tmp_path: Path) -> None:
    files = {"s-bare.md.j2": "On metal, {{ leg }}", "s-docker.md.j2": "In a container, {{ leg }}"}
    found = prompts(tmp_path, MATRIX, "docker-12", **files)
    assert found.setup.startswith("In a container, docker-12\n")
    assert found.task.startswith("Run 13 h, docker.\n")


def test_an_own_nudge_replaces_the_shipped_one(tmp_path: Path) -> None:
    assert prompts(tmp_path, AGENT + "prompts: {nudge: 'Go on, {{ leg }}, end with {{ marker }}.'}\n").nudge == (
        "Go on, a, end with GATE-SETUP-COMPLETE g/a.\n"
    )


INCLUDE = 'x\n{% include "t.md.j2" %}'
BROKEN: list[tuple[str, dict[str, str], list[str]]] = [
    (
        "s.md.j2",
        {"s.md.j2": "One\ntwo {{ lag }}\n"},
        ["s.md.j2:2: found 'lag' is undefined; expected defined names only: ", "did you mean 'leg'?"],
    ),
    ("s.md.j2", {"s.md.j2": "x\n\n{{ leg.idd }}"}, ["s.md.j2:3: found ", "has no attribute 'idd'"]),
    ("s.md.j2", {"s.md.j2": "x\n{% if %}"}, ["s.md.j2:2: found a syntax error: "]),
    ("s.md.j2", {"s.md.j2": INCLUDE, "t.md.j2": "a\nb\n{{ nope }}\n"}, ["t.md.j2:3: found 'nope' is undefined"]),
    ("s.md.j2", {"s.md.j2": INCLUDE}, ["s.md.j2:2: found an include of 't.md.j2', which is no file"]),
    ("s.md.j2", {"s.md.j2": "x\n{{ 1 // 0 }}"}, ["s.md.j2:2: found an expression that fails: ZeroDivisionError"]),
    ("s.md.j2", {"s.md.j2": "at <<gate:workspce>>"}, ["the slot <<gate:workspce>>", "did you mean 'workspace'?"]),
    ("s.md.j2", {"s.md.j2": "{# nothing #}\n"}, ["found a prompt that renders to nothing"]),
    (
        "set-up.md.j2",
        {"setup.md.j2": "x"},
        ["gate.yaml:8: legs.a.setup.prompt: found 'set-up.md.j2', which is no file", "did you mean 'setup.md.j2'?"],
    ),
    ("'In {{ workspaces }}.'", {}, ["gate.yaml:8: legs.a.setup.prompt: found 'workspaces' is undefined"]),
    ("gate/nudges.md.j2", {}, ["did you mean 'gate/nudge.md.j2'?"]),
]


@pytest.mark.parametrize(("setup", "files", "says"), BROKEN)
def test_a_broken_prompt_says_what_and_where(
    tmp_path: Path, setup: str, files: dict[str, str], says: list[str]
) -> None:
    with pytest.raises(PromptError) as caught:
        resolved(tmp_path, with_setup(setup), None, **files)
    assert all(fragment in str(caught.value) for fragment in says), str(caught.value)


def test_the_line_within_a_block_is_that_of_the_file(tmp_path: Path) -> None:
    text = AGENT.replace("{prompt: Set it up.}", "\n      prompt: |\n        First line.\n        Second {{ nope }}.\n")
    with pytest.raises(PromptError, match=r"gate\.yaml:11: legs\.a\.setup\.prompt: found 'nope' is undefined"):
        resolved(tmp_path, text)


def test_faults_of_all_prompts_are_told_at_once_and_each_once(tmp_path: Path) -> None:
    files = {"s-bare.md.j2": "{{ one }}", "s-docker.md.j2": "{{ two }}"}
    with pytest.raises(PromptError) as caught:
        resolved(tmp_path, MATRIX, None, **files)
    assert str(caught.value).splitlines()[0] == "2 faults:"
    assert "'one' is undefined" in str(caught.value)
    assert "'two' is undefined" in str(caught.value)


def test_faults_of_prompt_and_artifact_come_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved(tmp_path, with_setup("'{{ nope }} x'").replace("artifact: none", "artifact: dist/*.whl"))
    assert "no file matches 'dist/*.whl'" in str(caught.value)
    assert "'nope' is undefined" in str(caught.value)


def test_a_template_cannot_reach_into_python(tmp_path: Path) -> None:
    with pytest.raises(PromptError):
        resolved(tmp_path, with_setup("'{{ leg.__class__.__mro__ }} x'"))


def test_every_shipped_message_renders_for_a_plain_leg(tmp_path: Path) -> None:
    found = prompts(tmp_path, AGENT.replace("{prompt: Set it up.}", "{prompt: Set it up., verify: sh verify.sh}"))
    assert "sh verify.sh" in found.nudge
    assert found.marker in found.nudge
    for text in (found.finish_launch, found.redrive, found.recap):
        assert "`a`" in text
    assert (SHIPPED / "_contract.md.j2").is_file()
