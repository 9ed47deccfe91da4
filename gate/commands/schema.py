"""`gate schema`: the JSON Schema of gate.yaml, for editors and checks."""

from __future__ import annotations

import json

import typer

from gate.plan.schema import gate_schema


def command() -> None:
    """Print the JSON Schema of gate.yaml."""
    typer.echo(json.dumps(gate_schema(), indent=2, ensure_ascii=False))
