"""A poller that reports: GitHub delays no look, no verdict and no cancel, and costs few calls."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import anyio
import pytest

from gate.contracts import Phase, Publisher
from gate.plan.model import Plan
from gate.poll.driver import PollEnd, poll
from gate.poll.publishing import FINISH
from gate.publish.publisher import GitHubPublisher
from gate.simulate.clock import SimClock
from gate.simulate.store import MemoryStore
from tests.poll.test_cancelling import Hanging
from tests.poll.worlds import Scene, attempt_of, play, virtual
from tests.publish.cases import SHA, SITE, eight
from tests.publish.hub import Client, Fault, Hub
from tests.publish.test_publisher import DONE, text

HOUR = 3600.0


def reporting(scene: Scene, hub: Hub, fault: Fault = lambda number, what: "", latency: float = 0.3) -> Client:
    """A client for a publisher of this scene."""
    return Client(hub, latency, fault)


def publisher(scene: Scene, client: Client) -> Publisher:
    return GitHubPublisher(client, SITE, MemoryStore(scene.disk), SimClock(), scene.attempt, text)


def long_gate(hours: float, *, fail_fast: bool = True) -> Plan:
    """Eight legs, a poll each 20 s."""
    made = eight()
    budgets = replace(made.poll, interval=20.0, queue=HOUR, deadline=hours * HOUR, outage=1200.0)
    return replace(made, poll=budgets, fail_fast=fail_fast)


async def polled(scene: Scene, client: Client | None, script: list[tuple[float, object]], **world: object) -> PollEnd:
    """Poll the scene while its script is played."""
    ends: list[PollEnd] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(play, script)  # type: ignore[arg-type]  # steps are closures of the tests
        made = scene.world(publisher=None if client is None else publisher(scene, client), **world)
        ends.append(await poll(made, scene.attempt))
        tasks.cancel_scope.cancel()
    return ends[0]


def finishing(scene: Scene, *, ok: bool = True, every: float = 1.5 * HOUR) -> list[tuple[float, object]]:
    """One leg after the other finishes."""
    return [(every * (at + 1), lambda name=name: scene.finish(name, ok=ok)) for at, name in enumerate("abcdefgh")]


def test_fourteen_hours_of_eight_legs_stay_within_sixty_calls_an_hour() -> None:
    async def main() -> None:
        scene, hub = await Scene(attempt_of(long_gate(15))).begin(), Hub()
        client = reporting(scene, hub)
        scene.engine.phases.update(dict.fromkeys("abcdefgh", Phase.PENDING))
        script = finishing(scene, every=1.7 * HOUR)
        for at, name in enumerate("abcdefgh"):
            begin = 60.0 + 40 * at
            script += [(begin, lambda name=name: scene.engine.phases.update({name: Phase.RUNNING}))]
            for number, phase in enumerate(("prepare", "setup", "launch", "wait")):
                show = lambda n=name, p=phase, s=number: scene.pointer(n, sequence=s + 1, phase=p, state=p == "wait")  # noqa: E731 - steps of one script
                script += [(begin + 100 * (number + 1), show)]
        end = await polled(scene, client, script)
        assert end.exit_code == 0
        assert hub.states(SHA) == DONE
        assert end.published is not None
        assert end.published.remaining == ()
        hours = Counter(int(at // HOUR) for at, _ in client.whens)
        # Questions about newer runs take at most 30 more.
        assert max(hours.values()) <= 30, hours
        assert len(hub.comments()) == 1

    virtual(main)


def test_the_end_costs_four_calls_and_one_a_leg() -> None:
    async def main() -> None:
        scene, hub = await Scene(attempt_of(long_gate(2))).begin(), Hub()
        client = reporting(scene, hub)
        end = await polled(scene, client, [(600.0, lambda: scene.finish("c", ok=False))])
        assert end.exit_code == 1
        assert hub.states(SHA) == {**dict.fromkeys(DONE, "error"), "demo/c": "failure", "demo": "failure"}
        late = [what for at, what in client.whens if at >= 600.0]
        assert len(late) <= 4 + 8, late
        assert "statuses" in late

    virtual(main)


@pytest.mark.parametrize("how", ["down", "hang"])
@pytest.mark.parametrize("ok", [True, False])
def test_github_down_changes_no_verdict_and_delays_the_exit_by_two_minutes_at_most(how: str, *, ok: bool) -> None:
    async def main() -> None:
        took = []
        ends = []
        for client_of in (False, True):
            scene, hub = await Scene(attempt_of(long_gate(5, fail_fast=False))).begin(), Hub()
            client = reporting(scene, hub, lambda n, what: how) if client_of else None
            began = anyio.current_time()
            ends.append(await polled(scene, client, finishing(scene, ok=ok, every=596.3)))
            took.append(anyio.current_time() - began)
            assert len(scene.verdicts()) == 8
        assert ends[0].exit_code == ends[1].exit_code
        assert took[1] - took[0] <= 120
        assert took[1] - took[0] >= FINISH / 2
        assert ends[1].published is not None
        assert len(ends[1].published.remaining) == 10

    virtual(main)


def test_the_last_state_file_is_told_within_one_poll_and_five_seconds() -> None:
    async def main() -> None:
        for at in (301.0, 310.0, 319.0):
            scene, hub = await Scene(attempt_of(long_gate(2, fail_fast=False))).begin(), Hub()
            for name in "abcdefg":
                scene.finish(name)
            began = anyio.current_time()
            await polled(scene, reporting(scene, hub), [(at, lambda scene=scene: scene.finish("h"))])
            decided = [when for when, _, _ in hub.edits]
            assert hub.states(SHA) == DONE
            assert min(when for when in decided if when - began > at) - began - at <= 20 + 5

    virtual(main)


@pytest.mark.parametrize("at", [0.5, 3.0, 21.0, 47.3, 60.0])
@pytest.mark.parametrize("latency", [0.05, 0.6])
def test_a_cancel_closes_everything_within_seven_seconds(at: float, latency: float) -> None:
    async def main() -> None:
        scene, hub = await Scene(attempt_of(long_gate(2))).begin(), Hub()
        client = reporting(scene, hub, latency=latency)
        end = await polled(scene, client, [(at, lambda: scene.signals.send(2))])
        assert end.exit_code == 130
        assert hub.states(SHA) == dict.fromkeys(DONE, "error")
        assert max(when for when, _, status in hub.posted) - at < 7
        assert anyio.current_time() - at < 7.5

    virtual(main)


def test_a_cancel_while_the_root_hangs_closes_what_it_can() -> None:
    async def main() -> None:
        scene, hub = await Scene(attempt_of(long_gate(2))).begin(), Hub()
        store = Hanging(MemoryStore(scene.disk))
        client = reporting(scene, hub)
        made = GitHubPublisher(client, SITE, store, SimClock(), scene.attempt, text)
        world = scene.world(store=store, publisher=made)

        def hang() -> None:
            store.hung = True

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(play, [(30.0, hang), (35.0, lambda: scene.signals.send(15))])
            end = await poll(world, scene.attempt)
        assert end.exit_code == 143
        assert hub.states(SHA) == dict.fromkeys(DONE, "error")
        assert anyio.current_time() - 35 < 7.5

    virtual(main)


def test_a_hanging_github_delays_no_look() -> None:
    async def main() -> None:
        scene, hub = await Scene(attempt_of(long_gate(1))).begin(), Hub()
        client = reporting(scene, hub, lambda n, what: "hang")
        await polled(scene, client, [(305.0, lambda: scene.finish("a", ok=False))])
        ticks = [event.elapsed for event in scene.ears.of("tick")]
        assert all(later - earlier == pytest.approx(20) for earlier, later in pairwise(ticks))
        verdict = scene.ears.of("verdict")[0]
        assert verdict.elapsed - 305 <= 21

    virtual(main)


def test_a_poller_that_lost_the_run_posts_nothing_more() -> None:
    async def main() -> None:
        scene, hub = await Scene(attempt_of(long_gate(2))).begin(), Hub()
        first, second = reporting(scene, hub), reporting(scene, hub)
        ends: list[object] = []

        async def old() -> None:
            try:
                await poll(scene.world(publisher=publisher(scene, first)), scene.attempt)
            except Exception as error:  # noqa: BLE001 - whichever way it ends, it posts nothing
                ends.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(old)
            await anyio.sleep(65)
            taken = first.calls
            tasks.start_soon(play, [(10.0, lambda: scene.finish("a", ok=False))])
            world = scene.world(publisher=publisher(scene, second))
            await poll(world, scene.attempt, takeover=True)
        assert first.calls == taken
        assert hub.states(SHA)["demo"] == "failure"
        assert len(ends) == 1
        assert len(hub.comments()) == 1

    virtual(main)
