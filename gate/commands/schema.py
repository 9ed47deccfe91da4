"""`gate schema`: the JSON Schema of gate.yaml or scenario.yaml, for editors and checks."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

from gate.plan.schema import gate_schema


def command(
    what: Annotated[Literal["gate", "scenario"], typer.Argument(help="Of gate.yaml, or of scenario.yaml.")] = "gate",
) -> None:
    """Print the JSON Schema of gate.yaml, or of the scenarios of `gate simulate`."""
    if what == "scenario":
        from gate.simulate.scenario_file import scenario_schema  # noqa: PLC0415 - the other one needs none of it

        schema = scenario_schema()
    else:
        schema = gate_schema()
    typer.echo(json.dumps(schema, indent=2, ensure_ascii=False))
