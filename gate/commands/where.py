"""Which root, which gate, which run: from options, gate.yaml and the CI environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from gate import places
from gate.errors import RunNotFound, UsageError
from gate.plan.gitfacts import git_facts
from gate.plan.load import Gate, load
from gate.rundir.runs import RunPlace, Runs


@dataclass(frozen=True, slots=True)
class Where:
    """`repository` and `gate` are None where no gate.yaml says which; then every gate below the root is meant."""

    root: Path
    repository: str | None
    gate: str | None
    ref: str | None

    async def find(self, run: str | None) -> RunPlace:
        """The run of that id (or beginning of one); else the CI's, else the latest of the gate. Raises RunNotFound."""
        runs = Runs(self.root)
        wanted = run or os.environ.get("GITHUB_RUN_ID")
        if wanted is None:
            return await runs.latest(self.repository, self.gate)
        try:
            return await runs.find(wanted, self.repository, self.gate)
        except RunNotFound:
            if self.gate is None:
                raise
            return await runs.find(wanted)  # of another gate below the same root


def where(config: Path, root: Path | None) -> Where:
    """Where runs lie. A gate.yaml that was asked for must be there; the default one need not."""
    if config.exists() or config != Path("gate.yaml"):
        return of_gate(load(config), root)
    return Where((root or places.default_root()).absolute(), None, None, None)


def of_gate(gate: Gate, root: Path | None) -> Where:
    """The same for a gate.yaml that has been read."""
    facts = git_facts(gate.folder, os.environ)
    named = gate.file.root
    found = root or ((gate.folder / Path(named).expanduser()) if named else places.default_root())
    return Where(found.absolute(), facts.repository, gate.file.gate, facts.ref)


def needs_gate(place: Where) -> tuple[str, str, str]:
    """(repository, gate, ref), for commands that mean one gate. Raises UsageError."""
    if place.repository is None or place.gate is None or place.ref is None:
        raise UsageError("which gate is meant? There is no gate.yaml here", hint="Name one with --config.")
    return place.repository, place.gate, place.ref
