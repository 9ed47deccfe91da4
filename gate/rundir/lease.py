"""The one-writer lease of a run.

`gate/lease.json` names the holder and carries a counter that it renews. A holder whose counter stood still for a few
periods on the *observer's* clock is gone; nobody's timestamps are compared. A take-over is claimed by a file created
once and named after the deposed holder, so exactly one of any number of observers wins, and a holder that slept
through it finds the claim before it writes a decision, even where a late renewal of its own hid the new lease.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from gate import documents
from gate.contracts import Clock, Store
from gate.errors import DocumentError, RunHeld
from gate.rundir import layout
from gate.rundir.formats import Lease

STALE_PERIODS = 3
STALE_AT_LEAST = 2.0
"""Seconds; shorter periods than a renewal takes would make everybody stale."""

Standing = Literal["free", "waiting", "held", "stale"]


# --- the observer: pure ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Watch:
    """What an observer has seen of a lease so far. `since`: its own clock when the counter was first seen so."""

    seen: Lease | None = None
    since: float = 0.0


def observe(watch: Watch, lease: Lease | None, mono: float) -> tuple[Watch, Standing]:
    """Take in one look at the lease at `mono` (the observer's clock, seconds).

    free: nobody holds it. held: its counter moved while we looked. stale: it stood still for too long.
    waiting: look again later.
    """
    if lease is None:
        return Watch(None, mono), "free"
    before = watch.seen
    if before is None or before.holder != lease.holder:
        return Watch(lease, mono), "waiting"
    if before.counter != lease.counter:
        return Watch(lease, mono), "held"
    return watch, "stale" if mono - watch.since >= patience(lease) else "waiting"


def patience(lease: Lease) -> float:
    """Seconds for which the counter may stand still."""
    return max(STALE_PERIODS * lease.period, STALE_AT_LEAST)


def held_error(lease: Lease, run: str) -> RunHeld:
    """What a second poller says: who holds the run, and what to do."""
    return RunHeld(
        f"run {run} is held by another poller: {lease.command!r}, pid {lease.pid} on {lease.host} ({lease.holder})",
        hint="Wait for it, or stop it there. `gate poll --take-over` deposes it.",
    )


# --- the store's side --------------------------------------------------------------------------------


async def current(store: Store) -> Lease | None:
    """Who holds the run now: the lease, followed through the claims on its holders. Raises DocumentError."""
    raw = await store.read(layout.LEASE)
    lease = None if raw is None else documents.load(Lease, raw, layout.LEASE)
    passed: set[str] = set()
    while lease is not None and lease.holder not in passed:
        passed.add(lease.holder)
        key = layout.claim(lease.holder)
        claim = await store.read(key)
        if claim is None:
            return lease
        lease = documents.load(Lease, claim, key)
    return lease


async def live_holder(store: Store, clock: Clock) -> Lease | None:
    """The live holder of the run, or None: returns as soon as the counter moves, at the latest when it is stale.

    For others than pollers, as `gate reap --stale`: it takes nothing over.
    """
    watch = Watch()
    while True:
        lease = await current(store)
        watch, standing = observe(watch, lease, (await clock.now()).mono)
        match standing:
            case "free" | "stale":
                return None
            case "held":
                return lease
            case "waiting":
                assert lease is not None
                await clock.sleep(look_again(lease))


def look_again(lease: Lease) -> float:
    """Seconds until the next look at somebody else's lease."""
    return min(max(lease.period / 3, 0.05), 5.0)


class Holding:
    """The lease as its holder sees it. Any method raises RunHeld once somebody else has taken it, and from then on."""

    def __init__(self, store: Store, run: str, mine: Lease) -> None:
        self._store = store
        self._run = run
        self.mine = mine
        self._deposed: set[str] = set()
        self._lost: RunHeld | None = None
        self._written = b""

    async def acquire(self, clock: Clock, *, take_over: bool, waiting: Callable[[Lease, float], None]) -> None:
        """Hold the lease, or raise RunHeld: it is alive, or somebody else was faster.

        A holder that may be dead is watched for `patience` seconds first; `waiting` is told so, once.
        """
        if take_over and await self._depose_damaged():
            return
        watch, told = Watch(), False
        while True:
            lease = await current(self._store)
            watch, standing = observe(watch, lease, (await clock.now()).mono)
            if lease is None:
                if await self._store.create(layout.LEASE, self._bytes()):
                    return
                continue
            if take_over or standing == "stale":
                await self._depose(lease)
                return
            if standing == "held":
                raise held_error(lease, self._run)
            if not told:
                told = True
                waiting(lease, patience(lease))
            await clock.sleep(look_again(lease))

    async def _depose_damaged(self) -> bool:
        """A lease that cannot be read names nobody: taking over replaces it, once a damage."""
        try:
            await current(self._store)
        except DocumentError:
            raw = await self._store.read(layout.LEASE) or b""
            if await self._store.create(layout.claim(f"damaged-{sha256(raw).hexdigest()[:16]}"), self._bytes()):
                await self._store.replace(layout.LEASE, self._bytes())
                return True
        return False

    async def _depose(self, lease: Lease) -> None:
        if not await self._store.create(layout.claim(lease.holder), self._bytes()):
            winner = await current(self._store)
            raise held_error(winner or lease, self._run)
        self._deposed.add(lease.holder)
        await self._store.replace(layout.LEASE, self._bytes())

    async def renew(self) -> None:
        """Move the counter on, unless somebody else holds the lease now."""
        self._raise_if_lost()
        raw = await self._store.read(layout.LEASE)
        if raw is None:
            # Somebody removed the file: whoever creates it again holds the run.
            if not await self._store.create(layout.LEASE, self._bytes()):
                await self.check()
            return
        if raw != self._written:  # every tick renews: what we wrote ourselves need not be decoded
            found = documents.load(Lease, raw, layout.LEASE)
            if found.holder != self.mine.holder and found.holder not in self._deposed:
                self._lose(found)
        self.mine = dataclasses.replace(self.mine, counter=self.mine.counter + 1)
        await self._store.replace(layout.LEASE, self._bytes())

    async def check(self) -> None:
        """Before anything that must have one writer: is it still ours?"""
        self._raise_if_lost()
        claim = await self._store.read(layout.claim(self.mine.holder))
        if claim is not None:
            self._lose(documents.load(Lease, claim, layout.claim(self.mine.holder)))
        raw = await self._store.read(layout.LEASE)
        found = None if raw is None else documents.load(Lease, raw, layout.LEASE)
        if found is not None and found.holder != self.mine.holder and found.holder not in self._deposed:
            self._lose(found)

    async def release(self) -> None:
        """Leave the run free for the next. One that was lost is left alone."""
        await self.check()
        await self._store.remove(layout.LEASE)

    def _lose(self, to: Lease) -> None:
        self._lost = held_error(to, self._run)
        raise self._lost

    def _raise_if_lost(self) -> None:
        if self._lost is not None:
            raise self._lost

    def _bytes(self) -> bytes:
        self._written = documents.dump_line(self.mine)
        return self._written


def fresh(holder: str, host: str, pid: int, command: str, period: float, since: float) -> Lease:
    """A lease that nobody has yet. `holder` is random, `period` the seconds between renewals that are promised."""
    assert math.isfinite(period)
    return Lease(holder, host, pid, command, 0, period, since)
