"""`python -m gate.plan.reference` writes docs/gate-yaml.md from the models that read gate.yaml."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gate.plan import config, legconfig, types
from gate.plan.config import GateFile
from gate.plan.duration import format_duration
from gate.plan.model import SLOTS

FILE = Path(__file__).resolve().parents[2] / "docs" / "gate-yaml.md"

SECTIONS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("gate.yaml", GateFile),
    ("artifact", config.Artifact),
    ("a leg", legconfig.Leg),
    ("setup", legconfig.Setup),
    ("task", legconfig.Task),
    ("judge", legconfig.Judge),
    ("judge.limits", legconfig.Limit),
    ("matrix", legconfig.Matrix),
    ("workloads", config.Workload),
    ("workloads.resources", config.Resources),
    ("caps of a leg", legconfig.Caps),
    ("scope", config.ScopeRules),
    ("scope.version", config.VersionSource),
    ("budgets", config.Budgets),
    ("budgets of a leg", legconfig.LegBudgets),
    ("secrets", config.Secret),
    ("agent", config.Agent),
    ("agent of a leg", legconfig.LegAgent),
    ("engine", config.EngineChoice),
    ("prompts", config.Templates),
)

INTRODUCTION = """\
# gate.yaml

The reference of every key, made from the code that reads it (`python -m gate.plan.reference`).
`gate schema` prints the same as a JSON Schema for editors.

The file is YAML 1.2: `no`, `on` and `1:30` are text. A key twice, a tag and an unknown key are errors; all errors are
told at once. Anchors, aliases and merge keys work, and top-level keys that begin with `x-` are yours to hold them.
Paths are relative to the folder of gate.yaml.

Durations are `90s`, `10m`, `4h`, `1h30m`; sizes are `64Mi`, `512Gi`, `2Ti` (powers of 1024) or `64M`, `2T` (of 1000).

```yaml
version: 1
gate: tune
artifact: dist/*.whl
legs:
  sort:
    run: python tune.py
    budget: 10m
    judge: {finished: {done: true}, pass: {stop_reason: [converged]}}
```
"""

PROMPTS = """\
## Prompts

A value with white space in it is the prompt itself; one without is the path of a Jinja2 file. In a path `{axis}` is
replaced by the leg's value of that axis. `gate/…` names a template that gate ships, also in an `include`. Includes of
your own files are relative to gate.yaml. An undefined name is an error with file and line. A set-up or task prompt that
does not include the contract, `{% include "gate/_contract.md.j2" %}`, gets it at its end.

| name | what it is |
|---|---|
| `gate`, `version` | names of gate and product version |
| `leg` | the leg's id; `leg.axes`, `leg.blocking`, `leg.caps` |
| `axes` | the same as `leg.axes`: `axes.hours` |
| `artifact` | its path in the workload; `artifact.name`, `.kind`, `.source`, `.digest`, `.version` |
| `marker` | the line that ends a completed set-up |
| `verify` | the set-up's check, or nothing |
| `secrets` | names of the secrets that reach the leg |
| `budgets` | `budgets.setup` is `45m`, `budgets.setup.minutes` is 45; also `.task`, `.turn`, `.stall` … |
| `setup`, `task` | in nudges and the recap: the two prompts as rendered |
| SLOTS | filled in by the workload; also as `slot.workspace` … |

In `run` and `verify` the same slots are written `<<gate:workspace>>`. The environment has them too: `GATE_WORKSPACE`,
`GATE_SESSION_DIR`, `GATE_STATE_FILE`, `GATE_ARTIFACT`, `GATE_GPU`, `GATE_LEG`, `GATE_LEG_ROOT`, and for each axis of a
matrix `GATE_AXIS_<NAME>`.
"""

BY = """\
Every value beside `axes`, `exclude` and `id` may be keyed by an axis, at any depth and one in another:

```yaml
matrix:
  axes: {mode: [baremetal, docker], hours: [3, 12]}
  exclude: [{mode: docker, hours: 3}]
  id: "{mode}-{hours}h"
  setup: {prompt: "prompts/setup-{mode}.md.j2"}
  task: {prompt: prompts/task.md.j2, budget: {by: hours, 3: 4h, 12: 13h}}
```
"""


def reference() -> str:
    """The whole page."""
    shown = ", ".join(f"`{slot}`" for slot in SLOTS if slot != "artifact")
    parts = [INTRODUCTION]
    for title, model in SECTIONS:
        parts.append(f"## {title}\n\n{_sentence(model)}\n\n{_table(model)}")
        if title == "matrix":
            parts.append(BY)
    return "\n".join([*parts, PROMPTS.replace("SLOTS", shown)])


def _sentence(model: type[BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split())


def _table(model: type[BaseModel]) -> str:
    rows = ["| key | value | default | meaning |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        described = (field.description or "").replace("|", "\\|")
        rows.append(f"| `{field.alias or name}` | {_kind(field)} | {_default(field)} | {described} |")
    return "\n".join(rows) + "\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "**needed**"
    value = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, float):
        return f"`{format_duration(value)}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if value is None or value in ({}, []) or isinstance(value, BaseModel):
        return ""
    return f"`{value[0]}`" if isinstance(value, list) else f"`{value}`"


NAMES: tuple[tuple[Any, str], ...] = (
    (types.Duration, "duration"),
    (types.DurationOrZero, "duration or 0"),
    (types.Size, "size"),
    (types.Strings, "text or a list"),
    (types.Keys, "key or a list of keys"),
    (types.Scalars, "a value or a list"),
    (types.Key, "dotted key"),
    (types.Wanted, "a value"),
    (types.Digest, "`sha256:…`"),
    (types.Name, "name"),
    (types.EnvName, "variable name"),
    (types.EnvValue, "text"),
    (types.Text, "text"),
    (types.Count, "number"),
)


def _kind(field: FieldInfo) -> str:
    kind: Any = field.annotation
    if field.metadata:
        kind = typing.Annotated[(kind, *field.metadata)]
    return " or ".join(dict.fromkeys(_words(kind)))


def _words(kind: Any) -> Iterator[str]:
    for known, name in NAMES:
        if kind == known:
            yield name
            return
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield next(
            (f"[{title}](#{title.replace(' ', '-').replace('.', '')})" for title, m in SECTIONS if m is kind), "mapping"
        )
    elif origin is Literal:
        yield from (f"`{value}`" for value in arguments)
    elif origin is dict:
        yield f"mapping of {' or '.join(_words(arguments[0]))} to {' or '.join(_words(arguments[1]))}"
    elif origin is list:
        yield f"list of {' or '.join(_words(arguments[0]))}"
    elif origin is typing.Annotated:
        yield from _words(arguments[0])
    elif arguments:
        for argument in arguments:
            yield from _words(argument) if argument is not type(None) else ()
    else:
        yield {str: "text", bool: "`true` or `false`", int: "number", float: "number"}.get(kind, "any")


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(reference(), encoding="utf-8")
