"""One leg's real world: its places, environment, GPU, agent and commands.

Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from anyio.abc import TaskGroup

from gate.agents import open_agent
from gate.agents.place import AgentPlace
from gate.bootstrap.commands import LegCommands, LegProcesses
from gate.bootstrap.home import FileHome, Folders
from gate.bootstrap.prompts import fill
from gate.bootstrap.redact import Redactor
from gate.bootstrap.transcript import Transcript
from gate.contracts import Agent, Clock, Signals, TurnOutcome, TurnRequest
from gate.documents import Json
from gate.errors import GateError, SecretError
from gate.plan import identity
from gate.plan.model import LegPlan
from gate.rundir import layout
from gate.rundir.formats import Assignment

VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""Lists of a workload's devices; in a shared workload each leg keeps the one at its position."""
MEMORY = "/dev/shm"  # noqa: S108 - the memory-backed place there is; what lies there has a private directory


@dataclass(frozen=True)
class WorkloadContext:
    """What all legs of one workload share. `environ` holds every secret of the assignment."""

    assignment: Assignment
    environ: Mapping[str, str]
    redactor: Redactor
    clock: Clock
    signals: Signals

    @property
    def secrets(self) -> frozenset[str]:
        """Names of all secrets of all legs."""
        return frozenset(name for leg in self.assignment.legs for name in leg.secrets)

    @property
    def alone(self) -> bool:
        """Does the workload carry one leg only?"""
        return len(self.assignment.legs) == 1

    def open(self, position: int, tasks: TaskGroup) -> RealLegWorld:
        """The world of the leg at `position`."""
        return RealLegWorld(self, position, tasks)

    def say(self, text: str) -> None:
        """A line for the workload's log, redacted."""
        sys.stdout.write(self.redactor.redact_text(text) + "\n")
        sys.stdout.flush()


