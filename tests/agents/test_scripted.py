"""A scenario drives real processes and real files."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

import gate
from gate.agents import process
from gate.agents.performer import Play
from gate.agents.scripted import _PERFORM, ScriptedAgent
from gate.contracts import TurnEnd, TurnOutcome, Usage
from gate.documents import Json
from gate.errors import AgentError
from gate.plan.identity import marker
from gate.plan.model import AgentPlan
from tests.agents.places import SECRET, Place, make_place, request, runs

PROMPT = f"Set it up.\nEnd with\n{marker('g', 'leg')}\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(
        tmp_path, {"GATE_LEG": "leg", "GATE_STATE_FILE": str(tmp_path / "workspace" / "run" / "state.json")}
    )


def play(place: Place, *turns: list[Json], **more: Json) -> list[TurnOutcome]:
    """Outcomes of all `turns` in one session."""
    agent = ScriptedAgent(
        AgentPlan("scripted", None, {"scenario": {"version": 1, "turns": list(turns), **more}}), place.agent
    )
    first = request(PROMPT)
    found = []
    for ordinal in range(1, len(turns) + 1):
        asked = request(PROMPT, ordinal=ordinal, session=first.session, resume=ordinal > 1)
        found.append(anyio.run(agent.turn, asked))
    return found


def test_it_says_writes_and_runs(place: Place) -> None:
    (outcome,) = play(
        place,
        [
            {"say": "First."},
            {"write": {"path": "notes/a.txt", "text": "one\n"}},
            {"write": {"path": "notes/a.txt", "text": "two\n", "append": True}},
            {"write": {"path": "$GATE_STATE_FILE", "json": {"done": True}}},
            {"run": "cat notes/a.txt > copied; echo printed"},
            {"run": {"command": "exit 9", "check": False}},
            {"usage": {"input_tokens": 5, "output_tokens": 6, "cost_usd": 0.25}},
            {"say": "{marker}"},
        ],
    )
    assert (outcome.end, outcome.text) == (TurnEnd.COMPLETED, "First.\n\nGATE-SETUP-COMPLETE g/leg")
    assert (outcome.usage, outcome.cost_usd) == (Usage(5, 6), 0.25)
    assert (place.workspace / "copied").read_text() == "one\ntwo\n"
    assert json.loads((place.workspace / "run" / "state.json").read_text()) == {"done": True}
    assert "\nprinted\n" in place.transcript
    assert "[exit code 9]" in place.transcript
    assert "[say] GATE-SETUP-COMPLETE g/leg" in place.transcript, "what was said, and not how it is written down"


def test_a_command_that_fails_fails_the_turn(place: Place) -> None:
    (outcome,) = play(place, [{"run": "exit 4"}, {"say": "never"}])
    assert (outcome.end, outcome.detail) == (TurnEnd.FAILED, "`exit 4` ended with 4.")


def test_what_is_detached_and_what_is_not(
    place: Place, monkeypatch: pytest.MonkeyPatch, pids: Callable[[str], int]
) -> None:
    monkeypatch.setattr(process, "GRACE", 0.3)
    start = [
        {"detach": "echo $$ > detached; exec tail -f /dev/null"},
        {"background": "echo $$ > plain; exec tail -f /dev/null"},
        {"run": "until [ -s detached ] && [ -s plain ]; do sleep 0.01; done"},
        {"say": "Started."},
    ]
    assert play(place, start)[0].end is TurnEnd.COMPLETED
    assert [runs(pids(name)) for name in ("detached", "plain")] == [True, True]
    (place.workspace / "detached").unlink()
    (place.workspace / "plain").unlink()
    scenario = {"version": 1, "turns": [], "then": [*start, {"hang": "stubborn"}]}
    agent = ScriptedAgent(AgentPlan("scripted", None, {"scenario": scenario}), place.agent)
    assert anyio.run(agent.turn, request(budget=2.0)).end is TurnEnd.TIMED_OUT
    assert [runs(pids(name)) for name in ("detached", "plain")] == [True, False]


def test_ends_of_all_kinds(place: Place) -> None:
    outcomes = play(
        place,
        [{"fail": f"API Error: 429 {SECRET}"}],
        [{"say": "dropped"}, {"empty": True}],
        [{"exit": 7}],
        [{"exit": 0}],
        [{"die": "TERM"}],
        [{"lose_session": True}, {"say": "gone"}],
        [{"say": "never"}],
    )
    assert [(outcome.end, outcome.exit_code) for outcome in outcomes] == [
        (TurnEnd.FAILED, 1),
        (TurnEnd.EMPTY, 0),
        (TurnEnd.FAILED, 7),
        (TurnEnd.EMPTY, 0),
        (TurnEnd.KILLED, -15),
        (TurnEnd.COMPLETED, 0),
        (TurnEnd.SESSION_LOST, 64),
    ]
    assert outcomes[0].detail == "API Error: 429 ***TOKEN***"


def test_a_turn_that_the_scenario_does_not_have_fails(place: Place) -> None:
    play(place, [{"say": "one"}])
    (outcome,) = play(place, [{"say": "one"}])
    assert (outcome.end, outcome.text) == (TurnEnd.FAILED, "The scenario has no turn 2 for leg 'leg'.")


def test_turns_by_leg_and_later_ones(place: Place) -> None:
    legs = {"l*": {"turns": [[{"say": "own"}]], "then": [{"say": "later"}]}}
    outcomes = play(place, [{"say": "not this"}], [{"say": "not this"}], [{"say": "not this"}], legs=legs)
    assert [outcome.text for outcome in outcomes] == ["own", "later", "later"]


def test_the_pinned_version_is_checked(place: Place) -> None:
    scenario = {"scenario": {"version": 1, "turns": [[{"say": "x"}]]}}
    assert anyio.run(ScriptedAgent(AgentPlan("scripted", "1", scenario), place.agent).version) == "1"
    with pytest.raises(AgentError, match="pins version 2"):
        anyio.run(ScriptedAgent(AgentPlan("scripted", "2", scenario), place.agent).version)


def test_it_performs_from_a_zip_with_the_standard_library_alone(tmp_path: Path) -> None:
    """In a workload gate is one file, and the image has nothing else."""
    package = Path(gate.__file__).parent
    with zipfile.ZipFile(tmp_path / "gate.pyz", "w") as packed:
        for source in package.rglob("*.py"):
            packed.write(source, source.relative_to(package.parent))
    turn = Play({"version": 1, "turns": [[{"say": "from the zip"}]]}, "leg", "s", resume=False, prompt="Go.")
    done = subprocess.run(
        (sys.executable, "-S", "-B", "-c", _PERFORM, str(tmp_path / "gate.pyz")),
        input=json.dumps(turn.__dict__),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        check=True,
    )
    assert json.loads(done.stdout.splitlines()[-1]) == {"result": {"text": "from the zip", "failed": False}}
