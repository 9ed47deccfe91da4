"""A poller that is killed and started again comes to what it would have come to: fold equals run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.contracts import LegView, NewerRun, Phase, Workload
from gate.errors import DocumentError, StoreFull
from gate.machines import gate
from gate.machines.clock import Now
from gate.machines.gate_state import GateState
from gate.machines.observations import (
    CancelSeen,
    EngineBlind,
    EngineSeen,
    Observation,
    Resumed,
    RootBlind,
    SupersedeSeen,
    Tick,
    VerdictsFound,
)
from gate.machines.verdict import Field, Outcome, Reason, StateView, Verdict
from gate.poll import journal, session
from gate.poll.driver import poll
from gate.poll.journal import Codec, Header
from gate.poll.rules import rules_of
from gate.poll.timeline import Instant, Timeline, first
from gate.rundir import layout
from gate.rundir.journal import line
from gate.rundir.run import Run
from gate.simulate.store import MemoryStore
from tests.dispatch.plans import plan
from tests.poll.test_driver import Failing, setter
from tests.poll.worlds import TAG, Scene, Script, attempt_of, play, virtual

WALL = 1_800_000_000_000


async def fresh() -> Scene:
    return await Scene(attempt_of(plan(["a", "b", "c"]))).begin()


def story(scene: Scene) -> Script:
    """Set-up, progress, a torn file, an end without a result, a pass, a failure that is told late."""
    return [
        (2.5, lambda: scene.pointer("a", phase="setup", state=False)),
        (4.5, lambda: scene.pointer("a", sequence=2)),
        (5.5, lambda: scene.state("a", {"done": False, "gain": 1})),
        (6.5, lambda: scene.state("a", b'{"done": tr')),
        (8.5, lambda: scene.finish("a")),
        (9.5, lambda: scene.engine.phases.__setitem__("c", Phase.FAILED)),
        (17.5, lambda: scene.finish("b")),
    ]


async def undisturbed() -> tuple[Scene, int]:
    scene = await fresh()
    codes: list[int] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(play, story(scene))
        codes.append((await poll(scene.world(), scene.attempt, fail_fast=False)).exit_code)
        tasks.cancel_scope.cancel()
    return scene, codes[0]


async def killed_every(seconds: float, pause: float) -> tuple[Scene, int, int]:
    """Poll, die after `seconds`, be away for `pause`, again, until it ends."""
    scene = await fresh()
    codes: list[int] = []
    lives = 0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(play, story(scene))
        while not codes:
            lives += 1
            with anyio.move_on_after(seconds):
                codes.append((await poll(scene.world(), scene.attempt, fail_fast=False, takeover=True)).exit_code)
            if not codes:
                await anyio.sleep(pause)
        tasks.cancel_scope.cancel()
    return scene, codes[0], lives


@pytest.mark.parametrize("seconds", [0.7, 1.5, 2.5, 3.5, 5.5, 8.5, 11.5])
@pytest.mark.parametrize("pause", [0.0, 3.0])
def test_killed_at_every_tick_it_comes_to_the_same_verdicts(seconds: float, pause: float) -> None:
    async def main() -> None:
        expected, code = await undisturbed()
        scene, found, lives = await killed_every(seconds, pause)
        assert lives > 1
        assert found == code == 3
        assert scene.verdicts() == expected.verdicts()
        assert scene.verdicts() == {
            "a": ("PASS", "criteria_met"),
            "b": ("PASS", "criteria_met"),
            "c": ("ERROR", "ended_without_result"),
        }

    virtual(main)


def test_the_fold_of_the_journal_is_the_state_of_the_poller() -> None:
    """At every tick boundary: what a restart would fold is what the living poller holds."""

    async def main() -> None:
        scene = await fresh()
        states: list[GateState] = []
        real = gate.step

        def spy(state: GateState, observation: Observation, now: Now) -> Any:
            after, actions = real(state, observation, now)
            states.append(after)
            return after, actions

        patched = pytest.MonkeyPatch()
        patched.setattr(gate, "step", spy)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(play, story(scene))
                await poll(scene.world(), scene.attempt, fail_fast=False)
                tasks.cancel_scope.cancel()
        finally:
            patched.undo()
        raw = bytes(scene.disk.files[layout.observations(TAG)])
        found = journal.read(raw, "journal")
        assert found is not None
        codec, past = found
        state = gate.start(codec.header.rules, Instant(0, 0, codec.header.wall).now())
        folded: list[GateState] = []
        for at, observation in past:
            state, _ = gate.step(state, observation, at.now())
            folded.append(state)
        assert len(folded) == len(states) > 15
        assert folded == states

    virtual(main)


def test_an_unchanged_tick_is_a_few_bytes() -> None:
    async def main() -> None:
        scene, _ = await undisturbed()
        lines = bytes(scene.disk.files[layout.observations(TAG)]).splitlines()
        assert min(map(len, lines)) <= 16
        assert sum(len(text) <= 16 for text in lines) >= 5

    virtual(main)


@pytest.mark.parametrize("full_from", [0.0, 4.2])
def test_a_journal_that_lost_lines_to_a_full_disk_is_still_one_and_ends_where_the_poller_is(
    full_from: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More came meanwhile than is kept in memory. The first line is never among what is given up."""
    monkeypatch.setattr(session, "BUFFER", 300)

    async def main() -> None:
        scene = await fresh()
        store = Failing(MemoryStore(scene.disk), StoreFull, only="observations")

        def beat(number: int) -> None:
            scene.pointer("a", sequence=number, phase="setup", state=False)

        script = [(full_from, setter(store, True)), (9.2, setter(store, False))]
        script += [(at / 2, partial(beat, at)) for at in range(1, 16)]
        seen: list[Mapping[str, LegView]] = []
        real = gate.step

        def spy(state: GateState, observation: Observation, now: Now) -> Any:
            if isinstance(observation, Tick) and isinstance(observation.legs, Mapping):
                seen.append(observation.legs)
            return real(state, observation, now)

        monkeypatch.setattr(gate, "step", spy)
        with anyio.move_on_after(12):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(play, script)
                await poll(scene.world(store=store), scene.attempt)
        found = journal.read(bytes(scene.disk.files[layout.observations(TAG)]), "journal")
        assert found is not None
        told = [observation for _, observation in found[1]]
        ticks = [one.legs for one in told if isinstance(one, Tick) and isinstance(one.legs, Mapping)]
        assert len(ticks) < len(seen), "lines were lost"
        assert all(tick in seen for tick in ticks), "and none of those that are there says what never was"
        assert ticks[-1] == seen[-1]

    virtual(main)


