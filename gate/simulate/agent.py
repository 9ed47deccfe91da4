"""A scripted agent in virtual time: it converges, ends early, hangs, lies, says nothing, loses its session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import trio

from gate.bootstrap.redact import Redactor
from gate.contracts import TurnEnd, TurnOutcome, TurnRequest, Usage
from gate.errors import AgentError
from gate.machines.leg_model import TurnKind
from gate.plan.model import Prompts
from gate.simulate.commands import Program, SimCommands, SimRun
from gate.simulate.home import SimHome
from gate.simulate.played import PlayedTurn
from gate.simulate.truth import LegTrace


@dataclass(frozen=True, slots=True)
class SimTurn:
    """What one turn does. It takes `seconds`, or its budget where that is less."""

    seconds: float = 60.0
    end: TurnEnd = TurnEnd.COMPLETED
    claims: bool = False
    """The completion marker is its last line."""
    text: str = "I did what I could."
    changes: int = 1
    """How many entries it changes below the workspace."""
    launches: SimRun | Program | None = None
    loses_session: bool = False
    """No later turn can resume this conversation."""
    cost: float | None = 0.1
    detail: str = "as the script says"
    """Why it did not complete."""
    fault: str = ""
    """The kind of fault that befell it."""


Script = Mapping[TurnKind, Sequence[SimTurn]]
Direct = Callable[[TurnKind, TurnRequest], SimTurn]
"""What a turn does, decided as it begins."""


NOTHING_SECRET = Redactor({})


@dataclass
class Called:
    """One turn that was asked for."""

    kind: TurnKind
    request: TurnRequest
    began: float
    ended: float = -1.0
    outcome: TurnEnd | None = None
    fault: str = ""


@dataclass
class SimAgent:
    """`contracts.Agent`: the n-th turn of a kind does what the n-th entry of its script says, the last one for ever;
    or what the script, called, says."""

    prompts: Prompts
    script: Script | Direct
    home: SimHome
    commands: SimCommands
    missing: str = ""
    """Why the agent cannot be run at all; "" where it can."""
    called: list[Called] = field(default_factory=list)
    sessions: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    running: int = 0
    overlapped: bool = False
    redactor: Redactor = NOTHING_SECRET
    """Through which everything it says goes, as it does in the real ones."""
    trace: LegTrace | None = None
    """Where its turns are written down."""

    @property
    def kind(self) -> str:
        """The kind of agent it stands for."""
        return "simulated"

    async def version(self) -> str:
        """Its version. Raises AgentError where it is missing."""
        await trio.lowlevel.checkpoint()
        if self.missing:
            raise AgentError(self.missing)
        return "simulated 1"

    async def turn(self, request: TurnRequest) -> TurnOutcome:
        """Act as the script says."""
        kind = self._kind(request.prompt)
        self.home.speak(b"turn\n")
        call = Called(kind, request, trio.current_time())
        self.called.append(call)
        self.overlapped = self.overlapped or self.running > 0
        self.running += 1
        try:
            outcome = await self._act(kind, request)
            call.outcome = outcome.end
        finally:
            self.running -= 1
            call.ended = trio.current_time()
            self._note(call)
        return outcome

    def _note(self, call: Called) -> None:
        if self.trace is None:
            return
        request, end = call.request, call.outcome.value if call.outcome is not None else ""
        self.trace.turns.append(
            PlayedTurn(
                request.ordinal,
                call.kind,
                request.session,
                request.resume,
                call.began,
                call.ended,
                request.budget,
                end,
                call.fault,
            )
        )

    async def _act(self, kind: TurnKind, request: TurnRequest) -> TurnOutcome:
        if request.resume and request.session not in self.sessions:
            return self._outcome(SimTurn(end=TurnEnd.SESSION_LOST, cost=0.0), request, "no such conversation")
        if not request.resume and request.session in self.used:
            return self._outcome(SimTurn(end=TurnEnd.SESSION_USED, cost=0.0), request, "the id is in use")
        turn = self._turn(kind, request)
        self.called[-1].fault = turn.fault
        if turn.end is TurnEnd.NO_START:
            await trio.sleep(min(request.startup_probe, request.budget))
            return self._outcome(turn, request, "no output")
        self.used.add(request.session)
        self.sessions.add(request.session)
        if turn.loses_session:
            self.sessions.discard(request.session)
        with trio.move_on_after(request.budget) as scope:
            await self._work(turn, len(self.called))
        if scope.cancelled_caught:
            return self._outcome(turn, request, "cut off", end=TurnEnd.TIMED_OUT)
        if turn.launches is not None:
            self.commands.detach(turn.launches)
        return self._outcome(turn, request, "" if turn.end is TurnEnd.COMPLETED else turn.detail)

    def _turn(self, kind: TurnKind, request: TurnRequest) -> SimTurn:
        if callable(self.script):
            return self.script(kind, request)
        script = self.script.get(kind) or self.script["nudge"]
        return script[min(sum(one.kind == kind for one in self.called), len(script)) - 1]

    async def _work(self, turn: SimTurn, ordinal: int) -> None:
        for number in range(turn.changes):
            await trio.sleep(turn.seconds / (turn.changes + 1))
            self.home.touch(f"workspace/turn-{ordinal}-{number}")
            self.home.speak(b"changed\n")
        await trio.sleep(turn.seconds / (turn.changes + 1))

    def _outcome(self, turn: SimTurn, request: TurnRequest, detail: str, *, end: TurnEnd | None = None) -> TurnOutcome:
        said = "" if turn.end is TurnEnd.EMPTY else turn.text
        if turn.claims:
            said += f"\n\n{self.prompts.marker}\n"
        return TurnOutcome(
            end=end or turn.end,
            text=self.redactor.redact_text(said),
            detail=self.redactor.redact_text(detail),
            session=request.session,
            exit_code=0 if (end or turn.end) in (TurnEnd.COMPLETED, TurnEnd.EMPTY) else 1,
            usage=Usage(1000, 100),
            cost_usd=turn.cost,
        )

    def _kind(self, prompt: str) -> TurnKind:
        texts: tuple[tuple[TurnKind, str], ...] = (
            ("redrive", self.prompts.redrive),
            ("finish_launch", self.prompts.finish_launch),
            ("task", self.prompts.task),
            ("nudge", self.prompts.nudge),
        )
        for kind, text in texts:
            if text.strip("\n") in prompt:
                return kind
        return "setup"
