"""YAML 1.2 scalars and trees: what looks like text is text, and no input is large, deep or slow."""

from __future__ import annotations

import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.plan.nodes import ListNode, MapNode, ScalarNode, find, read_yaml
from gate.plan.problems import Faults, Problem
from gate.plan.yaml12 import core_scalar


@pytest.mark.parametrize(
    "text",
    ["no", "No", "yes", "on", "off", "y", "n", "1:30", "190:20:30", "1_000", "0b11", "0o8", "2026-11-30", "<<", "="],
)
def test_what_yaml_1_1_would_turn_into_something_else_is_text(text: str) -> None:
    assert core_scalar(text) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("Null", None),
        ("TRUE", True),
        ("false", False),
        ("012", 12),
        ("+7", 7),
        ("0o17", 15),
        ("0xfF", 255),
        ("1.", 1.0),
        (".5", 0.5),
        ("-1.5e3", -1500.0),
        ("-.inf", -math.inf),
        (".Inf", math.inf),
    ],
)
def test_core_schema(text: str, value: object) -> None:
    found = core_scalar(text)
    assert (found, type(found)) == (value, type(value))


def test_not_a_number() -> None:
    found = core_scalar(".NaN")
    assert isinstance(found, float)
    assert math.isnan(found)


@given(st.integers(min_value=-(10**60), max_value=10**60))
def test_integers_come_back(number: int) -> None:
    assert core_scalar(str(number)) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back(number: float) -> None:
    assert core_scalar(repr(number)) == number


@given(st.text(max_size=200))
def test_every_plain_scalar_has_a_value(text: str) -> None:
    if len(text) > 64 and text.strip("+-.0123456789eExo") == "":
        return
    value = core_scalar(text)
    assert value == text or isinstance(value, (int, float, bool, type(None)))


def test_a_number_that_is_too_long_is_no_number() -> None:
    with pytest.raises(ValueError, match="at most 64 characters"):
        core_scalar("9" * 65)


TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=0xD7FF, exclude_categories=("C", "Z")), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT.filter(bool), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_json_is_yaml(value: object) -> None:
    assert read_yaml(json.dumps(value, ensure_ascii=False).encode(), "f").plain() == value


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_with_a_place(raw: bytes) -> None:
    problems: tuple[Problem, ...] = ()
    try:
        read_yaml(raw, "f").plain()
    except Faults as faults:
        problems = faults.problems
    assert all(problem.line >= 1 and str(problem).startswith("f:") for problem in problems)


def test_values_know_their_place() -> None:
    root = read_yaml(b"a:\n  b: [1, {c: x}]\n  d: |\n    text\n", "f")
    assert isinstance(root, MapNode)
    node = find(root, "a", "b", 1, "c")
    assert isinstance(node, ScalarNode)
    assert (node.line, node.column, node.path, node.value) == (2, 14, "a.b[1].c", "x")
    block = find(root, "a", "d")
    assert isinstance(block, ScalarNode)
    assert block.block
    assert (block.text, block.line) == ("text\n", 3)
    assert isinstance(find(root, "a", "b", 7), ListNode)


def test_quoted_scalars_are_text_and_block_marks_hold() -> None:
    assert read_yaml(b"a: '1'\nb: \"true\"\nc: |\n  1\nd: no\n", "f").plain() == {
        "a": "1",
        "b": "true",
        "c": "1\n",
        "d": "no",
    }


def test_merge_keys_add_what_is_not_there() -> None:
    raw = b"base: &base {a: 1, b: 2}\nmore: &more {b: 3, c: 4}\nx: {<<: [*base, *more], a: 9}\n'y': {'<<': 1}\n"
    plain = read_yaml(raw, "f").plain()
    assert plain["x"] == {"a": 9, "b": 2, "c": 4}
    assert plain["y"] == {"<<": 1}


def test_a_merge_of_something_else_is_a_fault() -> None:
    with pytest.raises(Faults, match="a mapping, or a list of mappings, to merge"):
        read_yaml(b"x: {<<: 3}", "f")


def test_all_faults_of_a_tree_are_told_at_once() -> None:
    with pytest.raises(Faults) as caught:
        read_yaml(b"a: !x 1\na: 2\nb: .nan\n? [c]\n: d\n", "f")
    assert [problem.line for problem in caught.value.problems] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 500_000,
        b"{a: " * 200_000,
        b"- " * 400_000,
        b"a: &a [x,x,x,x,x,x,x,x]\n"
        + b"".join(b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1) if i else b"*a"] * 9)) for i in range(30)),
        b"".join(b"k%d: 1\n" % i for i in range(90_000)) + b"]",
    ],
    ids=["lists", "maps", "dashes", "laughs", "long"],
)
def test_hostile_input_is_refused_quickly(raw: bytes) -> None:
    started = time.monotonic()
    with pytest.raises(Faults):
        read_yaml(raw, "f")
    assert time.monotonic() - started < 10
