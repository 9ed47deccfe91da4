"""What somebody asked for by hand costs: what they said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from gate.errors import UsageError
from gate.plan.legs import select
from gate.scope.model import Rules, Scoped


def asked(
    rules: Rules, scope: Literal["full", "fast", "none"] | None, legs: Sequence[str], why: str, version: str | None
) -> Scoped:
    """The scope that was asked for, else every leg. Raises UsageError: both, a leg that is not there, no fast legs."""
    if legs and scope is not None:
        raise UsageError("--legs and --scope do not go together", hint="A scope names its own legs.")
    if legs:
        chosen = select(legs, rules.legs)
        whole = len(chosen) == len(rules.legs)
        text = f"{why}: {'every leg' if whole else f'{len(chosen)} of {len(rules.legs)} legs'}"
        return Scoped("full" if whole else "subset", chosen, text, version)
    match scope:
        case "none":
            return Scoped("none", (), f"{why}: no leg", version)
        case "fast":
            if not rules.fast:
                raise UsageError("--scope fast: gate.yaml names no fast legs", hint="Name them in scope.fast.")
            return Scoped("fast", rules.fast, f"{why}: the fast legs", version)
        case "full" | None:
            return Scoped("full", rules.legs, f"{why}: every leg", version)
