"""One leg as it stands in gate.yaml, and what a matrix of legs adds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, model_validator

from gate.plan.types import (
    Count,
    Duration,
    DurationOrZero,
    EnvName,
    EnvValue,
    Key,
    Keys,
    Model,
    Scalars,
    Size,
    Strings,
    Text,
    Wanted,
    wrong,
)


class Limit(Model):
    """Bounds of one number, both inclusive."""

    @model_validator(mode="before")
    @classmethod
    def _mapping(cls, value: Any) -> Any:
        if not isinstance(value, (dict, Limit)):
            hint = f"{{max: {value}}}" if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
            raise wrong("min, max or both", hint)
        return value

    min: float | None = Field(None, description="Smallest value that keeps the limit.", strict=False)
    max: float | None = Field(None, description="Largest value that keeps the limit.", strict=False)

    @model_validator(mode="after")
    def _bounded(self) -> Limit:
        if self.min is None and self.max is None:
            raise wrong("min, max or both")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise wrong("a min that is not above max")
        return self


class Judge(Model):
    """How a leg is judged from its state file. Keys are dotted paths into it."""

    finished: dict[Key, Wanted] = Field(
        description="When every key has exactly this value, the leg has finished and is judged.", min_length=1
    )
    passes: dict[Key, Scalars] = Field(
        default_factory=dict,
        alias="pass",
        description="A finished leg passes when every key has one of these values, and keeps its limits.",
    )
    limits: dict[Key, Limit] = Field(
        default_factory=dict, description="Numbers that must lie between bounds: `{crash_count: {max: 0}}`."
    )
    show: Keys = Field(default_factory=list, description="Keys that are shown and never judged.")

    @model_validator(mode="after")
    def _judges(self) -> Judge:
        if not self.passes and not self.limits:
            raise wrong("pass, limits or both", "else a leg passes whatever it did")
        return self


class Setup(Model):
    """An agent leg's set-up: turns until the agent says that it is complete and `verify` agrees."""

    prompt: Text = Field(description="Path of a Jinja2 file when it holds no white space, else the prompt itself.")
    verify: Text | None = Field(
        None, description="Shell command in the workspace that exits 0 when the set-up is complete."
    )
    budget: Duration | None = Field(None, description="Time for the set-up. Default: `budgets.setup`.")


class Task(Model):
    """An agent leg's task: one turn that launches the run, then waiting for its result."""

    prompt: Text = Field(description="As in `setup.prompt`.")
    budget: Duration | None = Field(None, description="Time from launch to a finished state file.")


class LegBudgets(Model):
    """Rungs of one leg; what is not set here comes from `budgets` at the top."""

    startup_probe: DurationOrZero | None = Field(None, description="Until the first byte of a turn. 0: no probe.")
    turn: Duration | None = Field(None, description="One turn of the agent.")
    stall: Duration | None = Field(None, description="Nothing under the leg's directory changed for this long.")
    prepare: Duration | None = Field(None, description="Tools, artifact and staged files in place.")
    wait_margin: DurationOrZero | None = Field(None, description="After the task, for closing and for the last write.")
    silence: Duration | None = Field(None, description="A state file that stops changing for this long is an ERROR.")
    evidence: Duration | None = Field(
        None, description="Absent, torn or unreadable evidence is read again for this long before it decides."
    )


class Caps(Model):
    """What a leg may use of the workload that it shares; the sum must fit the workload."""

    cpus: Count = Field(0, description="CPUs of this leg.")
    memory: Size = Field(0, description="Memory of this leg.")
    gpus: Count | None = Field(None, description="GPUs of this leg. Default: 1 where the workload has any.")


class LegAgent(Model):
    """The agent of one leg; keys beside `kind` and `version` are the kind's own."""

    model_config = ConfigDict(extra="allow")

    kind: Literal["claude", "command", "scripted"] | None = Field(
        None, description="Default: as `agent` at the top, whose other keys then hold here too."
    )
    version: Text | None = Field(None, description="Pinned version of its command line.")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value


class Leg(Model):
    """One path a user would take. A command leg has `run`; an agent leg has `setup` and `task`."""

    run: Text | None = Field(None, description="Shell command, run by `sh -c` in the workspace.")
    budget: Duration | None = Field(None, description="Time for `run`. Default: `budgets.task`.")
    setup: Setup | None = Field(None, description="Set-up of an agent leg.")
    task: Task | None = Field(None, description="Task of an agent leg.")
    judge: Judge | None = Field(None, description="Default: `judge` at the top.")
    agent: LegAgent | None = Field(None, description="Default: `agent` at the top.")
    files: Strings = Field(
        default_factory=list,
        description="Files, folders or globs beside gate.yaml, copied into the workspace. Files that `run` and "
        "`verify` name come by themselves.",
    )
    state: Strings = Field(
        default_factory=lambda: ["session/**/state.json"],
        description="Where a state file counts, below the leg's directory.",
    )
    env: dict[EnvName, EnvValue] = Field(default_factory=dict, description="Environment; no secrets.")
    secrets: list[EnvName] | None = Field(
        None,
        description="Secrets that reach this leg. Default: agent legs get all that the engine does not use, "
        "command legs none.",
    )
    blocking: bool | None = Field(None, description="Whether the decision needs this leg. Default: true.")
    informing: bool | None = Field(None, description="`informing: true` is `blocking: false`.")
    launches: Count = Field(2, description="How often the agent is asked to finish a launch that left nothing running.")
    redrives: Count = Field(5, description="How often the agent is asked to go on after a stall.")
    max_turns: Annotated[int, Field(ge=2, le=100_000)] = Field(100, description="Cap on turns, against spending only.")
    allow_restart: bool = Field(False, description="Judge a second incarnation, instead of ERROR workload_restarted.")
    budgets: LegBudgets = Field(default_factory=LegBudgets, description="Rungs of this leg alone.")
    caps: Caps = Field(default_factory=Caps, description="Its share of a shared workload.")

    @property
    def blocks(self) -> bool:
        """Whether the decision needs this leg."""
        return self.blocking if self.blocking is not None else not self.informing


class Matrix(Model):
    """Legs by axes. Beside these keys stand those of a leg; any value may be keyed by an axis: `{by: hours, 3: 4h}`."""

    axes: dict[
        Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")],
        Annotated[list[str | int | float | bool], Field(min_length=1)],
    ] = Field(description="Axis name to its values: `{mode: [baremetal, docker], hours: [3, 12]}`.", min_length=1)
    exclude: list[dict[str, str | int | float | bool]] = Field(
        default_factory=list, description="Combinations that are no leg: `[{mode: docker, hours: 3}]`."
    )
    id: Text | None = Field(None, description='Pattern of ids: `"{mode}-{hours}h"`. Default: all values, with dashes.')
