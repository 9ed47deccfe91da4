"""Options that several commands share: one spelling, one help text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

CONFIG = Path("gate.yaml")

Config = Annotated[Path, typer.Option("--config", "-c", metavar="FILE", help="The gate's file.")]
Legs = Annotated[
    list[str] | None, typer.Option("--legs", metavar="LEG", help="Only these legs: ids or globs; may be repeated.")
]
ScopeOption = Annotated[
    Literal["full", "fast", "none"] | None, typer.Option("--scope", help="Which legs the decision needs.")
]
Version = Annotated[
    str | None, typer.Option("--version", metavar="VERSION", help="Version of the product, where it cannot be told.")
]
Reuse = Annotated[
    str | None, typer.Option("--reuse", metavar="VERSION", help="Take the artifact an earlier run of it staged.")
]
Root = Annotated[
    Path | None, typer.Option("--root", metavar="FOLDER", help="Shared root, instead of the one in gate.yaml.")
]
RunOption = Annotated[
    str | None, typer.Option("--run", metavar="RUN", help="The run; default: the CI run's, else the latest.")
]
NewRun = Annotated[str | None, typer.Option("--run", metavar="RUN", help="Id of the run to make or go on with.")]
New = Annotated[bool, typer.Option("--new", help="Also where a run of the same gate, ref and version is live.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Carry nothing; stop what earlier attempts left.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
