"""An agent that plays a scenario (see `gate.agents.scenario`) with real processes and real files.

Each turn runs in a process of its own (`gate.agents.performer`), so what is ended, killed or left behind is real.
Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import gate
from gate.agents import performer
from gate.agents.options import Options
from gate.agents.place import AgentPlace
from gate.agents.process import CommandLine, Ended
from gate.agents.turns import Lines, Report, by_time, concluded, mirrored, without_result
from gate.contracts import TurnEnd, TurnOutcome, TurnRequest, Usage
from gate.documents import Json
from gate.errors import AgentError
from gate.plan.identity import ENV_LEG
from gate.plan.model import AgentPlan

VERSION = "1"

_PERFORM = "import sys; sys.path.insert(0, sys.argv[1]); from gate.agents.performer import main; main()"


class ScriptedAgent:
    """`options`: scenario, as plain JSON."""

    def __init__(self, plan: AgentPlan, place: AgentPlace) -> None:
        Options(plan)
        self._scenario = plan.options["scenario"]
        self._pinned = plan.version
        self._place = place

    @property
    def kind(self) -> str:
        return "scripted"

    async def version(self) -> str:
        """Raises AgentError where the plan pins another version of scenarios."""
        if self._pinned not in (None, VERSION):
            raise AgentError(
                f"agent: the plan pins version {self._pinned}, and this gate plays scenarios of version {VERSION}",
                hint="Leave `agent.version` out.",
            )
        return VERSION

    async def turn(self, request: TurnRequest) -> TurnOutcome:
        """Play the next turn of the scenario; see the contract."""
        place = self._place
        answer = _Answer(place)
        lines = Lines(answer.take)
        ended, errors = await mirrored(place, request, self._line(request), lines.add, probe=request.startup_probe)
        await lines.finish()
        report = by_time(ended, request, request.startup_probe) or _report(request, answer.result, ended, errors)
        result = answer.result or {}
        tokens = [result.get(key) for key in ("input_tokens", "output_tokens")]
        outcome = TurnOutcome(
            end=report.end,
            text=report.text,
            detail=report.detail,
            session=request.session if answer.heard else None,
            exit_code=ended.exit_code,
            usage=None if None in tokens else Usage(*map(int, tokens)),  # type: ignore[arg-type]
            cost_usd=result.get("cost_usd"),
        )
        return await concluded(place, request, outcome)

    def _line(self, request: TurnRequest) -> CommandLine:
        place = self._place
        # The scenario travels on stdin like the prompt: argv is readable by everybody on the machine.
        play = performer.Play(
            scenario=self._scenario,
            leg=place.env.get(ENV_LEG, ""),
            session=request.session,
            resume=request.resume,
            prompt=request.prompt,
        )
        return CommandLine(
            argv=(sys.executable, "-S", "-B", "-c", _PERFORM, str(Path(gate.__file__).parent.parent)),
            stdin=json.dumps(play.__dict__).encode(),
            cwd=place.cwd,
            env={**place.env, "HOME": place.home},
            scratch=place.scratch,
        )


class _Answer:
    """The performer's events: mirrored for people, and its result."""

    def __init__(self, place: AgentPlace) -> None:
        self.heard = False
        self.result: dict[str, Json] | None = None
        self._place = place

    async def take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
        except ValueError:
            event = {"shown": line.decode(errors="replace")}
        self.heard = True
        if "result" in event:
            self.result = event["result"]
        if shown := event.get("shown"):
            await self._place.transcript.write(f"{shown}\n".encode(errors="replace"))


def _report(request: TurnRequest, result: dict[str, Json] | None, ended: Ended, errors: str) -> Report:
    code = ended.exit_code
    if code == performer.SESSION_LOST:
        return Report(TurnEnd.SESSION_LOST, detail=f"the conversation {request.session} is gone")
    if code == performer.SESSION_USED:
        return Report(TurnEnd.SESSION_USED, detail=f"the session id {request.session} is already in use")
    if result is None:
        return without_result(ended, errors)
    text = str(result["text"])
    if result["failed"]:
        return Report(TurnEnd.FAILED, text, text)
    return Report(TurnEnd.COMPLETED, text) if text.strip() else Report(TurnEnd.EMPTY, detail="the answer is empty")
