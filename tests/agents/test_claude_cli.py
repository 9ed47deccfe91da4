"""The real Claude CLI against a scripted Messages API on loopback."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from gate.agents.claude import ClaudeAgent
from gate.contracts import TurnEnd, TurnOutcome, TurnRequest
from gate.errors import AgentError
from gate.plan.model import AgentPlan
from tests.agents.places import SECRET, Place, make_place, request, runs
from tests.tools.claude_cli import VERSION
from tests.tools.messages_api import MessagesApi, bash, half, hang, kill_cli, status, text

COST = 0.000184
"""USD of one answer with the usage that the scripted API reports, by the CLI's own price list."""


@pytest.fixture
def place(tmp_path: Path, api: MessagesApi) -> Place:
    return make_place(tmp_path, api.env)


@pytest.fixture
def agent(place: Place, claude_program: Path) -> ClaudeAgent:
    return ClaudeAgent(AgentPlan("claude", VERSION, {"executable": str(claude_program)}), place.agent)


def turn(agent: ClaudeAgent, asked: TurnRequest) -> TurnOutcome:
    return anyio.run(agent.turn, asked)


def follow(first: TurnRequest, ordinal: int, prompt: str, budget: float = 60.0) -> TurnRequest:
    return request(prompt, ordinal=ordinal, session=first.session, resume=True, budget=budget)