class RealLegWorld:
    """`contracts.LegWorld`. What depends on the leg's directory is made when first asked for, after `home.open`."""

    def __init__(self, context: WorkloadContext, position: int, tasks: TaskGroup) -> None:
        assignment = context.assignment
        self._context = context
        self._position = position
        self._leg = assignment.legs[position]
        self._home = FileHome(
            Path(assignment.run_dir),
            self._leg,
            assignment.tag,
            artifact=assignment.artifact,
            redactor=context.redactor,
        )
        processes = LegProcesses(assignment.tag, assignment.workload, self._leg.id, alone=context.alone)
        self._commands = LegCommands(tasks, self, processes, context.redactor)

    # --- the contract --------------------------------------------------------------------------------

    @property
    def leg(self) -> LegPlan:
        return self._leg

    @property
    def clock(self) -> Clock:
        return self._context.clock

    @property
    def home(self) -> FileHome:
        return self._home

    @property
    def commands(self) -> LegCommands:
        return self._commands

    @property
    def signals(self) -> Signals:
        return self._context.signals

    @property
    def agent(self) -> Agent | None:
        """Raises AgentError where its options are wrong, SecretError, StoreError before the directory is there."""
        assert self.env  # a secret that is missing is said before anything is started, in command legs too
        return self._agent if self._leg.kind == "agent" else None

    @property
    def incarnation(self) -> str:
        """Name of this start; "" before the leg's directory is there."""
        try:
            return self._folders.base.name
        except GateError:
            return ""

    def tidy(self) -> None:
        """Remove what was made outside the leg's directory."""
        if "scratch" in self.__dict__:
            shutil.rmtree(self.scratch, ignore_errors=True)

    # --- where things are ----------------------------------------------------------------------------

    @property
    def gpu(self) -> int | None:
        """The leg's GPU: its position among the legs that really run; None where the workload asks for none."""
        return self._position if self._context.assignment.resources.gpus > 0 else None

    @property
    def cwd(self) -> str:
        return str(self._folders.workspace)

    @functools.cached_property
    def scratch(self) -> str:
        """A private directory, memory-backed where there is one."""
        place = MEMORY if os.access(MEMORY, os.W_OK) else None
        return tempfile.mkdtemp(prefix=f"gate-{self._context.assignment.tag}-", dir=place)

    @functools.cached_property
    def transcript(self) -> Transcript:
        return Transcript(self._folders.transcript, self._context.redactor)

    @functools.cached_property
    def slots(self) -> Mapping[str, str]:
        """Values of the closed set of slots."""
        folders = self._folders
        return {
            "leg_root": str(folders.base),
            "workspace": str(folders.workspace),
            "session": str(folders.session),
            "artifact": folders.artifact,
            "gpu": str(self._position),
            "state_file": str(folders.state_file),
        }

    @functools.cached_property
    def env(self) -> Mapping[str, str]:
        """The complete environment of the leg's agent and commands. Raises SecretError where a secret is missing."""
        context, leg, folders = self._context, self._leg, self._folders
        env = {name: value for name, value in context.environ.items() if name not in context.secrets}
        env = _own_share(env, self._position)
        if not context.alone:
            env |= {name: _at(env[name], self._position) for name in VISIBLE if name in env}
        env |= {name: fill(value, self.slots) for name, value in leg.env.items()}
        env |= {name: self._secret(name) for name in leg.secrets}
        env |= {
            identity.ENV_TAG: context.assignment.tag,
            identity.ENV_WORKLOAD: context.assignment.workload,
            identity.ENV_LEG: leg.id,
            identity.ENV_LEG_ROOT: str(folders.base),
            identity.ENV_WORKSPACE: str(folders.workspace),
            identity.ENV_SESSION: str(folders.session),
            identity.ENV_STATE_FILE: str(folders.state_file),
            identity.ENV_ARTIFACT: folders.artifact,
        }
        if self.gpu is not None or not context.alone:
            env[identity.ENV_GPU] = str(self._position)
        if leg.kind == "agent":
            # What an agent installs for its user is to be found by its check, and by no other leg.
            env["HOME"] = str(folders.home)
        return env

    def _secret(self, name: str) -> str:
        value = self._context.environ.get(name)
        if value is None:
            raise SecretError(
                f"leg {self._leg.id}: secret {name} is not in the workload's environment",
                hint="The engine hands it over when it creates the workload: was it resolved at dispatch?",
            )
        return value

    @property
    def _folders(self) -> Folders:
        return self._home.folders

    @functools.cached_property
    def _agent(self) -> Agent:
        plan = self._leg.agent
        assert plan is not None
        plan = replace(plan, options={key: _filled(value, self.slots) for key, value in plan.options.items()})
        staged = Path(self._context.assignment.run_dir) / layout.STAGED_AGENT
        place = AgentPlace(
            cwd=self.cwd,
            home=str(self._folders.home),
            env=self.env,
            transcript=self.transcript,
            redactor=self._context.redactor,
            scratch=self.scratch,
            staged=str(staged) if self._context.assignment.stage_agent else None,
        )
        return SlottedAgent(open_agent(plan, place), self.slots)


class SlottedAgent:
    """`contracts.Agent`: fills the slots of each prompt with what only the workload knows."""

    def __init__(self, agent: Agent, slots: Mapping[str, str]) -> None:
        self._agent = agent
        self._slots = slots

    @property
    def kind(self) -> str:
        return self._agent.kind

    async def version(self) -> str:
        return await self._agent.version()

    async def turn(self, request: TurnRequest) -> TurnOutcome:
        return await self._agent.turn(replace(request, prompt=fill(request.prompt, self._slots)))


def _at(devices: str, position: int) -> str:
    """The device at `position` of a list; the whole list where it has none there."""
    names = devices.split(",")
    return names[position] if position < len(names) else devices


def _own_share(env: Mapping[str, str], position: int) -> dict[str, str]:
    """What the engine means for the leg at `position` under its plain name, and without what it means for others."""
    others = re.compile(rf"{identity.ENV_LEG_SHARE}(\d+)_(\w+)")
    found = {name: value for name, value in env.items() if not others.fullmatch(name)}
    for name, value in env.items():
        if (match := others.fullmatch(name)) and int(match[1]) == position:
            found[f"GATE_{match[2]}"] = value
    return found


def _filled(value: Json, slots: Mapping[str, str]) -> Json:
    if isinstance(value, str):
        return fill(value, slots)
    if isinstance(value, list):
        return [_filled(one, slots) for one in value]
    if isinstance(value, dict):
        return {key: _filled(one, slots) for key, one in value.items()}
    return value
