"""Where everything lies below the root. The one place that joins these names.

    <root>/<repository>/<gate>/runs/<run>/
      gate/      the runner's alone
      staged/    what workloads read
      legs/<leg>/<tag>/<incarnation>/   made by bootstrap

Store keys are relative to the run directory, with forward slashes.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import re
from pathlib import Path

LEASE = "gate/lease.json"
MANIFEST = "gate/manifest.json"
PLAN = "gate/plan.json"
RESERVE = "gate/reserve"
"""A file of zeros, given up first when the disk is full, so that evidence still fits."""

STAGED = "staged"
STAGED_FILES = "staged/files"
STAGED_ARTIFACT = "staged/artifact"
STAGED_PYZ = "staged/gate.pyz"
STAGED_AGENT = "staged/agent"

POINTER = "pointer.json"
LEG_RESULT = "leg.json"
JOURNAL = "journal.jsonl"
TRANSCRIPT = "transcript.log"
WORKSPACE = "workspace"
SESSION = "session"
HOME = "home"


def claim(holder: str) -> str:
    """Key of the claim by which somebody took the lease over from `holder`, created once."""
    return f"gate/lease-taken/{holder}.json"


def attempt(number: int) -> str:
    """Key of an attempt's record."""
    return f"gate/attempts/{number:04d}.json"


def workload(tag: str, workload_id: str) -> str:
    """Key of a workload's entry."""
    return f"gate/workloads/{tag}/{workload_id}.json"


def verdict(tag: str, leg: str) -> str:
    """Key of a leg's verdict."""
    return f"gate/verdicts/{tag}/{leg}.json"


def observations(tag: str) -> str:
    """Key of the journal of observations."""
    return f"gate/observations/{tag}.jsonl"


def decision(tag: str) -> str:
    """Key of the run's decision for one attempt."""
    return f"gate/decisions/{tag}.json"


def kept(tag: str, workload_id: str) -> str:
    """Key of the lease of a workload that is kept on purpose."""
    return f"gate/kept/{tag}/{workload_id}.json"


def cancel(tag: str) -> str:
    """Key of the cancel intent."""
    return f"gate/cancel/{tag}.json"


def outbox(tag: str) -> str:
    """Key of what GitHub was told of an attempt, and what of it GitHub has confirmed."""
    return f"gate/outbox/{tag}.json"


def assignment(tag: str, workload_id: str) -> str:
    """Key of what bootstrap reads: its legs and budgets."""
    return f"staged/assignments/{tag}/{workload_id}.json"


def supervised(tag: str, workload_id: str) -> str:
    """Key of what the supervisor says became of a workload; below `legs/`, the one folder it may write to."""
    return f"legs/.workloads/{tag}/{workload_id}.json"


def leg_tag(leg: str, tag: str) -> str:
    """Directory of one leg of one attempt; incarnations lie in it."""
    return f"legs/{leg}/{tag}"


def incarnation(leg: str, tag: str, name: str) -> str:
    """Directory of one incarnation of one leg."""
    return f"legs/{leg}/{tag}/{name}"


def runs(root: Path, repository: str, gate: str) -> Path:
    """The directory whose children are the runs of one gate."""
    return root / component(repository) / component(gate) / "runs"


def run(root: Path, repository: str, gate: str, run_id: str) -> Path:
    """One run's directory."""
    return runs(root, repository, gate) / component(run_id)


def component(name: str) -> str:
    """`name` as one path component, different for different names (`a/b` is `a%2Fb`); never a dot file."""
    escaped = re.sub(r"[^A-Za-z0-9._+-]", lambda m: "".join(f"%{b:02X}" for b in m.group().encode()), name)
    return f"%2E{escaped[1:]}" if escaped.startswith(".") else escaped
