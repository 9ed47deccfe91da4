"""Any command line as an agent."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from gate.agents.command import ANSWER, CommandAgent
from gate.contracts import TurnEnd
from gate.documents import Json
from gate.errors import AgentError
from gate.plan.model import AgentPlan
from tests.agents.places import SECRET, Place, make_place, request


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def agent(place: Place, *start: str, version: str | None = None, **options: Json) -> CommandAgent:
    return CommandAgent(AgentPlan("command", version, {"start": list(start), **options}), place.agent)


def test_the_prompt_comes_on_stdin(place: Place) -> None:
    asked = request("do this\nand that")
    outcome = anyio.run(agent(place, "sh", "-c", 'cat; echo "$0"', "{session}").turn, asked)
    assert (outcome.end, outcome.text) == (TurnEnd.COMPLETED, f"do this\nand that{asked.session}\n")
    assert (outcome.usage, outcome.cost_usd) == (None, None)


def test_or_in_a_private_file_that_is_gone_afterwards(place: Place) -> None:
    outcome = anyio.run(
        agent(place, "sh", "-c", 'cat; cat "$0"; stat -c %a "$0"', "{prompt_file}").turn, request("ASK ")
    )
    assert outcome.text == "ASK 600\n"
    assert list((place.path / "scratch").iterdir()) == []


def test_without_resume_each_later_turn_is_a_fresh_one(place: Place) -> None:
    outcome = anyio.run(agent(place, "true").turn, request(resume=True))
    assert outcome.end is TurnEnd.SESSION_LOST
    assert "`agent.resume` is not set" in outcome.detail


def test_exit_codes_by_table(place: Place) -> None:
    tool = agent(place, "sh", "-c", "echo said; exit $(cat)", exit_codes={"3": "completed", "0": "failed"})
    assert anyio.run(tool.turn, request("3")).end is TurnEnd.COMPLETED
    assert anyio.run(tool.turn, request("0")).end is TurnEnd.FAILED
    outcome = anyio.run(tool.turn, request("4"))
    assert (outcome.end, outcome.detail) == (TurnEnd.FAILED, "exit code 4: said")


def test_a_shell_that_reports_a_killed_child(place: Place) -> None:
    outcome = anyio.run(agent(place, "sh", "-c", "sh -c 'kill -9 $$'; exit $?").turn, request())
    assert (outcome.end, outcome.exit_code) == (TurnEnd.KILLED, 137)


def test_the_end_of_a_long_answer_is_kept(place: Place) -> None:
    outcome = anyio.run(
        agent(place, "sh", "-c", f"head -c {3 * ANSWER} /dev/zero | tr '\\0' x; echo; echo LAST").turn, request()
    )
    assert len(outcome.text) == ANSWER
    assert outcome.text.endswith("x\nLAST\n")


def test_secrets_stay_out(place: Place) -> None:
    outcome = anyio.run(agent(place, "sh", "-c", "echo $TOKEN; echo $TOKEN >&2; exit 1").turn, request())
    assert (outcome.text, outcome.detail) == ("***TOKEN***\n", "exit code 1: ***TOKEN***")
    assert SECRET not in place.transcript


def test_the_probe_holds_only_where_it_is_asked_for(place: Place) -> None:
    quiet = ("sh", "-c", "sleep 0.6; echo done")
    assert anyio.run(agent(place, *quiet).turn, request(probe=0.2)).end is TurnEnd.COMPLETED
    assert anyio.run(agent(place, *quiet, probe=True).turn, request(probe=0.2)).end is TurnEnd.NO_START


def test_a_program_of_the_workspace(place: Place) -> None:
    program = place.workspace / "tool"
    program.write_text("#!/bin/sh\necho tool 1.2.3\n")
    program.chmod(0o755)
    assert anyio.run(agent(place, "./tool", version="1.2.3").version) == "tool 1.2.3"


@pytest.mark.parametrize(
    ("start", "version", "said"),
    [
        (["/no/such/tool"], None, "/no/such/tool: No such file"),
        (["false"], None, "`/usr/bin/false --version`|`/bin/false --version`|ended with 1"),
        (["sh", "-c", "echo tool 1.22"], "1.2", "pins version 1.2, but"),
    ],
)
def test_a_version_that_does_not_fit(place: Place, start: list[str], version: str | None, said: str) -> None:
    command = start if start[0] == "sh" else [start[0], "--version"]
    options = {"start": start, "version_command": command}
    if start == ["false"]:
        options["version_command"] = ["sh", "-c", "echo broken >&2; exit 1"]
    with pytest.raises(AgentError, match=said):
        anyio.run(CommandAgent(AgentPlan("command", version, options), place.agent).version)