def eventually(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_it_converges_over_three_turns(agent: ClaudeAgent, place: Place, api: MessagesApi) -> None:
    api.script(
        [
            text("Working on it."),
            bash("echo done > ready"),
            text("Nearly.", cache_read_input_tokens=100),
            text("All is set up.\n\nGATE-SETUP-COMPLETE g/l"),
        ]
    )
    first = request("ALPHA\nsecond line")
    outcomes = [
        turn(agent, first),
        turn(agent, follow(first, 2, "BRAVO")),
        turn(agent, follow(first, 3, "CHARLIE")),
    ]
    assert [outcome.end for outcome in outcomes] == [TurnEnd.COMPLETED] * 3
    assert [outcome.session for outcome in outcomes] == [first.session] * 3
    assert outcomes[2].text.splitlines()[-1] == "GATE-SETUP-COMPLETE g/l"
    assert (place.workspace / "ready").read_text() == "done\n"
    assert api.prompts() == ["ALPHA\nsecond line", "BRAVO", "CHARLIE"]
    # The CLI's total is of the whole conversation; each outcome is of its turn alone.
    assert [outcome.cost_usd for outcome in outcomes if outcome.cost_usd is not None] == pytest.approx(
        [COST, 2 * COST + 0.00005, COST], rel=0.2
    )
    usages = [outcome.usage for outcome in outcomes]
    assert [(u.input_tokens, u.output_tokens) for u in usages if u] == [(11, 7), (122, 14), (11, 7)]
    assert "=== turn 2 resumes session" in place.transcript
    assert "> BRAVO" in place.transcript
    assert "[Bash]" in place.transcript


def test_cc38516_a_hang_is_ended_and_the_conversation_goes_on(
    agent: ClaudeAgent, api: MessagesApi, pids: Callable[[str], int]
) -> None:
    """cc#38516, cc#35262: `--print` hangs for ever."""
    api.script([bash("tail -f /dev/null & echo $! > tool; wait"), text("back again")])
    first = request("ALPHA", budget=4.0)
    began = time.monotonic()
    outcome = turn(agent, first)
    assert outcome.end is TurnEnd.TIMED_OUT
    assert 4.0 <= time.monotonic() - began < 10.0
    assert not runs(pids("tool"))
    assert turn(agent, follow(first, 2, "BRAVO")).text == "back again"
    assert api.prompts()[-1].endswith("BRAVO")


def test_silence_of_the_model_is_ended(agent: ClaudeAgent, api: MessagesApi) -> None:
    api.script([half("I will now think ab", 60)])
    first = request(budget=4.0, probe=3.5)
    outcome = turn(agent, first)
    assert (outcome.end, outcome.exit_code) == (TurnEnd.TIMED_OUT, 143)
    assert turn(agent, follow(first, 2, "BRAVO")).end is TurnEnd.COMPLETED


def test_429_on_the_first_turn_is_only_a_bad_turn(agent: ClaudeAgent, place: Place, api: MessagesApi) -> None:
    api.script([status(429, f"slow down {SECRET}"), text("now it works")])
    first = request("ALPHA")
    outcome = turn(agent, first)
    assert outcome.end is TurnEnd.FAILED
    assert outcome.detail == "api_error 429, exit code 1: API Error: Request rejected (429) · slow down ***TOKEN***"
    assert SECRET not in place.transcript
    assert turn(agent, first).end is TurnEnd.SESSION_USED
    outcome = turn(agent, follow(first, 2, "BRAVO"))
    assert (outcome.end, outcome.text) == (TurnEnd.COMPLETED, "now it works")
    assert outcome.cost_usd == pytest.approx(COST)
    assert api.prompts() == ["ALPHA", "BRAVO"]


def test_401_says_so(agent: ClaudeAgent, api: MessagesApi) -> None:
    api.script([status(401, "invalid x-api-key")])
    outcome = turn(agent, request())
    assert outcome.end is TurnEnd.FAILED
    assert "Invalid API key" in outcome.detail


def test_cc40609_session_gone_on_resume(agent: ClaudeAgent, api: MessagesApi) -> None:
    outcome = turn(agent, request(resume=True))
    assert (outcome.end, outcome.exit_code, outcome.cost_usd) == (TurnEnd.SESSION_LOST, 1, 0.0)
    assert "is gone" in outcome.detail
    assert api.requests == []


def test_cc34360_the_id_is_a_uuid_before_a_turn_is_spent(agent: ClaudeAgent, place: Place, api: MessagesApi) -> None:
    for wrong in ("not-a-uuid", "6EC57F84-C680-4D3A-8778-B00000000000", "6ec57f84c6804d3a8778b00000000000", ""):
        asked = TurnRequest(ordinal=1, prompt="Go.", session=wrong, resume=False, budget=9, startup_probe=0)
        outcome = turn(agent, asked)
        assert (outcome.end, outcome.exit_code) == (TurnEnd.FAILED, None)
        assert "is not a UUID" in outcome.detail
    assert not (place.path / "transcript.log").exists()
    assert api.requests == []


def test_cc38709_exit_0_and_no_output_is_no_success(agent: ClaudeAgent, api: MessagesApi) -> None:
    api.script([], default=text(""))
    outcome = turn(agent, request())
    assert (outcome.end, outcome.exit_code, outcome.text) == (TurnEnd.EMPTY, 0, "")


def test_a_lying_setup_complete_is_passed_on_and_nothing_else(
    agent: ClaudeAgent, place: Place, api: MessagesApi
) -> None:
    """What an agent says is for the driver to check: the turn is complete, and no file came of it."""
    api.script([text("Everything runs.\nGATE-SETUP-COMPLETE g/l")])
    outcome = turn(agent, request())
    assert outcome.end is TurnEnd.COMPLETED
    assert outcome.text.endswith("GATE-SETUP-COMPLETE g/l")
    assert list(place.workspace.iterdir()) == []


def test_a_detached_child_outlives_its_turn(
    agent: ClaudeAgent, place: Place, api: MessagesApi, pids: Callable[[str], int]
) -> None:
    api.script(
        [
            bash("setsid nohup sh -c 'echo $$ > child; sleep 2; echo hi > result' >/dev/null 2>&1 </dev/null &"),
            text("started"),
        ]
    )
    assert turn(agent, request()).text == "started"
    assert runs(pids("child"))
    assert not (place.workspace / "result").exists()
    assert eventually((place.workspace / "result").exists)


def test_a_detached_child_outlives_a_turn_that_is_ended(
    agent: ClaudeAgent, api: MessagesApi, pids: Callable[[str], int]
) -> None:
    detach = "setsid nohup sh -c 'echo $$ > detached; sleep 60' >/dev/null 2>&1 </dev/null &"
    api.script([bash(f"{detach} tail -f /dev/null & echo $! > tool; wait")])
    assert turn(agent, request(budget=4.0)).end is TurnEnd.TIMED_OUT
    assert runs(pids("detached"))
    assert not runs(pids("tool"))


def test_cc89495_a_background_task_holds_the_turn_open(agent: ClaudeAgent, place: Place, api: MessagesApi) -> None:
    """Two result events: the last one is the answer, and both are paid for."""
    api.script([bash("sleep 1; echo done > late", run_in_background=True), text("waiting"), text("finished")])
    outcome = turn(agent, request())
    assert (outcome.end, outcome.text) == (TurnEnd.COMPLETED, "finished")
    assert (place.workspace / "late").exists()
    assert outcome.cost_usd == pytest.approx(3 * COST)
    assert outcome.usage is not None
    assert outcome.usage.output_tokens == 21


def test_cc85129_a_background_task_ends_with_a_turn_that_is_ended(
    agent: ClaudeAgent, api: MessagesApi, pids: Callable[[str], int]
) -> None:
    api.script([bash("echo $$ > task; sleep 300", run_in_background=True), text("waiting")])
    outcome = turn(agent, request(budget=4.0))
    assert (outcome.end, outcome.text) == (TurnEnd.TIMED_OUT, "waiting")
    assert not runs(pids("task"))


def test_cc45717_a_tool_that_kills_the_cli(agent: ClaudeAgent, api: MessagesApi) -> None:
    """The exit code gets a reason, and the conversation is resumed."""
    api.script([kill_cli(), text("still here")])
    first = request("ALPHA")
    outcome = turn(agent, first)
    assert (outcome.end, outcome.exit_code) == (TurnEnd.KILLED, -signal.SIGKILL)
    assert "SIGKILL" in outcome.detail
    assert outcome.cost_usd is None
    assert turn(agent, follow(first, 2, "BRAVO")).text == "still here"


@pytest.mark.parametrize(("number", "end"), [(signal.SIGTERM, TurnEnd.KILLED), (signal.SIGINT, TurnEnd.FAILED)])
def test_signals_of_somebody_else(
    agent: ClaudeAgent, place: Place, api: MessagesApi, number: signal.Signals, end: TurnEnd
) -> None:
    """Interrupted, the CLI exits 0 with an error in its result: that is no success."""
    api.script([hang(60)])

    async def interrupted() -> TurnOutcome:
        outcomes = []
        async with anyio.create_task_group() as tasks:

            async def play() -> None:
                outcomes.append(await agent.turn(request()))

            tasks.start_soon(play)
            await anyio.to_thread.run_sync(api.arrived.wait)
            os.kill(_children_of(os.getpid(), "claude"), number)
        return outcomes[0]

    outcome = anyio.run(interrupted)
    assert (outcome.end, outcome.cost_usd) == (end, None)


def test_cancelling_ends_the_turn_soon(agent: ClaudeAgent, place: Place, api: MessagesApi) -> None:
    api.script([hang(60)])

    async def cancelled() -> float:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.turn, request())
            await anyio.to_thread.run_sync(api.arrived.wait)
            tasks.cancel_scope.cancel()
            began = anyio.current_time()
        return anyio.current_time() - began

    assert anyio.run(cancelled) < 2.0
    assert "turn 1 cancelled" in place.transcript
    assert _children_of(os.getpid(), "claude") == 0


