"""Workloads that are kept on purpose, and until when."""

from __future__ import annotations

from collections.abc import Sequence

from gate.rundir.formats import Kept
from gate.rundir.run import Run


async def leases(run: Run, tags: Sequence[str], wall: float) -> tuple[Kept, ...]:
    """The leases of these tags that have not ended at `wall` (Unix seconds). Raises StoreError, DocumentError."""
    found = [lease for tag in tags for lease in (await run.kept(tag)).values()]
    return tuple(lease for lease in found if lease.until > wall)
