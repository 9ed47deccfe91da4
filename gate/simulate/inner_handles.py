"""The contracts as one bootstrap holds them, inside its workload: dead when the process is, blind when its root is."""

from __future__ import annotations

from collections.abc import Mapping

from gate.contracts import CommandResult, Scan, TurnOutcome, TurnRequest
from gate.documents import Json
from gate.machines.verdict import StateView
from gate.rundir.formats import LegResult, Pointer
from gate.simulate.agent import SimAgent
from gate.simulate.commands import SimCommands
from gate.simulate.home import SimHome
from gate.simulate.life import Life
from gate.simulate.roots import RootFaults
from gate.simulate.truth import LegTrace, Truth


class OwnedHome:
    """`contracts.LegHome` of one bootstrap. `roots` says when the shared root fails it."""

    def __init__(self, home: SimHome, life: Life, truth: Truth, trace: LegTrace, roots: RootFaults) -> None:
        self._home = home
        self._life = life
        self._truth = truth
        self._trace = trace
        self._roots = roots

    async def open(self) -> str:
        step = self._life.begin("open")
        await self._roots.write()
        self._trace.incarnation = await self._home.open()
        self._life.done(step, "open")
        return self._trace.incarnation

    async def equip(self) -> None:
        step = self._life.begin("equip")
        await self._roots.write()
        await self._home.equip()
        self._life.done(step, "equip")

    async def idle(self, beat: float, longest: float) -> None:
        self._life.check()
        if self._roots.blind():
            await self._roots.wait(min(beat, longest))
        else:
            left = self._roots.until_blind()
            await self._home.idle(beat, min(longest, left) if left > 0 else longest)
        self._life.check()

    async def scan(self, *, full: bool) -> Scan:
        self._life.check()
        if self._roots.blind():
            return Scan(changed=False, full=full, blind=True, entries=0)
        return await self._home.scan(full=full)

    async def states(self, *, fresh: bool) -> tuple[StateView, ...]:
        self._life.check()
        await self._roots.read()
        return await self._home.states(fresh=fresh)

    async def publish(self, document: Pointer | LegResult) -> None:
        what = "publish pointer" if isinstance(document, Pointer) else "publish result"
        step = self._life.begin(what)
        await self._roots.write()
        await self._home.publish(document)
        if isinstance(document, Pointer):
            self._trace.pointers.append((self._truth.now(), document))
        else:
            self._trace.results.append((self._truth.now(), document))
        self._life.done(step, what)

    async def record(self, entry: Mapping[str, Json]) -> None:
        step = self._life.begin("journal")
        await self._roots.write()
        await self._home.record(entry)
        self._life.done(step, "journal")

    async def secret_hits(self) -> tuple[str, ...]:
        self._life.check()
        await self._roots.read()
        return await self._home.secret_hits()


class OwnedAgent:
    """`contracts.Agent` of one bootstrap."""

    def __init__(self, agent: SimAgent, life: Life) -> None:
        self._agent = agent
        self._life = life

    @property
    def kind(self) -> str:
        return self._agent.kind

    async def version(self) -> str:
        self._life.check()
        return await self._agent.version()

    async def turn(self, request: TurnRequest) -> TurnOutcome:
        what = f"turn {request.ordinal}"
        step = self._life.begin(what)
        outcome = await self._agent.turn(request)
        self._life.done(step, what)
        return outcome


class OwnedCommands:
    """`contracts.Commands` of one bootstrap."""

    def __init__(self, commands: SimCommands, life: Life) -> None:
        self._commands = commands
        self._life = life

    async def run(self, command: str, budget: float) -> CommandResult:
        self._life.check()
        result = await self._commands.run(command, budget)
        self._life.check()
        return result

    async def start(self, command: str) -> None:
        step = self._life.begin("start command")
        await self._commands.start(command)
        self._life.done(step, "start command")

    async def poll(self) -> CommandResult | None:
        self._life.check()
        return await self._commands.poll()

    async def survivors(self) -> tuple[str, ...]:
        self._life.check()
        return await self._commands.survivors()

    async def end_all(self) -> tuple[str, ...]:
        step = self._life.begin("end all")
        left = await self._commands.end_all()
        self._life.done(step, "end all")
        return left
