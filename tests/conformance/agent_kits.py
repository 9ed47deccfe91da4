"""Agents of every kind that can be told beforehand what they do in each turn."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import trio
from trio.testing import MockClock

from gate.agents import open_agent
from gate.contracts import Agent, TurnEnd
from gate.plan.model import AgentPlan
from gate.simulate.agent import Script, SimAgent, SimTurn
from gate.simulate.commands import SimCommands
from gate.simulate.home import SimHome
from gate.simulate.store import MemoryDisk
from tests.agents.places import make_place
from tests.bootstrap.legs import PROMPTS, TAG, agent_leg
from tests.tools.claude_cli import VERSION, claude
from tests.tools.messages_api import MessagesApi, Step, hang, kill_cli, status, text

Act = Literal["answer", "empty", "fail", "hang", "die", "mute"]
"""What an agent does in one turn. `mute`: it hangs before its first byte of output."""

ANSWER = "It is done.\n\nGATE-SETUP-COMPLETE g/leg"

Opened = AbstractAsyncContextManager[Agent]


@dataclass(frozen=True)
class Kit:
    """One kind of agent. `open` makes one in a folder; `backend` is what `anyio.run` is to be given."""

    name: str
    open: Callable[[Path, Sequence[Act]], Opened]
    backend: Callable[[], dict[str, Any]] = field(default=lambda: {"backend": "asyncio"})
    begun: float = 1.0
    """Seconds after which a turn has begun for certain, on a busy machine too."""


def _hanging(path: Path) -> str:
    program = path / "hangs"
    program.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    program.chmod(0o755)
    return str(program)


@asynccontextmanager
async def _claude(path: Path, acts: Sequence[Act]) -> AsyncIterator[Agent]:
    steps: dict[Act, list[Step]] = {
        "answer": [text(ANSWER)],
        "empty": [text(""), text("")],  # it asks once more by itself
        "fail": [status(403, "no")],
        "hang": [hang(600)],
        "die": [kill_cli()],
        "mute": [],
    }
    with MessagesApi() as api:
        api.script([step for act in acts for step in steps[act]])
        program = _hanging(path) if "mute" in acts else str(claude())
        plan = AgentPlan("claude", None if "mute" in acts else VERSION, {"executable": program})
        yield open_agent(plan, make_place(path, api.env).agent)


@asynccontextmanager
async def _scripted(path: Path, acts: Sequence[Act]) -> AsyncIterator[Agent]:
    steps: dict[Act, list[dict[str, Any]]] = {
        "answer": [{"say": ANSWER}],
        "empty": [{"empty": True}],
        "fail": [{"fail": "API Error: 403 no"}],
        "hang": [{"say": "one moment"}, {"hang": True}],
        "die": [{"die": "KILL"}],
        "mute": [{"mute": True}, {"hang": True}],
    }
    scenario = {"version": 1, "turns": [steps[act] for act in acts], "then": steps["answer"]}
    yield open_agent(AgentPlan("scripted", None, {"scenario": scenario}), make_place(path).agent)


_PROGRAM = """
import json, os, pathlib, signal, sys
if sys.argv[1] == "--version":
    print("tool 3.1"); sys.exit()
acts, answer, how, session = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
known = pathlib.Path(os.environ["HOME"], session)
if how == "resume" and not known.exists():
    sys.exit(64)
if how == "start" and known.exists():
    sys.exit(65)
known.touch()
assert sys.stdin.read() == "Go."
count = pathlib.Path(os.environ["HOME"], "count")
number = int(count.read_text()) if count.exists() else 0
count.write_text(str(number + 1))
act = acts[number] if number < len(acts) else "answer"
if act == "hang":
    print("one moment", flush=True)
if act in ("hang", "mute"):
    signal.pause()
if act == "die":
    os.kill(os.getpid(), signal.SIGKILL)
if act == "answer":
    print(answer)
sys.exit("it failed: 403" if act == "fail" else 0)
"""


@asynccontextmanager
async def _command(path: Path, acts: Sequence[Act]) -> AsyncIterator[Agent]:
    program = path / "tool.py"
    program.write_text(_PROGRAM)
    call = ["python3", str(program), json.dumps(list(acts)), ANSWER]
    options = {
        "start": [*call, "start", "{session}"],
        "resume": [*call, "resume", "{session}"],
        "version_command": ["python3", str(program), "--version"],
        "exit_codes": {"64": "session_lost", "65": "session_used"},
        "probe": True,
    }
    yield open_agent(AgentPlan("command", "3.1", options), make_place(path).agent)


@asynccontextmanager
async def _simulated(path: Path, acts: Sequence[Act]) -> AsyncIterator[Agent]:
    turns: dict[Act, SimTurn] = {
        "answer": SimTurn(1, text=ANSWER, changes=0),
        "empty": SimTurn(1, TurnEnd.EMPTY, text="", changes=0),
        "fail": SimTurn(1, TurnEnd.FAILED, text="API Error: 403 no", changes=0),
        "hang": SimTurn(1e9, changes=0),
        "die": SimTurn(1, TurnEnd.KILLED, text="", changes=0),
        "mute": SimTurn(1, TurnEnd.NO_START, text="", changes=0),
    }
    async with trio.open_nursery() as nursery:
        home = SimHome(MemoryDisk(), agent_leg(), TAG)
        script: Script = {"setup": (*(turns[act] for act in acts), turns["answer"])}
        yield SimAgent(PROMPTS, script, home, SimCommands(nursery, home))
        nursery.cancel_scope.cancel()


def _virtual() -> dict[str, Any]:
    return {"backend": "trio", "backend_options": {"clock": MockClock(autojump_threshold=0)}}


KITS = (
    Kit("claude", _claude, begun=4.0),
    Kit("command", _command),
    Kit("scripted", _scripted),
    Kit("scripted on trio", _scripted, lambda: {"backend": "trio"}),
    Kit("simulated", _simulated, _virtual),
)
