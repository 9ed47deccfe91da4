"""pydantic's errors as problems with a place: what was found, what would be right, what was probably meant."""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Union

from pydantic import BaseModel, ValidationError

from gate.documents import Json
from gate.plan.nodes import ListNode, MapNode, Node, ScalarNode, find
from gate.plan.problems import Problem, did_you_mean, one_of

_EXPECTED = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "list_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "too_short": "at least one entry",
}


def problems_of(error: ValidationError, node: Node, model: type[BaseModel], file: str) -> list[Problem]:
    """All of `error`, which came of validating `node` as `model`."""
    return [_problem(dict(one), node, model, file) for one in error.errors(include_url=False)]


def _problem(error: Mapping[str, Any], root: Node, model: type[BaseModel], file: str) -> Problem:
    loc: tuple[str | int, ...] = tuple(error["loc"])
    if loc and loc[-1] == "[key]":
        loc = loc[:-1]
    node = find(root, *loc)
    kind = error["type"]
    if kind in ("extra_forbidden", "missing"):
        parent = find(root, *loc[:-1])
        key = str(loc[-1])
        path = f"{parent.path}.{key}" if parent.path else key
        if kind == "missing":
            described = _description(model, loc)
            return Problem(file, parent.line, parent.column, path, "nothing", described or "a value")
        known = known_keys(model, loc[:-1])
        line, column = key_place(parent, key)
        found = f"the unknown key {key!r}"
        return Problem(file, line, column, path, found, one_of(known), did_you_mean(key, known))
    expected, hint = _expected(error)
    if error["loc"][-1:] == ("[key]",):
        line, column = key_place(find(root, *loc[:-1]), str(loc[-1]))
        return Problem(file, line, column, node.path, f"the key {loc[-1]!r}", expected, hint)
    return Problem(file, node.line, node.column, node.path, describe(node), expected, hint)


def _expected(error: Mapping[str, Any]) -> tuple[str, str]:
    kind, context, found = error["type"], error.get("ctx", {}), error.get("input")
    if kind == "expected":
        return str(context["expected"]), str(context["hint"])
    if kind == "literal_error":
        allowed = str(context["expected"])
        names = [word.strip("'") for word in allowed.replace(" or ", ", ").split(", ")]
        if found == allowed:
            return allowed, "without the quotes"  # `version: '1'`
        return allowed, did_you_mean(found, names) if isinstance(found, str) else ""
    if kind == "string_type" and isinstance(found, (int, float)):
        return "text", f'quote it: "{json.dumps(found)}"'
    if kind == "bool_type" and isinstance(found, str):
        return "true or false", "YAML 1.2 knows no yes, no, on and off"
    message = str(error["msg"])
    return _EXPECTED.get(kind, message.removeprefix("Input should be ").removeprefix("Value error, ")), ""


def describe(node: Node) -> str:
    """What stands there, for people: short, and never the value of a secret."""
    if isinstance(node, MapNode):
        return f"a mapping of {', '.join(list(node.items)[:6])}" if node.items else "an empty mapping"
    if isinstance(node, ListNode):
        return f"a list of {len(node.items)}"
    assert isinstance(node, ScalarNode)
    if node.path.partition(".")[0] == "secrets":
        return f"{len(node.text)} characters" if node.text else "nothing"
    shown: Json = node.value
    if isinstance(shown, str):
        return repr(shown if len(shown) <= 60 else f"{shown[:57]}…")
    return "nothing" if shown is None else json.dumps(shown)


def key_place(node: Node, key: str) -> tuple[int, int]:
    """Line and column of `key` in the mapping `node`, else of the node itself."""
    if isinstance(node, MapNode) and key in node.keys:
        return node.keys[key]
    return node.line, node.column


def known_keys(model: type[BaseModel], loc: Iterable[str | int]) -> list[str]:
    """Keys that the section at `loc` below `model` may have."""
    section = _section(model, loc)
    return [field.alias or name for name, field in section.model_fields.items()] if section else []


def _description(model: type[BaseModel], loc: tuple[str | int, ...]) -> str:
    section = _section(model, loc[:-1])
    for name, field in section.model_fields.items() if section else ():
        if loc[-1] in (name, field.alias):
            return (field.description or "").rstrip(".").lower()[:1] + (field.description or "").rstrip(".")[1:]
    return ""


def _section(model: type[BaseModel], loc: Iterable[str | int]) -> type[BaseModel] | None:
    at: Any = model
    for part in loc:
        own = _own(at)
        if own is not None:
            fields = {field.alias or name: field.annotation for name, field in own.model_fields.items()}
            if part not in fields:
                return None
            at = fields[str(part)]
        elif len(models := _models(at)) == 1:
            at = models[0]  # an item of a list or mapping of sections
    models = _models(at)
    return models[0] if models else None


def _own(kind: Any) -> type[BaseModel] | None:
    """The section itself, also where it may be left out; None for a list or mapping of sections."""
    if typing.get_origin(kind) in (Union, types.UnionType):
        kinds = [one for one in typing.get_args(kind) if one is not type(None)]
        return _own(kinds[0]) if len(kinds) == 1 else None
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _models(kind: Any) -> list[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [found for argument in typing.get_args(kind) for found in _models(argument)]
