"""Bare `gate`: where you stand, in at most twelve lines, offline."""

from __future__ import annotations

import shutil
import sys
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path

import anyio

from gate import __version__, places
from gate.commands.options import CONFIG
from gate.commands.telling import moment, plain, tell
from gate.commands.where import Where, of_gate
from gate.errors import ConfigError, DocumentError, RunNotFound, StoreError
from gate.machines.duration import spell
from gate.plan.load import Gate, load
from gate.reap.leases import leases
from gate.report.decision import next_commands
from gate.rundir.formats import Attempt, Decision, Kept
from gate.rundir.notes import may_live
from gate.rundir.run import Run
from gate.rundir.runs import Runs

INDENT = 15


@dataclass(frozen=True, slots=True)
class Standing:
    """The latest run, as far as its directory tells."""

    run: str
    attempt: Attempt
    decision: Decision | None
    not_gone: tuple[str, ...]
    kept: tuple[Kept, ...]
    """Leases that have not ended, of the latest attempt."""


def command() -> None:
    """Version, the configuration found, the latest run and its decision, what is not reaped, three next commands."""
    tell(f"gate {__version__}")
    gate, problem = _gate()
    if gate is None:
        _line("configuration", problem)
        place = Where(places.default_root(), None, None, None)
    else:
        blocking = sum(leg.config is not None and leg.config.blocks for leg in gate.legs)
        engine = gate.file.engine.kind
        legs = f"{len(gate.legs)} leg{'s' if len(gate.legs) != 1 else ''} ({blocking} blocking)"
        _line("configuration", f"{CONFIG}: gate {gate.file.gate}, {legs}, {engine}")
        place = of_gate(gate, None)
    _line("root", str(place.root))
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
    except RunNotFound:
        return None, "none"
    except (StoreError, DocumentError) as error:
        return None, f"cannot be read: {error.message.splitlines()[0]}"
    try:
        run = found.open()
        attempt = await run.latest_attempt()
        left = [name for each in await run.attempts() for name in await _not_gone(run, each.tag)]
        kept = [lease for lease in await leases(run, attempt.tags, time.time()) if lease.workload in left]
        return Standing(found.run, attempt, await run.decision(attempt.tag), tuple(left), tuple(kept)), ""
    except (StoreError, DocumentError, RunNotFound) as error:
        said = error.message.splitlines()[0]
        return None, f"{found.run} cannot be read; what lives of it: gate reap --run {found.run}   ({said})"


async def _not_gone(run: Run, tag: str) -> list[str]:
    return [entry.id for entry in (await run.entries(tag)).values() if may_live(entry)]


def _tell_standing(standing: Standing | None, why: str) -> None:
    if standing is None:
        _line("latest run", why)
        return
    attempt, decision = standing.attempt, standing.decision
    _line("latest run", f"{standing.run} of {attempt.plan.gate} {attempt.plan.version}, attempt {attempt.attempt}")
    part = "" if attempt.plan.scope == "full" else f" ({attempt.plan.scope})"
    scope = f" ({attempt.plan.scope} only: no release pass)" if decision and decision.word == "PASSED" else part
    if decision is None:
        _line("", f"undecided{scope}, started {_ago(attempt.created)}")
    else:
        _line("", f"{decision.word}{scope}, {_ago(decision.at)}: {decision.cause}")
    _line("not seen gone", _few([_named(standing, name) for name in standing.not_gone]) or "nothing")


def _ago(wall: float) -> str:
    return f"{spell(int(max(0.0, time.time() - wall)))} ago"


def _named(standing: Standing, workload: str) -> str:
    until = next((f", kept until {moment(one.until)}" for one in standing.kept if one.workload == workload), "")
    return f"{workload}{until}"


def _few(names: list[str]) -> str:
    return "; ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _line(name: str, text: str) -> None:
    """One fact. In a terminal it is wrapped beside its name, in two lines at most; in a pipe it is whole."""
    if not sys.stdout.isatty():
        tell(f"{name:<{INDENT}}{text}")
        return
    width = max(20, shutil.get_terminal_size().columns - INDENT)
    lines = textwrap.wrap(plain(text), width, max_lines=2, placeholder=" …", break_on_hyphens=False) or [""]
    for at, line in enumerate(lines):
        tell(f"{'' if at else name:<{INDENT}}{line}")


def _next(gate: Gate | None, problem: str, standing: Standing | None) -> list[str]:
    """Three commands that make sense now."""
    if standing is not None and (gate is not None or standing.decision is None or standing.not_gone):
        return _after(standing)
    if gate is not None:
        return ["gate plan            what would run", "gate run             run it here", "gate --help"]
    faulty = "faults" in problem
    first = "gate plan            all faults" if faulty else "gate init            a gate.yaml to start from"
    return [first, "gate schema          for your editor", "gate --help"]


def _after(standing: Standing) -> list[str]:
    run, decision = standing.run, standing.decision
    if decision is None:
        return [f"gate poll {run}", f"gate status {run}", f"gate stop --run {run}"]
    left = [name for name in standing.not_gone if name not in {lease.workload for lease in standing.kept}]
    ends = f"gate reap --run {run}" if left else f"gate stop --run {run}   (it is kept)"
    usual = next_commands(decision)
    if standing.not_gone:
        return [ends, *usual[:2]]
    if decision.exit_code != 0:
        return list(usual[:3])
    return [*usual[:2], "gate run", "gate prune --older-than 30d --dry-run"][:3]
