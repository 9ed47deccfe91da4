"""The one-writer lease: judged by the observer's own clock, taken over exactly once, fenced before decisions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import pytest
from trio.testing import MockClock

from gate import documents
from gate.contracts import Clock
from gate.errors import RunHeld
from gate.rundir import layout, lease
from gate.rundir.formats import Lease
from gate.rundir.lease import Holding, Watch, observe
from gate.simulate.clock import SimClock
from gate.simulate.store import MemoryDisk, MemoryStore

A = lease.fresh("aaaa", "ci-7", 4711, "gate poll 12", 10.0, 1_800_000_000.0)
B = lease.fresh("bbbb", "ci-8", 815, "gate poll 12 --take-over", 10.0, 0.0)
C = lease.fresh("cccc", "ci-9", 99, "gate poll 12", 10.0, 0.0)


def virtual(work: Callable[[], Awaitable[None]]) -> None:
    anyio.run(work, backend="trio", backend_options={"clock": MockClock(autojump_threshold=0)})


def quiet(_: Lease, __: float) -> None: ...


async def acquired(store: MemoryStore, mine: Lease, clock: Clock, *, take_over: bool = False) -> Holding:
    holding = Holding(store, "12", mine)
    await holding.acquire(clock, take_over=take_over, waiting=quiet)
    return holding


# --- the observer ------------------------------------------------------------------------------------


def test_nobody_holds_it() -> None:
    assert observe(Watch(), None, 0.0)[1] == "free"


def test_a_counter_that_moves_is_alive_at_once() -> None:
    watch, standing = observe(Watch(), A, 100.0)
    assert standing == "waiting"
    watch, standing = observe(watch, A, 104.0)
    assert standing == "waiting"
    assert observe(watch, replace(A, counter=1), 108.0)[1] == "held"


def test_a_counter_that_stands_still_on_my_clock_is_stale_whatever_its_timestamps_say() -> None:
    watch, _ = observe(Watch(), replace(A, since=9e12), 100.0)
    watch, standing = observe(watch, replace(A, since=9e12), 129.9)
    assert standing == "waiting"
    assert observe(watch, replace(A, since=9e12), 130.0)[1] == "stale"


def test_another_holder_starts_the_watch_again() -> None:
    watch, _ = observe(Watch(), A, 0.0)
    watch, standing = observe(watch, B, 29.0)
    assert standing == "waiting"
    assert observe(watch, B, 58.0)[1] == "waiting"
    assert observe(watch, B, 59.0)[1] == "stale"


def test_a_short_period_still_gets_time_for_a_renewal() -> None:
    assert lease.patience(replace(A, period=0.01)) == lease.STALE_AT_LEAST


# --- holding -----------------------------------------------------------------------------------------


def test_a_second_poller_is_refused_within_a_period_and_told_who_and_what_to_do() -> None:
    async def main() -> None:
        store, clock = MemoryStore(), SimClock()
        holding = await acquired(store, A, clock)

        async def renew() -> None:
            while True:
                await clock.sleep(10)
                await holding.renew()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(renew)
            with pytest.raises(RunHeld) as caught:
                await acquired(store, B, clock)
            tasks.cancel_scope.cancel()
        assert (await clock.now()).mono <= 15
        for word in ("12", "gate poll 12", "4711", "ci-7", "--take-over"):
            assert word in str(caught.value)
        assert caught.value.exit_code == 2

    virtual(main)


def test_a_dead_holder_is_waited_for_once_and_then_replaced() -> None:
    async def main() -> None:
        store, clock, told = MemoryStore(), SimClock(), list[float]()
        await acquired(store, A, clock)
        holding = Holding(store, "12", B)
        await holding.acquire(clock, take_over=False, waiting=lambda _, patience: told.append(patience))
        assert told == [30.0]
        assert 30 <= (await clock.now()).mono <= 35
        await holding.renew()
        found = await lease.current(store)
        assert (found.holder, found.counter) == ("bbbb", 1) if found else False

    virtual(main)


def test_released_it_is_free_at_once() -> None:
    async def main() -> None:
        store, clock = MemoryStore(), SimClock()
        await (await acquired(store, A, clock)).release()
        await acquired(store, B, clock)
        assert (await clock.now()).mono == 0

    virtual(main)


def test_of_many_that_find_it_free_or_stale_exactly_one_gets_it() -> None:
    async def main() -> None:
        for held in (False, True):
            store, clock = MemoryStore(), SimClock()
            if held:
                await acquired(store, A, clock)
            won: list[str] = []

            async def one(name: str, store: MemoryStore = store, clock: SimClock = clock, won: list[str] = won) -> None:
                try:
                    holding = await acquired(store, replace(B, holder=name), clock)
                except RunHeld:
                    return
                won.append(name)
                for _ in range(20):
                    await holding.renew()
                    await clock.sleep(10)

            async with anyio.create_task_group() as tasks:
                for n in range(6):
                    tasks.start_soon(one, f"racer-{n}")
            assert len(won) == 1

    virtual(main)


def test_a_deposed_holder_stops_at_its_next_renewal_and_at_every_check() -> None:
    async def main() -> None:
        store, clock = MemoryStore(), SimClock()
        old = await acquired(store, A, clock)
        await acquired(store, B, clock, take_over=True)
        with pytest.raises(RunHeld, match="bbbb"):
            await old.renew()
        for call in (old.renew, old.check, old.release):
            with pytest.raises(RunHeld):
                await call()
        found = await lease.current(store)
        assert found is not None
        assert found.holder == "bbbb"

    virtual(main)


def test_a_late_renewal_over_the_new_lease_changes_nothing() -> None:
    """The deposed holder read its own lease, slept, and wrote it back after the take-over."""

    async def main() -> None:
        store, clock = MemoryStore(), SimClock()
        old = await acquired(store, A, clock)
        new = await acquired(store, B, clock, take_over=True)
        await store.replace(layout.LEASE, documents.dump(replace(A, counter=7)))
        with pytest.raises(RunHeld, match="bbbb"):
            await old.check()
        await new.check()
        found = await lease.current(store)
        assert found is not None
        assert found.holder == "bbbb"
        await new.renew()
        raw = await store.read(layout.LEASE)
        assert raw is not None
        assert documents.load(Lease, raw, "lease").holder == "bbbb"

    virtual(main)


def test_a_claimant_that_died_before_it_wrote_the_lease_is_itself_replaced() -> None:
    async def main() -> None:
        store, clock = MemoryStore(), SimClock()
        await acquired(store, A, clock)
        await store.create(layout.claim("aaaa"), documents.dump(B))  # and dead
        third = await acquired(store, C, clock)
        assert 30 <= (await clock.now()).mono <= 40
        await third.renew()
        found = await lease.current(store)
        assert found is not None
        assert found.holder == "cccc"

    virtual(main)


def test_a_lease_file_that_somebody_removed_is_made_again() -> None:
    async def main() -> None:
        store, clock = MemoryStore(), SimClock()
        holding = await acquired(store, A, clock)
        await store.remove(layout.LEASE)
        await holding.renew()
        found = await lease.current(store)
        assert found is not None
        assert found.holder == "aaaa"
        await store.remove(layout.LEASE)
        await acquired(store, B, clock)
        with pytest.raises(RunHeld, match="bbbb"):
            await holding.renew()

    virtual(main)


DAMAGED = [
    b"",
    b"{",
    documents.dump(A).replace(b'"counter":', b'"counters":'),
    documents.dump(A).replace(b"gate.lease", b"gate.kept"),
    b'{"format": "gate.lease", "format_version": 9}',
]


@pytest.mark.parametrize("raw", DAMAGED)
@pytest.mark.parametrize("take_over", [False, True])
def test_a_lease_that_cannot_be_read_and_stands_still_is_replaced(raw: bytes, *, take_over: bool) -> None:
    """It is renewed without fsync: a power cut leaves it empty, and the clean-up after it must not be refused."""

    async def main() -> None:
        store, clock = MemoryStore(MemoryDisk()), SimClock()
        await store.replace(layout.LEASE, raw)
        assert await lease.live_holder(store, clock) is None
        began = (await clock.now()).mono
        holding = await acquired(store, A, clock, take_over=take_over)
        waited = (await clock.now()).mono - began
        assert waited == 0 if take_over else 60 <= waited < 70
        await holding.renew()
        found = await lease.current(store)
        assert found is not None
        assert found.holder == "aaaa"

    virtual(main)


def test_a_lease_that_cannot_be_read_and_changes_is_somebodys() -> None:
    """A newer gate holds the run, and writes a format that this one cannot read."""

    async def main() -> None:
        store, clock = MemoryStore(MemoryDisk()), SimClock()

        async def renew() -> None:
            for beat in range(100):
                await store.replace(layout.LEASE, b'{"format": "gate.lease", "format_version": 9, "beat": %d}' % beat)
                await clock.sleep(10)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(renew)
            await clock.sleep(1)
            assert await lease.live_holder(store, clock) is not None
            with pytest.raises(RunHeld, match="newer than this gate reads"):
                await acquired(store, A, clock)
            tasks.cancel_scope.cancel()

    virtual(main)


def test_a_holder_writes_over_its_own_lease_that_was_damaged_and_not_over_a_claim() -> None:
    async def main() -> None:
        store, clock = MemoryStore(MemoryDisk()), SimClock()
        holding = await acquired(store, A, clock)
        await store.replace(layout.LEASE, b"")
        await holding.check()
        await holding.renew()
        found = await lease.current(store)
        assert found is not None
        assert found.holder == "aaaa"
        await acquired(store, B, clock, take_over=True)
        await store.replace(layout.LEASE, b"")
        with pytest.raises(RunHeld, match="bbbb"):
            await holding.check()

    virtual(main)


def test_live_holder_takes_nothing_over() -> None:
    async def main() -> None:
        store, clock = MemoryStore(), SimClock()
        assert await lease.live_holder(store, clock) is None
        holding = await acquired(store, A, clock)
        assert await lease.live_holder(store, clock) is None  # dead: its counter stands still
        async with anyio.create_task_group() as tasks:

            async def renew() -> None:
                while True:
                    await clock.sleep(10)
                    await holding.renew()

            tasks.start_soon(renew)
            found = await lease.live_holder(store, clock)
            assert found is not None
            assert found.holder == "aaaa"
            tasks.cancel_scope.cancel()
        await holding.check()

    virtual(main)
