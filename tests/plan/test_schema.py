"""The JSON Schema takes what the reader takes; the reference page is up to date."""

from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it comes without types

from gate.plan.load import load
from gate.plan.nodes import read_yaml
from gate.plan.reference import FILE, reference
from gate.plan.schema import gate_schema

ROOT = Path(__file__).parent.parent.parent
GOOD = sorted({*(ROOT / "examples").rglob("gate*.yaml"), *(Path(__file__).parent / "data").rglob("gate.yaml")})
STRUCTURAL = (
    "boolean_yes", "choice_typo", "duration_words", "engine_is_a_list", "env_name", "gate_name", "judge_not_finished",
    "judge_limit_text", "leg_is_text", "legs_a_list", "no_legs", "prompt_missing", "size_with_b", "unknown_leg_key",
    "unknown_nested_key", "unknown_top_key", "version_missing", "version_newer", "version_text",
    "artifact_digest_short", "matrix_axis_empty", "matrix_unknown_key", "matrix_without_axes",
)  # fmt: skip


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    schema = gate_schema()
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("path", GOOD, ids=[str(path.relative_to(ROOT)) for path in GOOD])
def test_every_example_is_read_and_keeps_to_the_schema(path: Path, validator: Draft202012Validator) -> None:
    load(path)
    assert [error.message for error in validator.iter_errors(read_yaml(path.read_bytes(), path.name).plain())] == []


@pytest.mark.parametrize("name", STRUCTURAL)
def test_what_the_reader_refuses_the_schema_refuses(name: str, validator: Draft202012Validator) -> None:
    path = Path(__file__).parent / "broken" / f"{name}.yaml"
    assert list(validator.iter_errors(read_yaml(path.read_bytes(), path.name).plain()))


def test_values_by_axis_are_allowed_in_a_matrix_alone(validator: Draft202012Validator) -> None:
    leg = {
        "run": "x",
        "budget": {"by": "n", "1": "1h"},
        "judge": {"finished": {"a": {"by": "n", "1": 2}}, "pass": {"b": 1}},
    }
    head = {"version": 1, "gate": "g", "artifact": "none"}
    assert not list(validator.iter_errors({**head, "matrix": {"axes": {"n": [1]}, **leg}}))
    assert list(validator.iter_errors({**head, "legs": {"a": leg}}))


def test_the_reference_is_up_to_date() -> None:
    assert FILE.read_text(encoding="utf-8") == reference(), "run `python -m gate.plan.reference`"


def test_the_reference_names_every_key() -> None:
    text = reference()
    for name, section in gate_schema()["$defs"].items():
        for key in section.get("properties", {}) if not name.startswith("By") else ():
            assert f"`{key}`" in text
    assert "| any |" not in text
    assert "**needed**" in text
