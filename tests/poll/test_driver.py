"""The poller from its first look to its exit code, in virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import anyio
import pytest

from gate import documents
from gate.contracts import Event, LegView, Phase, Store
from gate.errors import EngineUnreachable, RunHeld, StoreError, StoreFull, StoreUnavailable
from gate.machines.verdict import Outcome
from gate.poll.driver import PollEnd, poll
from gate.reap.remaining import UNLISTED
from gate.rundir import layout, lease
from gate.rundir.formats import Kept, WorkloadEntry
from gate.rundir.run import Run
from gate.simulate.store import MemoryStore
from tests.dispatch.plans import plan
from tests.poll.worlds import TAG, Ears, Newer, Scene, Script, attempt_of, informing, play, virtual


async def polled(scene: Scene, script: Script = (), **options: Any) -> PollEnd:
    """Poll while `script` plays."""
    ends: list[PollEnd] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(play, script)
        changes = options.pop("changes", {})
        ends.append(await poll(scene.world(**changes), scene.attempt, **options))
        tasks.cancel_scope.cancel()
    return ends[0]


def both(scene: Scene, at: float = 5.0) -> Script:
    return [(at, lambda: scene.finish("a")), (0.0, lambda: scene.finish("b"))]


# --- the plain course --------------------------------------------------------------------------------


def test_two_legs_finish_and_the_gate_passes() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        end = await polled(scene, both(scene))
        assert end.exit_code == 0
        assert end.decision is not None
        assert end.decision.word == "GO"
        assert end.remaining == ()
        assert scene.verdicts() == {"a": ("PASS", "criteria_met"), "b": ("PASS", "criteria_met")}
        assert [kind for kind in scene.ears.kinds() if kind in ("verdict", "decision")] == [
            "verdict",
            "verdict",
            "decision",
        ]
        assert await MemoryStore(scene.disk).read(layout.LEASE) is None  # left free for the next
        assert await Run(MemoryStore(scene.disk)).decision(TAG) == end.decision

    virtual(main)


def test_one_list_call_a_tick() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        await polled(scene, both(scene, 100.5))
        assert 101 <= scene.engine.lists <= 103  # settling looks once more
        assert scene.engine.gets == []

    virtual(main)


def test_a_verdict_comes_within_one_interval_after_the_state_file() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        slow = scene.engine

        async def hang(_: int) -> None:
            await anyio.sleep(45)  # the engine is slow, and the evidence is not kept waiting for it

        slow.on_list = hang
        await polled(scene, [(10.2, lambda: scene.finish("a")), (30.7, lambda: scene.finish("b"))])
        told = {event.leg: event.elapsed for event in scene.ears.of("verdict")}
        assert told["a"] - 10.2 <= 1 + 2
        assert told["b"] - 30.7 <= 1 + 2

    virtual(main)


def test_a_slow_engine_is_not_called_blind_before_the_next_poll_is_due() -> None:
    async def main() -> None:
        made = plan()
        scene = await Scene(attempt_of(replace(made, poll=replace(made.poll, interval=30)))).begin()

        async def slow(_: int) -> None:
            await anyio.sleep(5)

        scene.engine.on_list = slow
        await polled(scene, [(70, lambda: scene.finish("a")), (0, lambda: scene.finish("b"))])
        assert "blind" not in scene.ears.kinds()[:-4]
        assert scene.engine.lists <= 6

    virtual(main)


def test_a_failed_blocking_leg_decides_and_the_other_is_kept_or_stopped() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        end = await polled(scene, [(3, lambda: scene.finish("a", ok=False))])
        assert end.exit_code == 1
        assert scene.verdicts() == {"a": ("FAIL", "not_accepted"), "b": ("NOT_JUDGED", "fail_fast")}
        assert scene.engine.stops == ["id-b"]
        entry = (await Run(MemoryStore(scene.disk)).entries(TAG))["b"]
        assert entry.stage == "seen_gone"

    virtual(main)


def test_no_fail_fast_goes_on_to_every_verdict() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        script = [(3, lambda: scene.finish("a", ok=False)), (9, lambda: scene.finish("b"))]
        end = await polled(scene, script, fail_fast=False)
        assert end.exit_code == 1
        assert scene.verdicts()["b"] == ("PASS", "criteria_met")
        assert "loss_announced" in scene.ears.kinds()

    virtual(main)


def test_kept_for_post_mortem_is_leased_and_not_stopped() -> None:
    async def main() -> None:
        made = replace(plan(), keep_on_fail=1000.0)
        scene = await Scene(attempt_of(made)).begin()
        scene.engine.stubborn.add("b")
        end = await polled(scene, [(3, lambda: scene.finish("a", ok=False))])
        assert end.remaining == ()
        assert scene.engine.stops == []
        kept = await Run(MemoryStore(scene.disk)).kept(TAG)
        assert set(kept) == {"b"}
        assert kept["b"].until - end.decision.at <= 300  # type: ignore[union-attr]  # never past the workload time-out
        assert "kept" in scene.ears.kinds()

    virtual(main)


def test_a_lease_that_a_person_took_is_honoured() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        await Run(MemoryStore(scene.disk)).keep(Kept("b", TAG, 9e12, "a look inside", "me@host"))
        await polled(scene, [(3, lambda: scene.finish("a", ok=False))])
        assert scene.engine.stops == []

    virtual(main)


def test_what_does_not_go_is_named() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        scene.engine.stubborn.add("b")
        end = await polled(scene, [(3, lambda: scene.finish("a", ok=False))])
        assert end.exit_code == 1
        assert [(left.workload, left.engine_id) for left in end.remaining] == [("b", "id-b")]
        assert "gate reap --run 12" in end.remaining[0].command
        assert "remains" in scene.ears.kinds()

    virtual(main)


def test_informing_legs_are_waited_for_and_change_nothing() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of(plan(["a", informing("b")]))).begin()
        end = await polled(scene, [(3, lambda: scene.finish("a")), (60, lambda: scene.finish("b", ok=False))])
        assert end.exit_code == 0
        assert scene.verdicts()["b"] == ("FAIL", "not_accepted")

    virtual(main)


def test_once_says_undecided_and_a_later_once_decides() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        first = await polled(scene, once=True)
        assert (first.exit_code, first.decision) == (5, None)
        scene.finish("a")
        await anyio.sleep(60)
        assert (await polled(scene, once=True)).exit_code == 5
        scene.finish("b")
        await anyio.sleep(60)
        assert (await polled(scene, once=True)).exit_code == 0
        assert scene.ears.of("resumed_watch")[-1].data == {"gap": 60.0}

    virtual(main)


def test_polling_a_decided_run_again_says_the_same_and_stops_what_is_left() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        scene.engine.stubborn.add("b")
        first = await polled(scene, [(3, lambda: scene.finish("a", ok=False))])
        assert first.remaining
        scene.engine.stubborn.clear()
        again = await polled(scene)
        assert again == PollEnd(first.decision, 1, ())

    virtual(main)


# --- engines and roots that do not answer ------------------------------------------------------------


def test_evidence_counts_while_the_engine_cannot_be_reached() -> None:
    """skypilot#6133: the job succeeded during the outage and was judged failed."""

    async def main() -> None:
        scene = await Scene(attempt_of()).begin()

        async def gone(_: int = 0) -> None:
            raise EngineUnreachable("connection refused")

        scene.engine.on_list = scene.engine.on_get = gone
        end = await polled(scene, both(scene, 20))
        assert end.exit_code == 0
        assert "blind" in scene.ears.kinds()
        assert [left.workload for left in end.remaining] == ["a", "b", UNLISTED]  # named, never leaked silently

    virtual(main)


