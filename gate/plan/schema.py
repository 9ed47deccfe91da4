"""The JSON Schema of gate.yaml, made from the models that read it."""

from __future__ import annotations

import copy
from typing import Any

from gate.documents import Json
from gate.plan.config import GateFile
from gate.plan.legconfig import Leg

SHORT_FORMS = ("Artifact", "VersionSource", "Agent", "LegAgent", "EngineChoice")
"""Sections that may be written as one word or path."""

BY = {
    "type": "object",
    "description": "A value for each value of an axis: {by: hours, 3: 4h, 12: 13h}.",
    "required": ["by"],
    "properties": {"by": {"type": "string"}},
}


def gate_schema() -> dict[str, Json]:
    """JSON Schema (2020-12) of a whole gate.yaml."""
    schema: dict[str, Json] = GateFile.model_json_schema(by_alias=True)
    _close(schema)
    definitions: dict[str, Json] = schema["$defs"]
    for name in SHORT_FORMS:
        definitions[name] = {"anyOf": [{"type": "string"}, definitions[name]]}
    _matrix(definitions)
    schema["patternProperties"] = {"^x-": {}}
    schema["anyOf"] = [{"required": ["legs"]}, {"required": ["matrix"]}]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gate.yaml",
        **{key: value for key, value in schema.items() if key != "title"},
    }


def _matrix(definitions: dict[str, Json]) -> None:
    """A matrix has its own keys and those of a leg; each value of a leg, at any depth, may be keyed by an axis."""
    definitions["By"] = BY
    pending = _references(definitions["Leg"])
    reached: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending |= _references(definitions[name])
    for name in reached:
        definitions[f"By{name}"] = _keyed(copy.deepcopy(definitions[name]), reached)
    leg = _keyed(copy.deepcopy(definitions["Leg"]), reached)
    definitions["Matrix"]["properties"] |= leg["properties"]
    assert leg["properties"].keys() == {field.alias or name for name, field in Leg.model_fields.items()}


def _close(schema: Any) -> None:
    """Keys that fit no pattern are errors: pydantic writes the pattern alone."""
    for value in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        _close(value)
    if isinstance(schema, dict) and isinstance(schema.get("patternProperties"), dict) and "type" in schema:
        schema["additionalProperties"] = False


def _references(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        own = {schema["$ref"].rpartition("/")[2]} if "$ref" in schema else set()
        return own.union(*map(_references, schema.values()))
    return set().union(*map(_references, schema)) if isinstance(schema, list) else set()


def _keyed(schema: Any, reached: set[str]) -> Any:
    """`schema` with every property, item and additional property also allowed as a `By`."""
    if isinstance(schema, list):
        return [_keyed(item, reached) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _keyed(value, reached) for key, value in schema.items()}
    if isinstance(schema.get("$ref"), str) and schema["$ref"].rpartition("/")[2] in reached:
        changed["$ref"] = f"#/$defs/By{schema['$ref'].rpartition('/')[2]}"
    for key in ("properties", "patternProperties"):
        if isinstance(schema.get(key), dict):
            changed[key] = {name: _or_by(value) for name, value in changed[key].items()}
    for key in ("additionalProperties", "items"):
        if isinstance(schema.get(key), dict):
            changed[key] = _or_by(changed[key])
    return changed


def _or_by(schema: Any) -> Json:
    described = {key: schema[key] for key in ("description", "default") if isinstance(schema, dict) and key in schema}
    return {**described, "anyOf": [schema, {"$ref": "#/$defs/By"}]}
