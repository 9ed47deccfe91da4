"""What gate.yaml may say to sbatch: a closed list, each value checked, none of them ever part of a shell line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gate.documents import Json
from gate.plan.model import Resources

_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*"


@dataclass(frozen=True, slots=True)
class Option:
    """One option of sbatch, and what its value looks like."""

    pattern: str
    expected: str


_ONE = Option(_NAME, "one name")
_SEVERAL = Option(rf"{_NAME}(,{_NAME})*", "names, separated by commas")
_NODES = Option(r"[A-Za-z0-9_][A-Za-z0-9_.,\[\]-]*", "nodes as Slurm writes them, such as n[1-4],n7")

OPTIONS: Mapping[str, Option] = {
    "partition": _SEVERAL,
    "account": _ONE,
    "qos": _ONE,
    "reservation": _SEVERAL,
    "constraint": Option(r"[A-Za-z0-9_\[(][A-Za-z0-9_.@+*&|,\[\]()-]*", "features, such as mi300x&nvme"),
    "nodelist": _NODES,
    "exclude": _NODES,
    "gpu_type": _ONE,
    "exclusive": Option(r"true|false", "true or false"),
}
"""Keys that `engine:` and `resources.options` may have; a workload's own come before the engine's."""


def problems_of(values: Mapping[str, Json], where: str) -> list[str]:
    """What is wrong with these values, in words; keys that are no options are another's to judge."""
    found: list[str] = []
    for key, option in OPTIONS.items():
        if key in values and not re.fullmatch(option.pattern, _text(values[key]) or "\0"):
            found.append(f"{where}: {key} is {option.expected}, found {values[key]!r}")
    return found


def words_of(resources: Resources, parameters: Mapping[str, Json]) -> list[str]:
    """The words for sbatch: resources, and the options of workload and engine."""
    chosen = {key: text for key in OPTIONS if (text := _chosen(key, resources, parameters)) is not None}
    words = ["--nodes=1", "--ntasks=1"]
    if resources.cpus:
        words.append(f"--cpus-per-task={resources.cpus}")
    if resources.memory:
        words.append(f"--mem={-(-resources.memory >> 20)}M")
    kind = f"{chosen.pop('gpu_type')}:" if "gpu_type" in chosen else ""
    if resources.gpus:
        words.append(f"--gres=gpu:{kind}{resources.gpus}")
    if chosen.pop("exclusive", "false") == "true":
        words.append("--exclusive")
    return words + [f"--{key}={value}" for key, value in chosen.items()]


def _chosen(key: str, resources: Resources, parameters: Mapping[str, Json]) -> str | None:
    return _text(resources.options.get(key, parameters.get(key)))


def _text(value: Json) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int)) else None
