"""`resources.options` of a workload on SaFE, each checked and as the API wants it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gate.documents import Json
from gate.errors import ConfigError
from gate.plan.size import EXPECTED as SIZE
from gate.plan.size import parse_size

PRIORITIES = {"low": 0, "medium": 1, "high": 2}


def priority(value: Json, where: str = "options.priority") -> int:
    """0, 1 or 2. The server authorises before it clamps, so what lies outside must not reach it."""
    if isinstance(value, str) and value in PRIORITIES:
        return PRIORITIES[value]
    if isinstance(value, int) and not isinstance(value, bool) and value in PRIORITIES.values():
        return value
    raise ConfigError(f"{where} is low, medium or high (0, 1, 2), found {value!r}")


def _size(value: Json, where: str) -> Json:
    try:
        return str(parse_size(value if isinstance(value, str) else ""))
    except ValueError as error:
        raise ConfigError(f"{where} is {SIZE}, found {value!r}") from error


def _names(value: Json, where: str) -> Json:
    if isinstance(value, list) and value and all(isinstance(one, str) and one for one in value):
        return value
    raise ConfigError(f"{where} is a list of node names, found {value!r}")


def _labels(value: Json, where: str) -> Json:
    if isinstance(value, dict) and all(isinstance(one, str) and one for one in value.values()):
        return value
    raise ConfigError(f"{where} is a mapping of label to text, found {value!r}")


def _flag(value: Json, where: str) -> Json:
    if isinstance(value, bool):
        return value
    raise ConfigError(f"{where} is true or false, found {value!r}")


_CHECKS: Mapping[str, Callable[[Json, str], Json]] = {
    "priority": priority,
    "shared_memory": _size,
    "ephemeral_storage": _size,
    "node_labels": _labels,
    "nodes": _names,
    "excluded_nodes": _names,
    "host_network": _flag,
}
OPTIONS = tuple(_CHECKS)
"""Keys of `resources.options`."""


def option(key: str, value: Json) -> Json:
    """One of them as the API wants it. Raises ConfigError."""
    if key not in _CHECKS:
        raise ConfigError(f"there is no option {key!r}; there are {', '.join(OPTIONS)}")
    return _CHECKS[key](value, f"options.{key}")


def problem(key: str, value: Json) -> str:
    """What is wrong with it, in words; "" for nothing."""
    try:
        option(key, value)
    except ConfigError as error:
        return error.message
    return ""
