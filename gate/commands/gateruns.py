"""The runs of one gate below a root, for reaping."""

from __future__ import annotations

from dataclasses import dataclass

from gate.contracts import Store
from gate.errors import RunNotFound
from gate.rundir.files import FileStore
from gate.rundir.runs import Runs


@dataclass(frozen=True, slots=True)
class GateRuns:
    """`reap.stale.Runs` over the runs of one gate below a root."""

    runs: Runs
    repository: str
    gate: str

    async def open(self, run: str) -> Store | None:
        """The run's directory, or None where it is not below this root."""
        try:
            place = await self.runs.find(run, self.repository, self.gate)
        except RunNotFound:
            return None
        return FileStore(place.path) if place.run == run else None
