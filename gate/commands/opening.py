"""The real world behind the contracts, for commands: engines, run directories, secrets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from gate import bugs
from gate.contracts import Engine
from gate.dispatch.secrets import needed, resolve
from gate.engines import open_engine
from gate.plan.model import Plan, SecretRef


def engine_secrets(plan: Plan) -> Mapping[str, str]:
    """The secrets that the engine's parameters name, resolved here and now. Raises SecretError."""
    return _resolved(_engine_refs(plan))


def all_secrets(plan: Plan) -> Mapping[str, str]:
    """Those of the engine and of every leg. Raises SecretError, which says of each what to set."""
    names = [name for leg in plan.legs for name in leg.secrets]
    refs = {ref.name: ref for ref in (*needed(plan.secrets, names), *_engine_refs(plan))}
    return _resolved(tuple(refs.values()))


@asynccontextmanager
async def engine_of(plan: Plan, secrets: Mapping[str, str] | None = None) -> AsyncIterator[Engine]:
    """The plan's engine, closed at the end. Credentials are resolved before anything is asked of it."""
    engine = open_engine(plan.engine, engine_secrets(plan) if secrets is None else secrets)
    try:
        yield engine
    finally:
        await engine.aclose()


def _engine_refs(plan: Plan) -> tuple[SecretRef, ...]:
    named = {value for value in plan.engine.parameters.values() if isinstance(value, str)}
    return tuple(ref for ref in plan.secrets if ref.name in named)


def _resolved(refs: tuple[SecretRef, ...]) -> Mapping[str, str]:
    values = resolve(refs)
    bugs.hide(values)
    return values
