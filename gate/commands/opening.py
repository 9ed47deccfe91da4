"""The real world behind the contracts, for commands: engines and secrets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from gate import bugs
from gate.commands.telling import say
from gate.contracts import Engine
from gate.engines import credentials_of, notes_of, open_engine
from gate.plan.model import Plan
from gate.plan.secrets import needed, resolve


def leg_secrets(plan: Plan) -> Mapping[str, str]:
    """The secrets of every leg, resolved here and now. Raises SecretError, which says of each what to set."""
    values = resolve(needed(plan.secrets, [name for leg in plan.legs for name in leg.secrets]))
    bugs.hide(values)
    return values


@asynccontextmanager
async def engine_of(plan: Plan) -> AsyncIterator[Engine]:
    """The plan's engine, closed at the end. Raises CapabilityError, ConfigError, SecretError (its credentials)."""
    for note in notes_of(plan.engine):
        say(f"note: {note}")
    credentials = credentials_of(plan.engine, plan.secrets)
    bugs.hide(credentials)
    engine = open_engine(plan.engine, credentials)
    try:
        yield engine
    finally:
        await engine.aclose()
