"""Random agents, runs and faults: what must hold of every leg, whatever happens."""

from __future__ import annotations

import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.contracts import TurnEnd
from gate.simulate.agent import SimTurn
from gate.simulate.commands import SimRun
from gate.simulate.legworld import SimLegWorld
from tests.bootstrap.legs import Ran, agent_leg, command_leg, run_leg

RUNS = st.builds(
    SimRun,
    delay=st.floats(1, 2000),
    every=st.floats(1, 2000),
    writes=st.integers(0, 4),
    final=st.sampled_from([{"done": True, "stop_reason": "converged"}, {"done": False}, {"done": "yes"}]),
    rel=st.sampled_from(["session/run/state.json", "session/other/state.json", "session/state.json"]),
    exit_code=st.sampled_from([0, 1, 137]),
    goes_on=st.sampled_from([0.0, 5000.0]),
    installs=st.booleans(),
)
TURNS = st.builds(
    SimTurn,
    seconds=st.floats(0, 3000),
    end=st.sampled_from(list(TurnEnd)),
    claims=st.booleans(),
    changes=st.integers(0, 2),
    launches=st.none() | RUNS,
    loses_session=st.booleans(),
    cost=st.none() | st.floats(0, 2),
)
SCRIPTS = st.fixed_dictionaries(
    {
        kind: st.lists(TURNS, min_size=1, max_size=4).map(tuple)
        for kind in ("setup", "nudge", "task", "finish_launch", "redrive")
    }
)
BLINDS = st.lists(st.tuples(st.floats(0, 4000), st.floats(1, 3000)), max_size=2)
STOPS = st.none() | st.floats(0, 8000)
STEADY = settings(max_examples=150, deadline=None)


def meddling(blinds: list[tuple[float, float]], stop: float | None) -> object:
    async def meddle(world: SimLegWorld) -> None:
        async with trio.open_nursery() as nursery:
            if stop is not None:
                nursery.start_soon(_stop, world, stop)
            for after, lasting in blinds:
                await trio.sleep(after)
                world.home.blind = True
                world.home.wake()
                await trio.sleep(lasting)
                world.home.see_again()

    return meddle


async def _stop(world: SimLegWorld, at: float) -> None:
    await trio.sleep(at)
    world.signals.send(15, 2.5)


def check(ran: Ran, stop: float | None) -> None:
    leg, budgets, result = ran.world.leg, ran.world.leg.budgets, ran.result
    assert ran.seconds <= budgets.prepare + budgets.setup + budgets.task + budgets.wait_margin
    if stop is not None and ran.seconds > stop:
        assert ran.seconds - stop <= 2.5
    assert result.turns <= leg.max_turns
    assert result.redrives <= leg.redrives
    assert result.recaps <= 4
    assert (result.outcome == "finished") == (result.reason is None)
    assert result.sentence
    ends = [e for e in ran.world.home.journal for a in e.get("actions", ()) if a["kind"] == "Finish"]
    assert len(ends) <= 1
    if ran.world.agent is not None:
        calls = ran.agent.called
        assert not ran.agent.overlapped
        assert [call.request.ordinal for call in calls] == list(range(1, len(calls) + 1))
        started = [call.request.session for call in calls if not call.request.resume]
        assert len(started) == len(set(started))
        assert sum(call.kind == "finish_launch" for call in calls) <= leg.launches + result.recaps + 40


@given(SCRIPTS, BLINDS, STOPS)
@STEADY
def test_agent_legs(
    script: dict[str, tuple[SimTurn, ...]], blinds: list[tuple[float, float]], stop: float | None
) -> None:
    leg = agent_leg(turn=1000, stall=700, setup=2500, task=6000, max_turns=25, wait_margin=300)
    ran = run_leg(leg, script, meddle=meddling(blinds, stop))  # type: ignore[arg-type]
    check(ran, stop)


@given(RUNS, BLINDS, STOPS)
@STEADY
def test_command_legs(run: SimRun, blinds: list[tuple[float, float]], stop: float | None) -> None:
    def prepare(world: SimLegWorld) -> None:
        world.commands.command = run

    ran = run_leg(command_leg(task=6000), setup=prepare, meddle=meddling(blinds, stop))  # type: ignore[arg-type]
    check(ran, stop)
    assert ran.world.commands.started <= 1
    if ran.result.outcome == "finished":
        assert run.final.get("done") is True


@given(st.floats(0, 5000), st.floats(10, 4000))
@STEADY
def test_blind_time_is_never_charged(after: float, lasting: float) -> None:
    """A run whose every seen quiet is shorter than the stall budget is not re-driven, wherever the blindness falls."""
    steady = SimTurn(seconds=10, launches=SimRun(delay=100, every=600, writes=14))
    ran = run_leg(agent_leg(stall=700, task=20000), {"task": (steady,)}, meddle=meddling([(after, lasting)], None))  # type: ignore[arg-type]
    assert "redrive" not in ran.kinds
    assert ran.result.outcome == "finished"