def test_an_outage_that_lasts_ends_as_not_measured() -> None:
    """skypilot#10157: never on a short outage; a long total one is `not measured`."""

    async def main() -> None:
        scene = await Scene(attempt_of()).begin()

        async def gone(number: int) -> None:
            if number > 2:
                raise EngineUnreachable("connection refused", kind="refused")

        scene.engine.on_list = gone
        scene.pointer("a")
        scene.pointer("b")
        end = await polled(scene)
        assert end.exit_code == 3
        assert scene.verdicts()["a"] == ("ERROR", "api_refused")
        assert scene.ears.of("verdict")[0].elapsed >= 60

    virtual(main)


def test_what_leaves_the_list_is_asked_for_by_its_id() -> None:
    """maestrowf#266: a finished job leaves the list in minutes, and is neither a success nor lost for that."""

    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        end = await polled(scene, [(3, lambda: scene.engine.phases.__delitem__("a"))])
        assert end.exit_code == 3
        assert scene.verdicts()["a"] == ("ERROR", "vanished")
        assert "id-a" in scene.engine.gets

    virtual(main)


def test_a_record_that_is_damaged_meanwhile_changes_no_exit_code_and_what_runs_is_stopped_and_named() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        script = [
            (2, lambda: scene.disk.write(layout.workload(TAG, "b"), b"{")),
            (3, lambda: scene.finish("a", ok=False)),
        ]
        end = await polled(scene, script)
        assert end.exit_code == 1
        assert scene.engine.stops == ["id-b"]
        assert [(left.workload, "gate/workloads" in left.why) for left in end.remaining] == [("b", True)]

    virtual(main)