def test_the_gap_comes_from_wall_anchors_and_is_never_negative() -> None:
    last = Instant(60_000, 61_000, WALL)
    line_, gap = Timeline.resumed(last, Now(mono=5.0, wall=WALL / 1000 + 30, boot=7.0))
    assert gap == 30
    assert line_.at(Now(mono=6.5, wall=WALL / 1000 + 31.5, boot=8.5)) == Instant(91_500, 92_500, WALL + 31_500)
    set_back, gap = Timeline.resumed(last, Now(mono=5.0, wall=WALL / 1000 - 900, boot=7.0))
    assert gap == 0
    assert set_back.at(Now(mono=6.0, wall=WALL / 1000 - 899, boot=8.0)) == Instant(61_000, 62_000, WALL - 899_000)
    assert first(Now(3.0, WALL / 1000, 4.0)) == Instant(0, 0, WALL)


def test_blind_time_of_a_restart_is_not_charged_as_silence() -> None:
    async def main() -> None:
        made = plan(["a"])
        quiet = replace(made.legs[0], budgets=replace(made.legs[0].budgets, silence=20.0))
        scene = await Scene(attempt_of(replace(made, legs=(quiet,)))).begin()
        scene.pointer("a")
        scene.state("a", {"done": False})
        with anyio.move_on_after(10):
            await poll(scene.world(), scene.attempt)
        await anyio.sleep(100)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(play, [(5.0, lambda: scene.finish("a"))])
            assert (await poll(scene.world(), scene.attempt, takeover=True)).exit_code == 0

    virtual(main)


def test_verdicts_on_disk_win_over_the_fold() -> None:
    async def main() -> None:
        scene = await fresh()
        with anyio.move_on_after(3):
            await poll(scene.world(), scene.attempt)
        other = Verdict("a", True, Outcome.FAIL, Reason.LIMIT_EXCEEDED, "by another poller", TAG, 1, 1.0, 1.0, None)
        await Run(MemoryStore(scene.disk)).write_verdict(other)
        scene.finish("a")
        end = await poll(scene.world(), scene.attempt, takeover=True)
        assert end.exit_code == 1
        assert scene.verdicts()["a"] == ("FAIL", "limit_exceeded")
        assert scene.ears.of("verdict")[0].data["again"] is True

    virtual(main)


