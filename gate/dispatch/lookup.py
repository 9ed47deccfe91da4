"""Did it come to be? Finding a workload whose create was never answered, by its tag and name."""

from __future__ import annotations

from dataclasses import dataclass

from gate.contracts import Clock, Engine, Scope, Workload
from gate.errors import EngineError

PATIENCE = 30.0
"""Seconds beyond the list lag for which an engine that answers badly is asked again."""
PAUSE = 1.0


@dataclass(frozen=True, slots=True)
class Found:
    """`workload` None and `certain`: absent from a complete listing that began after the list lag had passed."""

    workload: Workload | None
    certain: bool
    detail: str


async def lookup(engine: Engine, clock: Clock, scope: Scope, name: str) -> Found:
    """Look for the workload `name` of `scope` (narrowed to a tag), waiting out what lists may lag.

    Absence is certain once a complete listing that was asked for later than `list_lag` seconds after this call began
    does not hold it: whoever sent the create was dead, or had given up, before this call.
    """
    start, detail = (await clock.now()).mono, "it is not listed"
    lag = engine.capabilities.list_lag
    while True:
        asked = (await clock.now()).mono - start
        try:
            listing = await engine.list(scope)
        except EngineError as error:
            complete, detail = False, error.message
        else:
            for workload in listing.workloads:
                if workload.name == name and workload.tag == scope.tag:
                    return Found(workload, certain=True, detail="")
            complete = listing.complete
            detail = "it is not listed" if complete else "the engine's list is not complete"
        if complete and asked >= lag:
            return Found(
                None, certain=True, detail=f"not listed {asked:.1f} s later, and lists lag by {lag:g} s at most"
            )
        if asked >= lag + PATIENCE:
            return Found(None, certain=False, detail=detail)
        await clock.sleep(max(PAUSE, lag - asked) if complete else PAUSE)