def test_leases_that_cannot_be_read_change_no_exit_code_and_nothing_is_stopped_that_may_be_kept() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        scene.disk.write(layout.kept(TAG, "b"), b"{")
        end = await polled(scene, [(3, lambda: scene.finish("a", ok=False))])
        assert end.exit_code == 1
        assert [event.kind for event in scene.ears.events].count("decision") == 1
        assert scene.engine.stops == []
        assert [left.workload for left in end.remaining] == ["b"]
        assert "gate/kept" in end.remaining[0].why

    virtual(main)


class Failing:
    """A store whose root fails while `broken`, for keys that contain `only`."""

    def __init__(self, inner: Store, error: type[StoreError] = StoreUnavailable, only: str = "") -> None:
        self.inner = inner
        self.error = error
        self.only = only
        self.broken = False

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        async def call(key: str, *rest: bytes) -> Any:
            if self.broken and self.only in key and (self.only == "" or name in ("create", "replace", "append")):
                raise self.error(f"{name} {key} failed")
            return await method(key, *rest)

        return call


def setter(store: Failing, value: bool) -> Callable[[], None]:
    def act() -> None:
        store.broken = value

    return act


def test_a_verdict_that_cannot_be_written_is_not_announced_and_not_lost() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        store = Failing(MemoryStore(scene.disk), only="verdicts")
        store.broken = True
        script = [(2, lambda: scene.finish("a")), (40, setter(store, False)), (50, lambda: scene.finish("b"))]
        end = await polled(scene, script, changes={"store": store})
        assert end.exit_code == 0
        first = scene.ears.of("verdict")[0]
        assert first.leg == "a"
        assert 40 <= first.elapsed <= 42
        assert first.data["verdict"]["elapsed"] <= 4  # judged when it was readable, told when it was durable

    virtual(main)


def test_a_root_that_is_away_for_a_while_changes_no_verdict() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        store = Failing(MemoryStore(scene.disk))

        def away(value: bool) -> Callable[[], None]:
            def act() -> None:
                store.broken = value
                scene.disk.present = not value

            return act

        script = [(5, away(True)), (90, away(False)), (95, lambda: scene.finish("a")), (95, lambda: scene.finish("b"))]
        end = await polled(scene, script, changes={"store": store})
        assert end.exit_code == 0
        assert "root_blind" in scene.ears.kinds()
        assert "root_seen_again" in scene.ears.kinds()

    virtual(main)


def test_a_journal_that_cannot_be_written_never_stops_judging() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        store = Failing(MemoryStore(scene.disk), StoreFull, only="observations")
        store.broken = True
        end = await polled(scene, both(scene), changes={"store": store})
        assert end.exit_code == 0
        assert scene.verdicts()["a"] == ("PASS", "criteria_met")

    virtual(main)


def test_a_root_that_never_comes_back_ends_as_not_measured_and_names_what_runs() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        store = Failing(MemoryStore(scene.disk), only="verdicts")
        store.broken = True
        end = await polled(scene, [(2, lambda: scene.finish("a", ok=False))], changes={"store": store})
        assert (end.exit_code, end.decision) == (3, None)
        assert [left.workload for left in end.remaining] == ["b"]
        assert scene.ears.of("verdict") == []
        assert scene.ears.of("decision") == []
        assert scene.verdicts() == {}

    virtual(main)


# --- who polls ---------------------------------------------------------------------------------------


def test_of_two_pollers_exactly_one_goes_on() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        ends: list[int] = []
        held: list[str] = []

        async def one() -> None:
            try:
                ends.append((await poll(scene.world(), scene.attempt)).exit_code)
            except RunHeld as error:
                held.append(str(error))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(one)
            await play(both(scene, 30))
        assert ends == [0]
        assert len(held) == 2
        assert "ci-7" in held[0]
        assert len(scene.ears.of("decision")) == 1

    virtual(main)


def test_a_poller_that_is_deposed_stops_at_once_and_writes_nothing_more() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        quiet = Ears()
        async with anyio.create_task_group() as tasks:

            async def old() -> None:
                with pytest.raises(RunHeld, match="poller-2"):
                    await poll(scene.world(reporters=(quiet,)), scene.attempt)

            tasks.start_soon(old)
            await anyio.sleep(5.5)
            tasks.start_soon(play, both(scene, 10))
            end = await poll(scene.world(), scene.attempt, takeover=True)
        assert end.exit_code == 0
        assert quiet.of("verdict") == []

    virtual(main)


def test_a_dead_pollers_run_is_taken_over_after_watching_it() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        dead = lease.fresh("dead", "ci-3", 9, "gate poll 12", 1.0, 0.0)
        await MemoryStore(scene.disk).create(layout.LEASE, documents.dump(dead))
        scene.finish("a")
        scene.finish("b")
        assert (await polled(scene)).exit_code == 0
        told = scene.ears.of("lease_waiting")[0]
        assert "ci-3" in told.text
        assert told.elapsed == 0.0, "before the run is open nothing has elapsed, however long this machine is up"

    virtual(main)