def test_a_verdict_that_was_decided_and_not_written_is_written_by_the_next_poller() -> None:
    async def main() -> None:
        scene, _ = await undisturbed()
        for key in scene.disk.below("gate/verdicts") + scene.disk.below("gate/decisions"):
            scene.disk.delete(key)  # as if it had been killed right after the journal
        scene.ears.events.clear()
        expected, code = await undisturbed()
        assert (await poll(scene.world(), scene.attempt, fail_fast=False)).exit_code == code
        assert scene.verdicts() == expected.verdicts()
        assert [event.data["again"] for event in scene.ears.of("verdict")] == [False, False, False]

    virtual(main)


def test_a_lost_journal_keeps_the_decision_that_is_on_disk() -> None:
    async def main() -> None:
        scene, code = await undisturbed()
        scene.disk.delete(layout.observations(TAG))
        assert (await poll(scene.world(), scene.attempt)).exit_code == code

    virtual(main)


@pytest.mark.parametrize("cut", [1, 5, 40])
def test_a_torn_tail_of_the_journal_is_dropped(cut: int) -> None:
    async def main() -> None:
        scene = await fresh()
        scene.finish("a")
        with anyio.move_on_after(3.5):
            await poll(scene.world(), scene.attempt)
        key = layout.observations(TAG)
        scene.disk.write(key, bytes(scene.disk.files[key])[:-cut])
        scene.finish("b")
        scene.finish("c")
        assert (await poll(scene.world(), scene.attempt, takeover=True)).exit_code == 0

    virtual(main)


BROKEN = [
    (b"[1,0,0,0]\n", "expected a journal of observations"),
    (b'{"format":"gate.verdict"}\n', "expected a journal of observations"),
    (b'{"format":"gate.observations","format_version":7}\n', "version 7 is not the one"),
    (b'{"format":"gate.observations","format_version":1,"wall":"now","rules":{}}\n', "time of the first poll"),
    (b'{"format":"gate.observations","format_version":1,"wall":1,"rules":{}}\n', "GateRules"),
    (b"HEAD[1,0,0]\n", "not an observation"),
    (b"HEAD[1,0,0,0]\n", "not an observation"),
    (b'HEAD[1,0,0,0,{"s":{"w":{}}}]\n', "not an observation"),
    (b'HEAD[1,0,0,0,{"cancel":1}]\n{torn}\n[3,0,0,0]\n', "line 3: not JSON"),
    (b'HEAD"hello"\n', "not an observation"),
]


@pytest.mark.parametrize(("raw", "words"), BROKEN, ids=[row[1] + str(n) for n, row in enumerate(BROKEN)])
def test_a_damaged_journal_is_a_clear_error_and_is_left_alone(raw: bytes, words: str) -> None:
    async def main() -> None:
        scene = await fresh()
        rules = await rules_of(Run(MemoryStore(scene.disk)), scene.attempt, list_lag=0.0)
        whole = raw.replace(b"HEAD", Codec(Header(rules, WALL)).head())
        scene.disk.write(layout.observations(TAG), whole)
        with pytest.raises(DocumentError) as caught:
            await poll(scene.world(), scene.attempt)
        assert words in caught.value.message
        assert "gate/observations" in caught.value.message
        assert bytes(scene.disk.files[layout.observations(TAG)]) == whole

    virtual(main)


# --- the codec ---------------------------------------------------------------------------------------

WORKLOADS = st.dictionaries(
    st.sampled_from("abc"),
    st.builds(
        Workload,
        st.sampled_from(["id-1", "id-2"]),
        st.just("n"),
        st.just(TAG),
        st.just("12"),
        st.just("main"),
        st.sampled_from(Phase),
        message=st.text(max_size=3),
        queue_position=st.none() | st.integers(0, 3),
    ),
)
FIELDS = st.dictionaries(
    st.sampled_from(["done", "gain"]),
    st.builds(
        Field,
        st.just("value"),
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    ),
)
STATES = st.builds(StateView, st.sampled_from(["absent", "ok", "torn"]), st.text(max_size=2), fields=FIELDS)
VIEWS = st.dictionaries(
    st.sampled_from("abc"),
    st.builds(
        LegView,
        incarnations=st.sampled_from([(), ("1-x",), ("1-x", "2-y")]),
        state=STATES,
        problem=st.text(max_size=2),
        stamp=st.sampled_from(["", "1", "2"]),
    ),
)
ENGINES = st.builds(EngineSeen, WORKLOADS, st.booleans(), st.sampled_from([(), ("a",)])) | st.builds(
    EngineBlind, st.sampled_from(["refused", "gone"]), st.text(max_size=3)
)
VERDICTS = st.builds(
    Verdict,
    st.sampled_from("abc"),
    st.booleans(),
    st.sampled_from(Outcome),
    st.sampled_from(Reason),
    st.text(max_size=3),
    st.just(TAG),
    st.just(1),
    st.just(1.5),
    st.just(2.0),
    st.none(),
)
OBSERVATIONS = (
    st.builds(Tick, ENGINES, VIEWS | st.builds(RootBlind, st.text(max_size=3)))
    | st.builds(Resumed, st.floats(0, 1e6))
    | st.builds(CancelSeen, st.sampled_from([2, 15]))
    | st.builds(SupersedeSeen, st.builds(NewerRun, st.text(max_size=3), st.just("c"), st.just("u")))
    | st.builds(VerdictsFound, st.lists(VERDICTS, max_size=2).map(tuple))
)


