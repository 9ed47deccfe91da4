"""Matrices: every combination once, values by axis, and selection by id or glob."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.errors import UsageError
from gate.plan.legconfig import Matrix
from gate.plan.legs import select
from gate.plan.load import load
from gate.plan.matrix import Cell, expand
from gate.plan.nodes import MapNode, read_yaml


def cells(text: str) -> list[Cell]:
    node = read_yaml(text.encode(), "f")
    assert isinstance(node, MapNode)
    own = {key: value.plain() for key, value in node.items.items() if key in ("axes", "exclude", "id")}
    found, problems = expand(node, Matrix.model_validate(own), "f")
    assert not problems
    return found


VALUES = st.lists(
    st.integers(0, 50) | st.sampled_from(["a", "b", "mi300x", "x.y"]) | st.booleans(),
    min_size=1,
    max_size=4,
    unique_by=str,
)
AXES = st.dictionaries(st.sampled_from(["mode", "backend", "hours", "gpus"]), VALUES, min_size=1, max_size=4)


@given(AXES)
@settings(max_examples=60)
def test_a_matrix_is_the_product_of_its_axes(axes: dict[str, list[object]]) -> None:
    found = cells(f"axes: {json.dumps(axes)}\nrun: x\n")
    assert [tuple(cell.axes.values()) for cell in found] == list(itertools.product(*axes.values()))
    assert len({cell.id for cell in found}) == len(found)


@given(AXES, st.data())
@settings(max_examples=60)
def test_an_exclusion_removes_exactly_its_cells(axes: dict[str, list[object]], data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(sorted(axes)), min_size=1, unique=True))
    rule = {name: data.draw(st.sampled_from(axes[name])) for name in names}
    every = cells(f"axes: {json.dumps(axes)}\nrun: x\n")
    kept = [
        cell
        for cell in every
        if any(cell.axes[name] != value or type(cell.axes[name]) is not type(value) for name, value in rule.items())
    ]
    if kept:
        found = cells(f"axes: {json.dumps(axes)}\nexclude: [{json.dumps(rule)}]\nrun: x\n")
        assert [cell.id for cell in found] == [cell.id for cell in kept]


def test_values_by_axis_at_any_depth_and_one_in_another() -> None:
    text = """\
axes: {mode: [bare, docker], hours: [3, 12]}
id: "{mode}_{hours}h"
task: {budget: {by: hours, 3: 4h, 12: 13h}}
env: {A: {by: mode, bare: none, docker: {by: hours, 3: small, 12: large}}}
files: [{by: mode, bare: b.txt, docker: d.txt}, both.txt]
"""
    found = {cell.id: cell.node.plain() for cell in cells(text)}
    assert list(found) == ["bare_3h", "bare_12h", "docker_3h", "docker_12h"]
    assert found["bare_12h"] == {"task": {"budget": "13h"}, "env": {"A": "none"}, "files": ["b.txt", "both.txt"]}
    assert found["docker_3h"]["env"] == {"A": "small"}
    assert found["docker_12h"]["files"] == ["d.txt", "both.txt"]


def test_values_keep_their_place_after_they_were_chosen() -> None:
    cell = cells("axes: {hours: [3, 12]}\nbudget:\n  by: hours\n  3: 4h\n  12: 13h\n")[1]
    node = cell.node.items["budget"]
    assert (node.line, node.path) == (5, "budget.12")


def test_a_matrix_and_single_legs_go_together(tmp_path: Path) -> None:
    path = tmp_path / "gate.yaml"
    path.write_text(
        "version: 1\ngate: g\nartifact: none\njudge: {finished: {done: true}, pass: {ok: true}}\n"
        "legs: {one: {run: 'true'}}\nmatrix: {axes: {n: [1, 2]}, run: 'true', informing: {by: n, 1: true, 2: false}}\n"
    )
    gate = load(path)
    assert [leg.id for leg in gate.legs] == ["one", "1", "2"]
    assert [gate.leg(leg.id)[1].blocks for leg in gate.legs] == [True, False, True]


IDS = ["baremetal-vllm-3h", "baremetal-vllm-12h", "docker-vllm-3h"]


@pytest.mark.parametrize(
    ("patterns", "chosen"),
    [
        (["docker-vllm-3h"], ["docker-vllm-3h"]),
        (["*-3h"], ["baremetal-vllm-3h", "docker-vllm-3h"]),
        (["docker-*,baremetal-vllm-12h"], ["baremetal-vllm-12h", "docker-vllm-3h"]),
        (["*"], IDS),
    ],
)
def test_selection_keeps_the_order_of_the_file(patterns: list[str], chosen: list[str]) -> None:
    assert list(select(patterns, IDS)) == chosen


def test_a_pattern_that_matches_nothing_lists_the_ids() -> None:
    with pytest.raises(UsageError) as caught:
        select(["docker-vlm-3h", "*-12h", "x*"], IDS)
    message = str(caught.value)
    assert "no leg matches 'docker-vlm-3h' (did you mean 'docker-vllm-3h'?); no leg matches 'x*'" in message
    assert all(leg in message for leg in IDS)


def test_no_pattern_at_all_is_an_error_and_not_every_leg() -> None:
    with pytest.raises(UsageError, match="--legs names no leg"):
        select([" , "], IDS)
