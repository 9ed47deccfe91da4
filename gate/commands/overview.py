"""Bare `gate`: where you stand, in at most twelve lines, offline."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import anyio

from gate import __version__, places
from gate.commands.options import CONFIG
from gate.commands.telling import tell
from gate.commands.where import Where, of_gate
from gate.errors import ConfigError, DocumentError, RunNotFound, StoreError
from gate.machines.duration import spell
from gate.plan.load import Gate, load
from gate.rundir.formats import Attempt, Decision
from gate.rundir.notes import may_live
from gate.rundir.run import Run
from gate.rundir.runs import Runs


@dataclass(frozen=True, slots=True)
class Standing:
    """The latest run, as far as its directory tells."""

    run: str
    attempt: Attempt
    decision: Decision | None
    not_gone: tuple[str, ...]


def command() -> None:
    """Version, the configuration found, the latest run and its decision, what is not reaped, three next commands."""
    tell(f"gate {__version__}")
    gate, problem = _gate()
    if gate is None:
        tell(f"configuration  {problem}")
        place = Where(places.default_root(), None, None, None)
    else:
        blocking = sum(leg.config is not None and leg.config.blocks for leg in gate.legs)
        engine = gate.file.engine.kind
        tell(f"configuration  {CONFIG}: gate {gate.file.gate}, {len(gate.legs)} legs ({blocking} blocking), {engine}")
        place = of_gate(gate, None)
    tell(f"root           {place.root}")
    standing, why = anyio.run(_standing, place)
    _tell_standing(standing, why)
    tell("next")
    for line in _next(gate, problem, standing):
        tell(f"  {line}")


def _gate() -> tuple[Gate | None, str]:
    if not CONFIG.exists():
        return None, f"no {CONFIG} here ({Path.cwd()})"
    try:
        return load(CONFIG), ""
    except ConfigError as error:
        return None, f"{CONFIG} has faults: {error.message.splitlines()[0]}"


async def _standing(place: Where) -> tuple[Standing | None, str]:
    try:
        found = await Runs(place.root).latest(place.repository, place.gate)
        run = found.open()
        attempt = await run.latest_attempt()
        left = [name for each in await run.attempts() for name in await _not_gone(run, each.tag)]
        return Standing(found.run, attempt, await run.decision(attempt.tag), tuple(left)), ""
    except RunNotFound:
        return None, "none"
    except (StoreError, DocumentError) as error:
        return None, f"cannot be read: {error.message.splitlines()[0]}"


async def _not_gone(run: Run, tag: str) -> list[str]:
    return [entry.id for entry in (await run.entries(tag)).values() if may_live(entry)]


def _tell_standing(standing: Standing | None, why: str) -> None:
    if standing is None:
        tell(f"latest run     {why}")
        return
    attempt, decision = standing.attempt, standing.decision
    word = "undecided" if decision is None else decision.word
    age = spell(max(0.0, time.time() - attempt.created))
    tell(f"latest run     {standing.run}, attempt {attempt.attempt}, version {attempt.plan.version}: {word}, {age} ago")
    if decision is not None:
        tell(f"               {decision.cause}")
    tell(f"not seen gone  {_few(standing.not_gone) or 'nothing'}")


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _next(gate: Gate | None, problem: str, standing: Standing | None) -> list[str]:
    """Three commands that make sense now."""
    if gate is None:
        first = (
            "gate plan            all faults"
            if "faults" in problem
            else "gate init            a gate.yaml to start from"
        )
        return [first, "gate schema          for your editor", "gate --help"]
    if standing is None:
        return ["gate plan            what would run", "gate run             run it here", "gate --help"]
    return _after(standing)


def _after(standing: Standing) -> list[str]:
    run, decision = standing.run, standing.decision
    if decision is None:
        return [f"gate poll {run}", f"gate status {run}", f"gate stop --run {run}"]
    if standing.not_gone:
        return [f"gate reap --run {run}", f"gate status {run}", f"gate retry {run}"]
    if decision.exit_code != 0:
        return [f"gate status {run}", f"gate retry {run}", "gate explain LEG"]
    return [f"gate status {run}", "gate run", "gate prune --older-than 30d --dry-run"]
