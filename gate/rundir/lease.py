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

UNREADABLE = "unreadable-"
"""How the holder of a lease is called that cannot be read; the rest tells its bytes from others."""
UNREADABLE_PERIOD = 20.0
"""Seconds between renewals that such a holder is credited with: more than gate.yaml's usual interval."""

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
    if before is None or not _same_holder(before, lease):
        return Watch(lease, mono), "waiting"
    if before.counter != lease.counter:
        return Watch(lease, mono), "held"
    return watch, "stale" if mono - watch.since >= patience(lease) else "waiting"


def _same_holder(before: Lease, now: Lease) -> bool:
    both = before.holder.startswith(UNREADABLE) and now.holder.startswith(UNREADABLE)
    return both or before.holder == now.holder


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
    """Who holds the run now: the lease, followed through the claims on its holders.

    Raises DocumentError for a claim that cannot be read.
    """
    raw = await store.read(layout.LEASE)
    lease = None if raw is None else _holder(raw)
    passed: set[str] = set()
    while lease is not None and lease.holder not in passed:
        passed.add(lease.holder)
        key = layout.claim(lease.holder)
        claim = await store.read(key)
        if claim is None:
            return lease
        lease = documents.load(Lease, claim, key)
    return lease


def _holder(raw: bytes) -> Lease:
    """The lease in the file; one that cannot be read (a power cut, a newer gate) stands for whoever wrote it.

    It is judged as any other: while its bytes change somebody is alive, and when they stand still it can be replaced.
    """
    try:
        return documents.load(Lease, raw, layout.LEASE)
    except DocumentError as error:
        mark = sha256(raw).hexdigest()
        return Lease(
            holder=UNREADABLE + mark[:16],
            host="a host that cannot be told",
            pid=0,
            command=f"unknown ({error.message})",
            counter=int(mark[:8], 16),
            period=UNREADABLE_PERIOD,
            since=0.0,
        )


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
            self._lose_to_another(_holder(raw))
        self.mine = dataclasses.replace(self.mine, counter=self.mine.counter + 1)
        await self._store.replace(layout.LEASE, self._bytes())

    async def check(self) -> None:
        """Before anything that must have one writer: is it still ours?"""
        self._raise_if_lost()
        claim = await self._store.read(layout.claim(self.mine.holder))
        if claim is not None:
            self._lose(documents.load(Lease, claim, layout.claim(self.mine.holder)))
        raw = await self._store.read(layout.LEASE)
        if raw is not None:
            self._lose_to_another(_holder(raw))

    async def release(self) -> None:
        """Leave the run free for the next. One that was lost is left alone."""
        await self.check()
        await self._store.remove(layout.LEASE)

    def _lose_to_another(self, found: Lease) -> None:
        """One that cannot be read is nobody's word: who takes over makes a claim."""
        mine = found.holder == self.mine.holder or found.holder in self._deposed
        if not mine and not found.holder.startswith(UNREADABLE):
            self._lose(found)

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