def test_no_secret_reaches_the_transcript(agent: ClaudeAgent, place: Place, api: MessagesApi) -> None:
    api.script([bash("echo $TOKEN; echo $TOKEN | base64; echo $TOKEN >&2; exit 3"), text(f"it is {SECRET}")])
    outcome = turn(agent, request(f"the token is {SECRET}"))
    assert outcome.text == "it is ***TOKEN***"
    assert SECRET not in place.transcript
    assert place.agent.redactor.redact_text(place.transcript) == place.transcript
    assert place.transcript.count("***TOKEN***") >= 5


def test_limits_of_the_options_reach_the_cli(place: Place, api: MessagesApi, claude_program: Path) -> None:
    options = {"executable": str(claude_program), "max_turns": 1, "model": "claude-opus-5-5"}
    agent = ClaudeAgent(AgentPlan("claude", None, options), place.agent)
    api.script([bash("true"), text("never asked")])
    outcome = turn(agent, request())
    assert outcome.end is TurnEnd.FAILED
    assert "Reached maximum number of turns (1)" in outcome.detail
    assert [body["model"] for body in api.requests] == ["claude-opus-5-5"]


def test_nothing_is_written_outside_its_own_home(agent: ClaudeAgent, place: Place) -> None:
    """Its configuration and conversations lie below the leg's HOME, whatever the environment named."""
    asked = request()
    assert turn(agent, asked).end is TurnEnd.COMPLETED
    conversations = list((place.path / "home" / ".claude" / "projects").rglob("*.jsonl"))
    assert [path.stem for path in conversations] == [asked.session]


def test_the_version_is_recorded_and_pinned(place: Place, claude_program: Path) -> None:
    options = {"executable": str(claude_program)}
    assert anyio.run(ClaudeAgent(AgentPlan("claude", VERSION, options), place.agent).version) == VERSION
    pinned = ClaudeAgent(AgentPlan("claude", "2.1.197", options), place.agent)
    with pytest.raises(AgentError, match=r"pins version 2\.1\.197, but .*claude --version` says '2\.1\.332"):
        anyio.run(pinned.version)


def test_the_staged_program_comes_before_path(tmp_path: Path, claude_program: Path, api: MessagesApi) -> None:
    staged = tmp_path / "agent"
    staged.mkdir()
    (staged / "claude").symlink_to(claude_program)
    place = make_place(tmp_path, {**api.env, "PATH": "/usr/bin:/bin"}, staged=staged)
    assert anyio.run(ClaudeAgent(AgentPlan("claude", VERSION, {}), place.agent).version) == VERSION


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    place = make_place(tmp_path, {"PATH": "/nonexistent"})
    agent = ClaudeAgent(AgentPlan("claude", None, {}), place.agent)
    with pytest.raises(AgentError, match="claude: No such file") as missing:
        anyio.run(agent.version)
    assert "npm install" in missing.value.hint
    outcome = turn(agent, request())
    assert outcome.end is TurnEnd.UNAVAILABLE
    assert "No such file" in outcome.detail


def _children_of(parent: int, name: str) -> int:
    """Pid of a running child of that name; 0 for none."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            command, _, rest = stat.partition("(")[2].rpartition(")")
            state, ppid = rest.split()[:2]
            if command == name and int(ppid) == parent and state != "Z":
                return int(entry.name)
    return 0
