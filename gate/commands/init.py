"""`gate init`: a commented gate.yaml to start from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from gate.commands.telling import tell
from gate.errors import UsageError

TEMPLATE = """\
# One release decision. `gate plan` shows what it means, `gate run` runs it, docs/gate-yaml.md explains every key.
version: 1
gate: {name}

# The product under test: a path or glob that matches exactly one file, {{url, digest}}, {{image, digest}}, or none.
artifact: none

legs:
  # One path that a user would take through the product, judged on its own. Its program writes a state file,
  # state.json, in a directory that it makes below $GATE_SESSION_DIR, or at $GATE_STATE_FILE.
  smoke:
    run: |
      mkdir -p "$(dirname "$GATE_STATE_FILE")"
      echo '{{"done": true, "failures": 0}}' > "$GATE_STATE_FILE"
    budget: 10m
    judge:
      finished: {{done: true}}        # only then is it judged
      limits: {{failures: {{max: 0}}}}  # and it passes when every limit and every value of `pass` holds
      # pass: {{stop_reason: [converged]}}

# An agent leg has `setup: {{prompt, verify, budget}}` and `task: {{prompt, budget}}` instead of `run`.
# agent: {{kind: claude, version: "2.1.332"}}

# Where workloads run: this machine, unless something else is named.
# engine: local

# Secrets by name, with their source; never a value.
# secrets:
#   ANTHROPIC_API_KEY: {{env: ANTHROPIC_API_KEY}}
"""


def command(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = Path("gate.yaml"),
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the gate. Default: the folder's.")
    ] = None,
) -> None:
    """Write a commented gate.yaml to start from. An existing file is never overwritten."""
    chosen = name or _name(path.absolute().parent.name)
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", chosen):
        raise UsageError(
            f"--name: {chosen!r} is no name of a gate", hint="Letters, digits and dashes, as `my-product`."
        )
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(TEMPLATE.format(name=chosen))
    except FileExistsError:
        raise UsageError(f"{path} exists, and is not overwritten", hint="Edit it, or name another file.") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None
    tell(f"Wrote {path}.")
    tell(f"Next: gate plan{'' if path.name == 'gate.yaml' else f' -c {path}'}")


def _name(folder: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", folder.lower()).strip("-")[:40]
    return slug if slug and slug[0].isalpha() else "gate"
