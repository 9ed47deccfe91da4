"""Legs for tests: plans with few words, and a leg's driver in a simulated world."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any

import anyio
import trio
from trio.testing import MockClock

from gate.bootstrap.driver import LegIdentity, drive
from gate.plan.model import Judge, LegBudgets, LegPlan, Prompts
from gate.rundir.formats import LegResult
from gate.simulate.agent import Script, SimAgent, SimTurn
from gate.simulate.clock import SimClock
from gate.simulate.commands import SimCommands, SimRun
from gate.simulate.home import SimHome
from gate.simulate.legworld import SimLegWorld, SimSignals
from gate.simulate.store import MemoryDisk

TAG = "abcdefghij"
MARKER = "GATE-SETUP-COMPLETE g/leg"
PROMPTS = Prompts("Set it up.", "Run it.", "Go on.", "Launch it.", "Move again.", "You lost your memory.", MARKER)
BUDGETS = LegBudgets(
    startup_probe=60,
    turn=1200,
    stall=900,
    prepare=300,
    setup=2700,
    task=14400,
    wait_margin=300,
    silence=None,
    evidence=30,
)
JUDGE = Judge(finished={"done": True}, passes={"stop_reason": ("converged",)}, limits={}, show=())

DONE = SimTurn(claims=True)
LAUNCH = SimTurn(launches=SimRun())
GOOD: Script = {"setup": (DONE,), "nudge": (DONE,), "task": (LAUNCH,), "finish_launch": (LAUNCH,), "redrive": (LAUNCH,)}


def agent_leg(**changes: Any) -> LegPlan:
    """An agent leg; budgets among `changes` by their own names."""
    return _with(
        LegPlan(
            id="leg",
            blocking=True,
            axes={},
            kind="agent",
            command=None,
            prompts=PROMPTS,
            verify="true",
            agent=None,
            files=(),
            state=("session/**/state.json",),
            judge=JUDGE,
            budgets=BUDGETS,
            env={},
            secrets=(),
            launches=2,
            redrives=3,
            max_turns=60,
            allow_restart=False,
            digest="d",
        ),
        changes,
    )


def command_leg(command: str = "run", **changes: Any) -> LegPlan:
    """A command leg."""
    plain = agent_leg(kind="command", command=command, prompts=None, verify=None)
    return _with(replace(plain, budgets=replace(BUDGETS, setup=0.0)), changes)


def _with(leg: LegPlan, changes: dict[str, Any]) -> LegPlan:
    budgets = {name: value for name, value in changes.items() if name in LegBudgets.__dataclass_fields__}
    rest = {name: value for name, value in changes.items() if name not in budgets}
    return replace(leg, budgets=replace(leg.budgets, **budgets), **rest)


@dataclass
class Ran:
    """What came of a simulated leg."""

    result: LegResult
    world: SimLegWorld
    seconds: float

    @property
    def agent(self) -> SimAgent:
        assert self.world.agent is not None
        return self.world.agent

    @property
    def kinds(self) -> list[str]:
        return [call.kind for call in self.agent.called]


Meddle = Callable[[SimLegWorld], Awaitable[None]]


def run_leg(
    leg: LegPlan | None = None,
    script: Script | None = None,
    *,
    setup: Callable[[SimLegWorld], None] | None = None,
    meddle: Meddle | None = None,
) -> Ran:
    """Drive `leg` in virtual time; `setup` prepares the world, `meddle` runs beside it."""
    plan = leg or agent_leg()

    async def main() -> Ran:
        async with trio.open_nursery() as nursery:
            home = SimHome(MemoryDisk(), plan, TAG)
            commands = SimCommands(nursery, home)
            agent = SimAgent(PROMPTS, {**GOOD, **(script or {})}, home, commands) if plan.kind == "agent" else None
            world = SimLegWorld(plan, SimClock(), home, commands, agent, SimSignals())
            if setup is not None:
                setup(world)
            if meddle is not None:
                nursery.start_soon(meddle, world)
            result = await drive(world, LegIdentity(TAG, 0))
            ran = Ran(result, world, trio.current_time())
            nursery.cancel_scope.cancel()
        return ran

    clock = MockClock(autojump_threshold=0)
    return anyio.run(main, backend="trio", backend_options={"clock": clock})
