"""One run as the runner sees it: typed records over a Store."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TypeVar, cast

from gate import documents
from gate.contracts import Store
from gate.documents import Document
from gate.errors import DocumentError
from gate.machines.verdict import Verdict
from gate.rundir import layout
from gate.rundir.formats import Attempt, CancelIntent, Decision, Kept, Manifest, WorkloadEntry

D = TypeVar("D", bound=Document)


@functools.lru_cache(maxsize=8)
def _attempt(raw: bytes, key: str) -> Attempt:
    """An attempt holds a whole plan, never changes, and is asked for again and again."""
    return documents.load(Attempt, raw, key)


class Run:
    """The records of one run. Every method raises StoreError, and DocumentError for a file that is not what it should
    be: what cannot be read is never taken for absent."""

    def __init__(self, store: Store) -> None:
        self.store = store

    # --- reading -------------------------------------------------------------------------------------

    async def attempts(self) -> tuple[Attempt, ...]:
        """All attempts, oldest first."""
        return tuple((await self._all(Attempt, "gate/attempts")).values())

    async def attempt_numbers(self) -> tuple[int, ...]:
        """Their numbers alone, oldest first: an attempt's record holds a whole plan."""
        names = [key.rpartition("/")[2] for key in await self.store.list("gate/attempts")]
        stems = [name.removesuffix(".json") for name in names if name.endswith(".json")]
        return tuple(sorted(int(stem) for stem in stems if stem.isdigit()))

    async def latest_attempt(self) -> Attempt:
        """The last attempt. Raises DocumentError where there is none: the directory is no run."""
        numbers = await self.attempt_numbers()
        attempt = await self.attempt(numbers[-1]) if numbers else None
        if attempt is None:
            raise DocumentError(
                "the run directory holds no attempt", hint="Was dispatch cut off at its start? Dispatch again."
            )
        return attempt

    async def attempt(self, number: int) -> Attempt | None:
        """One attempt by its number."""
        return await self._one(Attempt, layout.attempt(number))

    async def entries(self, tag: str) -> Mapping[str, WorkloadEntry]:
        """Workload id to its entry, of one tag."""
        found = (await self._all(WorkloadEntry, f"gate/workloads/{tag}")).values()
        return {entry.id: entry for entry in found}

    async def readable_entries(self, tag: str) -> tuple[tuple[WorkloadEntry, ...], Mapping[str, str]]:
        """The entries of one tag that can be read, and workload id to what is wrong with each that cannot."""
        found: list[WorkloadEntry] = []
        damaged: dict[str, str] = {}
        for key in await self.store.list(f"gate/workloads/{tag}"):
            try:
                entry = await self._one(WorkloadEntry, key)
            except DocumentError as error:  # noqa: PERF203 - each for itself: the others can still be read
                damaged[key.rpartition("/")[2].removesuffix(".json")] = error.message
            else:
                found += [entry] if entry is not None else []
        return tuple(found), damaged

    async def entry(self, tag: str, workload: str) -> WorkloadEntry | None:
        """One workload's entry."""
        return await self._one(WorkloadEntry, layout.workload(tag, workload))

    async def verdict(self, tag: str, leg: str) -> Verdict | None:
        """A leg's verdict under one tag."""
        return await self._one(Verdict, layout.verdict(tag, leg))

    async def verdicts(self, tag: str) -> Mapping[str, Verdict]:
        """Leg id to its verdict, of one tag."""
        found = (await self._all(Verdict, f"gate/verdicts/{tag}")).values()
        return {verdict.leg: verdict for verdict in found}

    async def decision(self, tag: str) -> Decision | None:
        """What the attempt came to, once it is decided."""
        return await self._one(Decision, layout.decision(tag))

    async def kept(self, tag: str) -> Mapping[str, Kept]:
        """Workload id to its lease, of one tag; ended ones too."""
        found = (await self._all(Kept, f"gate/kept/{tag}")).values()
        return {lease.workload: lease for lease in found}

    async def manifest(self) -> Manifest | None:
        """What was staged."""
        return await self._one(Manifest, layout.MANIFEST)

    async def cancel(self, tag: str) -> CancelIntent | None:
        """The cancel intent in the run directory."""
        return await self._one(CancelIntent, layout.cancel(tag))

    # --- writing -------------------------------------------------------------------------------------

    async def write_verdict(self, verdict: Verdict) -> Verdict:
        """Create the verdict; the one that stands afterwards: an existing one wins."""
        return await self._create(verdict, layout.verdict(verdict.tag, verdict.leg))

    async def write_decision(self, decision: Decision) -> Decision:
        """Create the decision; the one that stands afterwards."""
        return await self._create(decision, layout.decision(decision.tag))

    async def keep(self, lease: Kept) -> Kept:
        """Keep a workload until `lease.until`; the lease that stands afterwards: a restart never extends one."""
        return await self._create(lease, layout.kept(lease.tag, lease.workload))

    async def record_entry(self, entry: WorkloadEntry) -> None:
        """Write a workload's entry at its next stage."""
        await self.store.replace(layout.workload(entry.tag, entry.id), documents.dump(entry))

    async def record_cancel(self, intent: CancelIntent) -> CancelIntent:
        """Write the cancel intent; the first one stays."""
        return await self._create(intent, layout.cancel(intent.tag))

    async def _create(self, document: D, key: str) -> D:
        if await self.store.create(key, documents.dump(document)):
            return document
        existing = await self._one(type(document), key)
        # Removed between the two calls: nothing of gate's does that to a record of a live run.
        return document if existing is None else existing

    async def _one(self, cls: type[D], key: str) -> D | None:
        raw = await self.store.read(key)
        if raw is None:
            return None
        return cast(D, _attempt(raw, key)) if cls is Attempt else documents.load(cls, raw, key)

    async def _all(self, cls: type[D], folder: str) -> dict[str, D]:
        found: dict[str, D] = {}
        for key in await self.store.list(folder):
            if key.endswith(".json") and (document := await self._one(cls, key)) is not None:
                found[key] = document
        return found
