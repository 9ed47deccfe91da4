"""When a poller looks, and that it ends before its deadline whatever hangs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio
import pytest

from gate.contracts import LegQuery, LegView, Phase
from gate.errors import EXIT_NOT_MEASURED, StoreUnavailable
from gate.poll.driver import poll
from gate.simulate.legfiles import MemoryLegFiles
from gate.simulate.store import MemoryStore
from tests.dispatch.plans import plan
from tests.poll.worlds import Scene, attempt_of, play, virtual


class Watched(MemoryLegFiles):
    """Remembers when it was looked at."""

    looked: list[float]

    async def look(self, queries: Sequence[LegQuery]) -> Mapping[str, LegView]:
        self.looked.append(anyio.current_time())
        return await super().look(queries)


def slowly(interval: float = 10.0, deadline: float = 600.0) -> Scene:
    made = plan(["a", "b"])
    budgets = replace(made.poll, interval=interval, deadline=deadline)
    return Scene(attempt_of(replace(made, poll=budgets)))


@pytest.mark.parametrize("died", [21.0, 25.0, 29.9])
def test_a_restarted_poller_looks_when_the_one_before_would_have_looked(died: float) -> None:
    """Fail-fast judges what one look shows: at other moments a leg that had passed could be left unjudged."""

    async def main() -> None:
        scene = await slowly().begin()
        legs = Watched(scene.disk)
        legs.looked = []
        with anyio.move_on_after(died):
            await poll(scene.world(legs=legs), scene.attempt)
        await anyio.sleep(7.7)
        with anyio.move_on_after(60):
            await poll(scene.world(legs=legs), scene.attempt, takeover=True)
        assert len(legs.looked) > 7
        assert [at for at in legs.looked if abs(at / 10 - round(at / 10)) > 0.001] == []
        assert len(set(map(round, legs.looked))) == len(legs.looked)

    virtual(main)


def test_a_restart_between_a_loss_and_a_pass_hides_no_pass() -> None:
    async def main() -> None:
        scene = await slowly().begin()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(play, [(22.0, lambda: scene.finish("a", ok=False)), (28.0, lambda: scene.finish("b"))])
            with anyio.move_on_after(15):
                await poll(scene.world(), scene.attempt)
            await anyio.sleep(9)
            await poll(scene.world(), scene.attempt, takeover=True)
        assert scene.verdicts() == {"a": ("FAIL", "not_accepted"), "b": ("PASS", "criteria_met")}

    virtual(main)


class Hung(MemoryStore):
    """A root that answers nothing, ten seconds late, from a moment on."""

    since = 0.0

    async def _hang(self) -> None:
        if anyio.current_time() >= self.since:
            await anyio.sleep(10)
            raise StoreUnavailable("no answer from the shared root")

    async def read(self, key: str) -> bytes | None:
        await self._hang()
        return await super().read(key)

    async def create(self, key: str, data: bytes) -> bool:
        await self._hang()
        return await super().create(key, data)

    async def replace(self, key: str, data: bytes) -> None:
        await self._hang()
        await super().replace(key, data)

    async def append(self, key: str, data: bytes) -> None:
        await self._hang()
        await super().append(key, data)


@pytest.mark.parametrize("interval", [2.0, 10.0, 60.0])
def test_a_root_that_hangs_to_the_end_does_not_hold_poll_beyond_its_deadline(interval: float) -> None:
    async def main() -> None:
        scene = await slowly(interval=interval).begin()
        store = Hung(scene.disk)
        store.since = 15.0
        end = await poll(scene.world(store=store), scene.attempt)
        assert (end.decision, end.exit_code) == (None, EXIT_NOT_MEASURED)
        assert {left.workload for left in end.remaining} == {"a", "b"}, "nothing is stopped, and all are named"
        assert 500 < anyio.current_time() <= 600

    virtual(main)


def test_what_does_not_go_is_named_before_the_deadline() -> None:
    async def main() -> None:
        scene = await slowly().begin()
        scene.engine.stubborn = {"a", "b"}
        end = await poll(scene.world(), scene.attempt)
        assert end.decision is not None
        assert {left.workload for left in end.remaining} == {"a", "b"}
        assert scene.engine.phases["a"] is Phase.RUNNING
        assert anyio.current_time() <= 600

    virtual(main)
