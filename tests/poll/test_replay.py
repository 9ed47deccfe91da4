"""A recorded attempt folded again: what agrees, what differs and in what, and what cannot be replayed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio
import pytest

from gate import documents
from gate.errors import DocumentError, StoreError, StoreFull, StoreUnavailable, UsageError
from gate.machines.gate_derive import judged
from gate.machines.gate_state import Ages, Finding, LegState
from gate.machines.verdict import Outcome, Reason, Verdict
from gate.poll.driver import poll
from gate.poll.replay import Compared, Replay, replay_run
from gate.rundir import layout
from gate.rundir.formats import Decision
from gate.rundir.run import Run
from gate.simulate.store import MemoryStore
from tests.dispatch.plans import plan
from tests.poll.test_driver import Failing, setter
from tests.poll.worlds import TAG, Scene, attempt_of, play, virtual

JOURNAL = layout.observations(TAG)


async def scene_of(*legs: str) -> Scene:
    return await Scene(attempt_of(plan(list(legs or ("a", "b"))))).begin()


async def polled(scene: Scene, fail_fast: bool | None = None) -> None:
    """Two legs of which a fails late and b passes early."""
    script = [
        (2.5, lambda: scene.pointer("a")),
        (3.5, lambda: scene.finish("b")),
        (9.5, lambda: scene.finish("a", ok=False)),
    ]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(play, script)
        await poll(scene.world(), scene.attempt, fail_fast=fail_fast)
        tasks.cancel_scope.cancel()


async def replayed(scene: Scene, number: int | None = None) -> Replay:
    (found,) = await replay_run(Run(MemoryStore(scene.disk)), number)
    return found


def legs(found: Replay) -> dict[str, Compared]:
    return {each.leg: each for each in found.legs}


def in_virtual_time(work: Callable[[], Awaitable[None]]) -> None:
    virtual(work)


def change(scene: Scene, leg: str, **changes: object) -> None:
    """Another gate wrote another verdict."""
    key = layout.verdict(TAG, leg)
    verdict = documents.load(Verdict, bytes(scene.disk.files[key]), key)
    scene.disk.write(key, documents.dump(replace(verdict, **changes)))  # type: ignore[arg-type]


def test_what_was_recorded_comes_out_again() -> None:
    async def main() -> None:
        scene = await scene_of()
        await polled(scene)
        before = {key: bytes(raw) for key, raw in scene.disk.files.items()}
        found = await replayed(scene)
        assert found.agrees
        assert (found.run, found.attempt, found.tag) == ("12", 1, TAG)
        a, b = found.legs
        assert a.recorded == a.replayed
        assert a.recorded is not None
        assert b.recorded is not None
        assert a.recorded.observation == found.observations, "the loss was decided at the last one"
        assert b.recorded.observation is not None
        assert b.recorded.observation < found.observations
        assert found.recorded == found.replayed
        assert {key: bytes(raw) for key, raw in scene.disk.files.items()} == before, "nothing is written"

    in_virtual_time(main)


def test_restarts_make_no_difference() -> None:
    async def main() -> None:
        scene = await scene_of()
        for seconds in (1.2, 3.4, 2.0):
            with anyio.move_on_after(seconds):
                await poll(scene.world(), scene.attempt, takeover=True)
            await anyio.sleep(40)
            scene.pointer("a", sequence=int(seconds * 10))
        scene.finish("a")
        scene.finish("b")
        await poll(scene.world(), scene.attempt, takeover=True)
        found = await replayed(scene)
        assert found.agrees
        assert found.recorded is not None
        assert found.recorded.word == "GO"
        assert found.seconds > 120

    in_virtual_time(main)


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({"outcome": Outcome.PASS, "reason": Reason.CRITERIA_MET}, ("outcome", "reason")),
        ({"reason": Reason.LIMIT_EXCEEDED}, ("reason",)),
        ({"blocking": False}, ("blocking",)),
        ({"flaky": True}, ("flaky",)),
        ({"carried_from": "zzzzzzzzzz"}, ("carried",)),
        ({"evidence": None}, ("evidence",)),
        ({"elapsed": 1.0}, ("moment",)),
    ],
)
def test_a_verdict_that_differs_says_in_what(changes: dict[str, object], differs: tuple[str, ...]) -> None:
    async def main() -> None:
        scene = await scene_of()
        await polled(scene)
        change(scene, "a", **changes)
        found = await replayed(scene)
        assert not found.agrees
        assert legs(found)["a"].differs == differs
        assert legs(found)["b"].differs == ()
        assert found.decision_differs == ()

    in_virtual_time(main)


def test_other_words_are_no_other_verdict() -> None:
    async def main() -> None:
        scene = await scene_of()
        await polled(scene)
        change(scene, "a", sentence="it was not good", rules=())
        found = await replayed(scene)
        assert found.agrees
        assert legs(found)["a"].note == "in other words"

    in_virtual_time(main)


def test_a_rule_that_decides_otherwise_today(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        scene = await scene_of()
        await polled(scene)

        def lenient(leg: LegState, ages: Ages) -> Finding:
            return replace(judged(leg, ages), outcome=Outcome.PASS, reason=Reason.CRITERIA_MET)

        monkeypatch.setattr("gate.machines.gate_conclude.judged", lenient)
        found = await replayed(scene)
        a = legs(found)["a"]
        assert a.differs == ("outcome", "reason")
        assert a.recorded is not None
        assert a.replayed is not None
        assert a.recorded.observation == a.replayed.observation
        assert found.decision_differs == ("word", "exit code", "legs")

    in_virtual_time(main)


def test_a_rule_that_decides_later_than_the_record_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        scene = await scene_of()
        await polled(scene)
        monkeypatch.setattr("gate.machines.gate.conclude", lambda leg, *_: (leg, None, None))
        found = await replayed(scene)
        a = legs(found)["a"]
        assert (a.differs, a.replayed) == (("judged",), None)
        assert found.decision_differs == ("decided",)

    in_virtual_time(main)


def test_a_verdict_whose_observation_was_lost_is_not_replayed_and_no_difference() -> None:
    async def main() -> None:
        scene = await scene_of()
        with anyio.move_on_after(2.5):
            await poll(scene.world(), scene.attempt)
        kept = bytes(scene.disk.files[JOURNAL])
        scene.finish("b")
        with anyio.move_on_after(2.5):
            await poll(scene.world(), scene.attempt, takeover=True)
        assert scene.verdicts() == {"b": ("PASS", "criteria_met")}
        scene.disk.write(JOURNAL, kept)  # the root lost what was appended last
        scene.finish("a")
        await poll(scene.world(), scene.attempt, takeover=True)
        found = await replayed(scene)
        assert found.agrees
        b = legs(found)["b"]
        assert b.recorded is not None
        assert (b.recorded.observation, b.replayed) == (None, None)
        assert "what it rests on was not recorded" in b.note

    in_virtual_time(main)


def test_a_poller_that_died_before_it_wrote_is_no_difference() -> None:
    async def main() -> None:
        scene = await scene_of()
        await polled(scene)
        for key in (layout.verdict(TAG, "a"), layout.decision(TAG)):
            scene.disk.delete(key)
        found = await replayed(scene)
        assert found.agrees
        assert legs(found)["a"].note == "not written down yet"
        scene.disk.write(JOURNAL, bytes(scene.disk.files[JOURNAL]) + b"[900,20000,0,0]\n")
        assert legs(await replayed(scene))["a"].differs == ("judged",), "observed on, and never judged"

    in_virtual_time(main)


def test_a_leg_that_is_not_judged_on_either_side() -> None:
    async def main() -> None:
        scene = await scene_of()
        await poll(scene.world(), scene.attempt, once=True)
        found = await replayed(scene)
        assert found.agrees
        assert {each.note for each in found.legs} == {"not judged"}

    in_virtual_time(main)


def test_a_decision_that_differs() -> None:
    async def main() -> None:
        scene = await scene_of()
        await polled(scene)
        key = layout.decision(TAG)
        decision = documents.load(Decision, bytes(scene.disk.files[key]), key)
        scene.disk.write(key, documents.dump(replace(decision, word="GO", exit_code=0)))
        assert (await replayed(scene)).decision_differs == ("word", "exit code")

    in_virtual_time(main)


@pytest.mark.parametrize("error", [StoreFull, StoreUnavailable])
def test_what_decided_while_nothing_could_be_written_is_recorded_beside_its_verdict(error: type[StoreError]) -> None:
    """A disk that was full at the deciding tick had left the verdicts without the observations that led to them."""

    async def main() -> None:
        scene = await scene_of()
        store = Failing(MemoryStore(scene.disk), error)
        script = [
            (5.0, setter(store, True)),
            (6.0, lambda: scene.finish("a")),
            (7.0, lambda: scene.finish("b")),
            (40.0, setter(store, False)),
        ]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(play, script)
            world = scene.world(store=store)
            assert (await poll(world, scene.attempt)).exit_code == 0
            tasks.cancel_scope.cancel()
        found = await replayed(scene)
        assert found.agrees
        assert {each.replayed is not None for each in found.legs} == {True}

    in_virtual_time(main)


# --- what cannot be replayed -------------------------------------------------------------------------


def broken(spoil: Callable[[bytes], bytes]) -> None:
    async def main() -> None:
        scene = await scene_of()
        await polled(scene)
        scene.disk.write(JOURNAL, spoil(bytes(scene.disk.files[JOURNAL])))
        await replayed(scene)

    in_virtual_time(main)


def test_a_torn_tail_is_dropped() -> None:
    broken(lambda raw: raw + b'[99,12,0,{"l":')


def test_a_torn_middle_is_an_error_that_names_the_line() -> None:
    with pytest.raises(DocumentError, match=r"abcdefghij\.jsonl, line 3: not JSON"):
        broken(lambda raw: b"\n".join([*raw.split(b"\n")[:2], b"[2,1000,0,", *raw.split(b"\n")[3:]]))


def test_a_line_that_is_no_observation_is_an_error() -> None:
    with pytest.raises(DocumentError, match="not an observation"):
        broken(lambda raw: raw + b'[900,1,0,0,{"l":{"a":null,"zz":null}}]\n')


def test_a_newer_journal_is_refused() -> None:
    with pytest.raises(DocumentError, match=r"version 2 is not the one this gate reads \(1\)") as caught:
        broken(lambda raw: raw.replace(b'"format_version":1', b'"format_version":2', 1))
    assert "newer" in caught.value.hint


def test_a_newer_verdict_is_refused() -> None:
    async def main() -> None:
        scene = await scene_of()
        await polled(scene)
        key = layout.verdict(TAG, "a")
        raw = bytes(scene.disk.files[key]).replace(b'"format_version": 1', b'"format_version": 2', 1)
        scene.disk.write(key, raw)
        with pytest.raises(DocumentError, match="newer than this gate reads"):
            await replayed(scene)

    in_virtual_time(main)


@pytest.mark.parametrize("begun", [False, True])
def test_a_run_that_nobody_polled_has_nothing_to_replay(begun: bool) -> None:
    async def main() -> None:
        scene = await scene_of()
        if begun:
            scene.disk.write(JOURNAL, b'{"format":"gate.obser')  # its poller died at its first write
        with pytest.raises(UsageError, match="no observations to replay: nobody has polled it yet"):
            await replayed(scene)
        with pytest.raises(UsageError, match=r"--attempt 3: the run has no such attempt") as caught:
            await replayed(scene, 3)
        assert caught.value.hint == "There are: 1."

    in_virtual_time(main)


def test_every_polled_attempt_is_replayed_or_the_one_that_was_asked_for() -> None:
    async def main() -> None:
        scene = await scene_of()
        await polled(scene)
        second = replace(
            scene.attempt, attempt=2, tag="bbbbbbbbbb", carried={"b": TAG}, adopted={"a": TAG}, launched=()
        )
        store = MemoryStore(scene.disk)
        await store.create(layout.attempt(2), documents.dump(second))
        run = Run(store)
        assert [each.attempt for each in await replay_run(run)] == [1], "the second was not polled yet"
        with pytest.raises(UsageError, match="attempt 2 of the run has no observations"):
            await replay_run(run, 2)
        await poll(scene.world(), second, once=True)
        both = await replay_run(run)
        assert [each.attempt for each in both] == [1, 2]
        assert all(each.agrees for each in both)
        carried = legs(both[1])["b"]
        assert carried.replayed is not None
        assert carried.replayed.verdict.carried_from == TAG
        (only,) = await replay_run(run, 2)
        assert only == both[1]

    in_virtual_time(main)
