"""Secrets that were written to files of a leg: its leg.json names them, often after the leg was judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gate.contracts import LegQuery
from gate.rundir.formats import Attempt
from gate.rundir.legfiles import FileLegFiles


async def leaks(run_dir: Path, attempt: Attempt, legs: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Leg to `path: secret name` of each file in which one was found, below the leg's directory. Raises StoreError."""
    workloads = {leg: one.id for one in attempt.plan.workloads for leg in one.legs}
    queries = [
        LegQuery(leg, attempt.carried.get(leg) or attempt.adopted.get(workloads[leg]) or attempt.tag, (), ())
        for leg in legs
    ]
    views = await FileLegFiles(run_dir).look(queries) if queries else {}
    return {
        leg: view.result.secret_hits
        for leg, view in views.items()
        if view.result is not None and view.result.secret_hits
    }