async def some_header() -> Header:
    scene = await fresh()
    return Header(await rules_of(Run(MemoryStore(scene.disk)), scene.attempt, list_lag=3.0), WALL)


HEADER = anyio.run(some_header)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(st.tuples(OBSERVATIONS, st.integers(0, 10**9), st.integers(-5, 5), st.integers(-(10**6), 10**6))),
    st.sets(st.integers(0, 20)),
    st.sets(st.integers(0, 20)),
)
def test_what_is_written_is_what_is_read(
    steps: list[tuple[Observation, int, int, int]], twice: set[int], full: set[int]
) -> None:
    """Also where lines were written twice around a hang, and where the writer began anew after losing some."""
    codec = Codec(HEADER)
    raw = codec.head()
    expected: list[tuple[Instant, Observation]] = []
    for number, (observation, mono, boot, wall) in enumerate(steps):
        if number in full:
            codec.restart()
        at = Instant(mono, mono + boot, WALL + mono + wall)
        text = codec.encode(observation, at)
        raw += text * (2 if number in twice else 1)
        expected.append((at, observation))
    found = journal.read(raw, "j")
    assert found is not None
    assert found[0].header == HEADER
    assert list(found[1]) == expected


def test_an_older_line_after_a_newer_one_is_dropped() -> None:
    codec = Codec(HEADER)
    raw = (
        codec.head()
        + codec.encode(CancelSeen(2), Instant(0, 0, WALL))
        + codec.encode(CancelSeen(15), Instant(5, 5, WALL))
    )
    found = journal.read(raw + line([1, 0, 0, 0, {"cancel": 9}]) + codec.head(), "j")
    assert found is not None
    seen: list[Mapping[str, Any] | Observation] = [observation for _, observation in found[1]]
    assert seen == [CancelSeen(2), CancelSeen(15)]


def folded(scene: Scene) -> gate.GateState:
    """The fold of the journal with its own rules: what a replay sees."""
    key = layout.observations(TAG)
    found = journal.read(bytes(scene.disk.files[key]), key)
    assert found is not None
    codec, past = found
    state = gate.start(codec.header.rules, Instant(0, 0, codec.header.wall).now())
    for at, observation in past:
        state, _ = gate.step(state, observation, at.now())
    return state


def test_what_the_next_poller_is_told_holds_from_then_on_and_is_recorded() -> None:
    async def main() -> None:
        scene = await fresh()
        scene.finish("a", ok=False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(poll, scene.world(), scene.attempt, fail_fast=False))
            await anyio.sleep(10)
            tasks.cancel_scope.cancel()
        assert scene.verdicts() == {"a": ("FAIL", "not_accepted")}
        scene.finish("b")
        end = await poll(scene.world(), scene.attempt, interval=7.0, fail_fast=True, takeover=True)
        assert end.exit_code == 1
        assert scene.verdicts() == {
            "a": ("FAIL", "not_accepted"),
            "b": ("PASS", "criteria_met"),  # judged before anything is left unjudged
            "c": ("NOT_JUDGED", "fail_fast"),
        }
        state = folded(scene)
        assert (state.rules.poll.interval, state.rules.fail_fast) == (7.0, True)
        assert state.decision == end.decision

    virtual(main)


def test_a_poller_that_is_told_nothing_goes_on_as_before() -> None:
    async def main() -> None:
        scene = await fresh()
        scene.finish("a", ok=False)
        assert (await poll(scene.world(), scene.attempt, once=True, fail_fast=False)).exit_code == 5
        assert (await poll(scene.world(), scene.attempt, once=True)).exit_code == 5
        assert folded(scene).rules.fail_fast is False

    virtual(main)
