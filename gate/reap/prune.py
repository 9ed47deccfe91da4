"""Which run directories may go, and taking them away: nothing that is live, held, or not seen gone."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from gate.contracts import Clock
from gate.errors import DocumentError, RunHeld
from gate.machines.verdict import Outcome
from gate.rundir.formats import Attempt, Lease
from gate.rundir.holding import renewed
from gate.rundir.lease import Holding
from gate.rundir.notes import may_live
from gate.rundir.run import Run

Worth = Literal["measured", "nothing", "unreadable", "undecided"]


class RunTree(Protocol):
    """A run's directory as a tree of files. Links in it are never followed. Errors: StoreUnavailable."""

    async def touched(self) -> float:
        """Wall time at which the directory itself last changed, by the file server's clock; 0 where it is not there."""
        ...

    async def exists(self) -> bool:
        """True while anything is left."""
        ...

    async def legs(self) -> tuple[str, ...]:
        """Legs that have a directory."""
        ...

    async def size(self, legs: Sequence[str]) -> int:
        """Bytes on disk of these legs' directories, or of the whole run where none is named."""
        ...

    async def hollow(self) -> tuple[int, list[str]]:
        """Remove everything of the run but its records: (bytes that went, what is left and why)."""
        ...

    async def remove(self, legs: Sequence[str]) -> tuple[int, list[str]]:
        """Remove these legs' directories, or the whole run: (bytes that went, what is left and why)."""
        ...


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for. All conditions that are given must hold; `older_than` in seconds."""

    older_than: float | None = None
    invalid: bool = False
    leg: str | None = None
    run: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One run, as far as it can be read. `refused`: why it must stay, "" where it may go."""

    run: str
    decision: str
    worth: Worth
    age: float
    legs: tuple[str, ...]
    """Legs whose directories the wish covers; empty where the whole run is meant."""
    size: int
    refused: str


@dataclass(frozen=True, slots=True)
class Pruned:
    """What became of one: `freed` counts only what really went; `left` says what did not and why."""

    run: str
    gone: bool
    freed: int
    left: tuple[str, ...]


async def look(run: Run, run_id: str, tree: RunTree, wish: Wish, wall: float) -> Found | None:
    """One run in the light of the wish; None where it is not meant. Raises StoreError."""
    if wish.run is not None and wish.run != run_id:
        return None
    problem, decision = "", ""
    attempts: tuple[Attempt, ...] = ()
    try:
        attempts = await run.attempts()
        decision = await _decision(run, attempts)
        worth = await _worth(run, attempts, decision)
    except DocumentError as error:
        problem, worth = error.message, "unreadable"
    age = max(0.0, wall - (attempts[-1].created if attempts else await tree.touched()))
    if wish.older_than is not None and age < wish.older_than:
        return None
    if wish.invalid and worth not in ("nothing", "unreadable"):
        return None
    legs: tuple[str, ...] = ()
    if wish.leg is not None:
        legs = tuple(leg for leg in await tree.legs() if fnmatch.fnmatchcase(leg, wish.leg))
        if not legs:
            return None
    shown = decision or (f"unreadable: {problem}" if problem else "undecided")
    return Found(run_id, shown, worth, age, legs, await tree.size(legs), await _refusal(run, attempts))


async def prune(run: Run, found: Found, tree: RunTree, clock: Clock, mine: Lease) -> Pruned:
    """Take the run, or some of its legs' directories, away while holding it: a dispatcher that comes now is refused.

    `mine` is renewed every `holding.PERIOD` seconds.
    """
    holding = Holding(run.store, found.run, mine)
    try:
        await holding.acquire(clock, take_over=False, waiting=lambda _lease, _seconds: None)
        refused = await _refusal(run, await run.attempts() if found.worth != "unreadable" else ())
    except (RunHeld, DocumentError) as error:
        return Pruned(found.run, gone=False, freed=0, left=(error.message,))
    if refused:
        await holding.release()
        return Pruned(found.run, gone=False, freed=0, left=(refused,))
    async with renewed(holding, clock):
        freed, left = await (tree.remove(found.legs) if found.legs else tree.hollow())
    if not found.legs and not left:
        # The records go last and at once: the lease lies among them.
        records, left = await tree.remove(())
        freed += records
    gone = not await tree.exists()
    if not gone:
        await holding.release()
    return Pruned(found.run, gone, freed, tuple(left))


async def _decision(run: Run, attempts: Sequence[Attempt]) -> str:
    decision = await run.decision(attempts[-1].tag) if attempts else None
    return "" if decision is None else decision.word


async def _worth(run: Run, attempts: Sequence[Attempt], decision: str) -> Worth:
    """Whether any leg of any attempt was measured. A run that may still be going on is not judged by that."""
    for attempt in attempts:
        for verdict in (await run.verdicts(attempt.tag)).values():
            if verdict.outcome in (Outcome.PASS, Outcome.FAIL):
                return "measured"
    return "nothing" if decision or not attempts else "undecided"


async def _refusal(run: Run, attempts: Sequence[Attempt]) -> str:
    """Why the run must stay: workloads that were not seen gone, or that nobody can tell anything of."""
    tags = {attempt.tag for attempt in attempts}
    tags |= {key.split("/")[2] for key in await run.store.list("gate/workloads")}
    try:
        entries = [entry for tag in sorted(tags) for entry in (await run.entries(tag)).values()]
    except DocumentError as error:
        return f"whether its workloads are gone cannot be known: {error.message}"
    left = [entry.id for entry in entries if may_live(entry)]
    if left:
        return f"not seen gone: {', '.join(left)} (`gate reap --run RUN` first)"
    return ""
