"""What every agent keeps of the contract, the real Claude CLI and the simulated one alike."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
import pytest

from gate.contracts import Agent, TurnEnd, TurnOutcome, TurnRequest
from tests.conformance.agent_kits import ANSWER, KITS, Act, Kit

SLACK = 8.0
"""Seconds that ending a turn may take beyond its budget."""


@pytest.fixture(params=KITS, ids=lambda kit: kit.name.replace(" ", "_"))
def kit(request: pytest.FixtureRequest) -> Kit:
    found: Kit = request.param
    return found


def asked(
    session: str, ordinal: int = 1, *, resume: bool = False, budget: float = 60.0, probe: float = 0.0
) -> TurnRequest:
    return TurnRequest(ordinal, "Go.", session, resume, budget, probe)


def play(kit: Kit, path: Path, acts: Sequence[Act], story: Callable[[Agent, str], Awaitable[None]]) -> None:
    """Run `story` with an agent that does `acts`, turn by turn, and the id of a session."""

    async def main() -> None:
        async with kit.open(path, acts) as agent:
            await story(agent, str(uuid.uuid4()))

    anyio.run(main, **kit.backend())


def test_it_names_its_kind_and_version(kit: Kit, tmp_path: Path) -> None:
    async def story(agent: Agent, _: str) -> None:
        assert agent.kind == kit.name.split()[0]
        assert await agent.version()

    play(kit, tmp_path, (), story)


def test_a_turn_and_the_one_that_resumes_it(kit: Kit, tmp_path: Path) -> None:
    async def story(agent: Agent, session: str) -> None:
        for outcome in (await agent.turn(asked(session)), await agent.turn(asked(session, 2, resume=True))):
            assert (outcome.end, outcome.exit_code, outcome.session) == (TurnEnd.COMPLETED, 0, session)
            assert outcome.text.strip() == ANSWER
            assert outcome.detail == ""

    play(kit, tmp_path, ("answer", "answer"), story)


@pytest.mark.parametrize(("act", "end"), [("empty", TurnEnd.EMPTY), ("fail", TurnEnd.FAILED), ("die", TurnEnd.KILLED)])
def test_a_bad_turn_is_an_outcome_and_the_session_goes_on(kit: Kit, tmp_path: Path, act: Act, end: TurnEnd) -> None:
    async def story(agent: Agent, session: str) -> None:
        outcome = await agent.turn(asked(session))
        assert outcome.end is end
        assert outcome.detail
        assert (await agent.turn(asked(session, 2, resume=True))).end is TurnEnd.COMPLETED

    play(kit, tmp_path, (act, "answer"), story)


def test_a_conversation_that_does_not_exist(kit: Kit, tmp_path: Path) -> None:
    async def story(agent: Agent, session: str) -> None:
        outcome = await agent.turn(asked(session, resume=True))
        assert outcome.end is TurnEnd.SESSION_LOST
        assert outcome.detail

    play(kit, tmp_path, (), story)


def test_an_id_is_used_up_by_a_turn_that_failed_too(kit: Kit, tmp_path: Path) -> None:
    async def story(agent: Agent, session: str) -> None:
        assert (await agent.turn(asked(session))).end is TurnEnd.FAILED
        outcome = await agent.turn(asked(session, 2))
        assert outcome.end is TurnEnd.SESSION_USED
        assert outcome.detail

    play(kit, tmp_path, ("fail",), story)


async def timed(agent: Agent, request: TurnRequest) -> tuple[TurnOutcome, float]:
    began = anyio.current_time()
    outcome = await agent.turn(request)
    return outcome, anyio.current_time() - began


def test_a_hang_ends_with_its_budget_and_is_resumed(kit: Kit, tmp_path: Path) -> None:
    async def story(agent: Agent, session: str) -> None:
        outcome, seconds = await timed(agent, asked(session, budget=kit.begun))
        assert outcome.end is TurnEnd.TIMED_OUT
        assert kit.begun <= seconds < kit.begun + SLACK
        assert (await agent.turn(asked(session, 2, resume=True))).end is TurnEnd.COMPLETED

    play(kit, tmp_path, ("hang", "answer"), story)


def test_cc75613_a_hang_at_the_start_is_told_apart(kit: Kit, tmp_path: Path) -> None:
    async def story(agent: Agent, session: str) -> None:
        outcome, seconds = await timed(agent, asked(session, budget=60.0, probe=1.0))
        assert outcome.end is TurnEnd.NO_START
        assert 1.0 <= seconds < 1.0 + SLACK

    play(kit, tmp_path, ("mute",), story)


def test_cancelling_ends_the_turn(kit: Kit, tmp_path: Path) -> None:
    async def story(agent: Agent, session: str) -> None:
        with anyio.move_on_after(kit.begun) as scope:
            await agent.turn(asked(session))
        assert scope.cancelled_caught
        began = anyio.current_time()
        # It is free again, and the conversation is there.
        assert (await agent.turn(asked(session, 2, resume=True))).end is TurnEnd.COMPLETED
        assert anyio.current_time() - began < SLACK

    play(kit, tmp_path, ("hang", "answer"), story)