def test_a_reporter_that_fails_or_hangs_never_touches_a_verdict() -> None:
    class Broken(Ears):
        async def emit(self, event: Event) -> None:
            raise RuntimeError("no")

    class Hangs(Ears):
        async def emit(self, event: Event) -> None:
            await anyio.sleep_forever()

    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        end = await polled(scene, both(scene), changes={"reporters": (Broken(), Hangs(), scene.ears)})
        assert end.exit_code == 0
        assert len(scene.ears.of("reporter_failed")) == 2

    virtual(main)


# --- attempts ----------------------------------------------------------------------------------------


def test_a_carried_pass_is_written_under_the_new_tag_and_its_workload_never_asked_for() -> None:
    async def main() -> None:
        first = await Scene(attempt_of()).begin()
        await polled(first, [(1, lambda: first.finish("a")), (3, lambda: first.finish("b", ok=False))])
        run = Run(MemoryStore(first.disk))
        passed = (await run.verdicts(TAG))["a"]
        old = replace(first.attempt, tag="zzzzzzzzzz", attempt=1)
        second = Scene(attempt_of(attempt=2, carried={"a": "zzzzzzzzzz"}, launched=("b",)))
        store = MemoryStore(second.disk)
        await store.create(layout.attempt(1), documents.dump(old))
        await Run(store).write_verdict(replace(passed, tag="zzzzzzzzzz"))
        await Run(store).write_verdict(replace((await run.verdicts(TAG))["b"], tag="zzzzzzzzzz", outcome=Outcome.FAIL))
        await second.begin()
        del second.engine.phases["a"]
        end = await polled(second, [(2, lambda: second.finish("b"))])
        assert end.exit_code == 0
        rows = {row.leg: (row.carried, row.flaky) for row in end.decision.legs} if end.decision else {}
        assert rows == {"a": (True, False), "b": (False, True)}  # bashunit#1040: a pass on retry is shown as flaky

    virtual(main)


def test_refused_and_unclear_creates_have_codes_of_their_own() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        store = MemoryStore(scene.disk)
        for name, note in (("a", "refused: quota"), ("b", "")):
            entry = WorkloadEntry(name, TAG, f"demo-{name}-{TAG}", (name,), "intended", None, 0.0, note)
            await store.replace(layout.workload(TAG, name), documents.dump(entry))
            del scene.engine.phases[name]
        end = await polled(scene, fail_fast=False)
        assert end.exit_code == 3
        assert scene.verdicts() == {"a": ("ERROR", "create_refused"), "b": ("ERROR", "create_unclear")}

    virtual(main)


def test_an_intent_without_an_id_is_found_by_tag_and_name() -> None:
    """inspect_k8s_sandbox#227: a crash between the create request and its id."""

    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        entry = WorkloadEntry("a", TAG, f"demo-a-{TAG}", ("a",), "intended", None, 0.0, "")
        await MemoryStore(scene.disk).replace(layout.workload(TAG, "a"), documents.dump(entry))
        assert (await polled(scene, both(scene))).exit_code == 0

    virtual(main)


# --- newer runs --------------------------------------------------------------------------------------


def test_a_superseded_run_leaves_its_workloads_leased_and_is_never_green() -> None:
    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        end = await polled(scene, changes={"supersede": Newer()})
        assert end.exit_code == 4
        assert end.decision is not None
        assert end.decision.word == "SUPERSEDED"
        kept = await Run(MemoryStore(scene.disk)).kept(TAG)
        assert {lease.holder for lease in kept.values()} == {"12"}
        assert set(kept) == {"a", "b"}
        assert scene.engine.stops == []

    virtual(main)


def test_the_question_is_asked_rarely_and_an_error_means_this_run_goes_on() -> None:
    class Unknown(Newer):
        async def newer(self) -> None:
            self.asked += 1
            raise EngineUnreachable("github is down")

    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        question = Unknown()
        end = await polled(scene, both(scene, 150), changes={"supersede": question})
        assert end.exit_code == 0
        assert question.asked == 3
        assert len(scene.ears.of("supersede_unknown")) == 1

    virtual(main)


def test_views_of_decided_legs_are_not_asked_for() -> None:
    asked: list[tuple[str, ...]] = []

    async def main() -> None:
        scene = await Scene(attempt_of()).begin()
        world = scene.world()

        class Watched:
            async def look(self, queries: Any) -> dict[str, LegView]:
                asked.append(tuple(query.leg for query in queries))
                return dict(await world.legs.look(queries))

        script = [(3.5, lambda: scene.finish("a")), (9.5, lambda: scene.finish("b"))]
        await polled(scene, script, changes={"legs": Watched()})
        assert asked[0] == ("a", "b")
        assert asked[-1] == ("b",)
        assert scene.engine.phases["a"] is Phase.SUCCEEDED

    virtual(main)
