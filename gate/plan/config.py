"""gate.yaml as a whole."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from gate.plan.legconfig import Judge, Leg, LegAgent, LegBudgets, Matrix
from gate.plan.types import (
    Count,
    Digest,
    Duration,
    DurationOrZero,
    EnvName,
    EnvValue,
    Model,
    Name,
    Size,
    Strings,
    Text,
    wrong,
)

NO_ARTIFACT = "none"


class Artifact(Model):
    """The product under test: one file, a URL or an image."""

    file: Text | None = Field(None, description="Path or glob beside gate.yaml that matches exactly one file.")
    url: Text | None = Field(None, description="http or https; fetched by the workload and compared with `digest`.")
    image: Text | None = Field(None, description="Image reference, with its digest here or behind an @.")
    digest: Digest | None = Field(None, description="Needed for url and image; checked where given for a file.")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("image"), str) and "@" in value["image"]:
            value = {"digest": value["image"].partition("@")[2], **value}
        return {"file": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one(self) -> Artifact:
        if sum(one is not None for one in (self.file, self.url, self.image)) != 1:
            raise wrong("a path, or exactly one of file, url and image")
        if self.file is None and self.digest is None:
            raise wrong("digest: sha256:… beside it", "else nobody knows what was judged")
        if self.image is not None and "@" in self.image and not self.image.endswith(f"@{self.digest}"):
            raise wrong("the same digest in image and digest")
        if self.url is not None and not self.url.startswith(("https://", "http://")):
            raise wrong("a URL that starts with https:// or http://")
        return self


class Resources(Model):
    """What one workload asks of its engine."""

    cpus: Count = Field(0, description="CPUs; 0 asks for none in particular.")
    memory: Size = Field(0, description="Memory, as `512Gi`.")
    gpus: Count = Field(0, description="GPUs.")
    image: Text | None = Field(None, description="Container image, on engines that have them.")
    privileged: bool = Field(False, description="A privileged container, on engines that allow it.")
    options: dict[str, Any] = Field(default_factory=dict, description="The engine's own: partition, queue, account …")


class Workload(Model):
    """Legs, and what each of their workloads gets. With `shared: true` they run in one workload together."""

    legs: Strings = Field(description="Ids or globs of legs.")
    shared: bool = Field(False, description="One workload for all of them; GPUs go by position in the list that runs.")
    resources: Resources = Field(default_factory=Resources, description="Of the one workload, or of each.")
    timeout: Duration | None = Field(None, description="From the workload's start. Default: what its legs need.")


class VersionSource(Model):
    """Where the product's version is written down."""

    file: Text = Field(description="pyproject.toml, a .toml, .json or .yaml file, or a source file.")
    key: Text | None = Field(
        None,
        description="Dotted key, or the variable's name in a source file. Default for pyproject.toml and package.json.",
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"file": value} if isinstance(value, str) else value


class ScopeRules(Model):
    """What a commit needs: a new version all legs, a change of the gate itself the fast ones."""

    version: VersionSource | None = Field(None, description="File and key of the product's version.")
    gate_paths: Strings = Field(
        default_factory=list, description="Globs of the gate's own files, from the repository's top."
    )
    fast: Strings = Field(default_factory=list, description="Ids or globs of the legs of `--scope fast`.")


class Secret(Model):
    """Where a secret comes from. Its value never stands in gate.yaml."""

    env: EnvName | None = Field(None, description="An environment variable of the runner.")
    file: Text | None = Field(None, description="A file on the runner.")
    command: Text | None = Field(None, description="A command on the runner whose output it is.")

    @model_validator(mode="before")
    @classmethod
    def _no_value(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return value
        raise wrong("{env: NAME}, {file: PATH} or {command: …}", "a value never stands here")

    @model_validator(mode="after")
    def _one(self) -> Secret:
        if sum(one is not None for one in (self.env, self.file, self.command)) != 1:
            raise wrong("exactly one of env, file and command")
        return self


class Budgets(LegBudgets):
    """The ladder's rungs. What is not set is derived so that everything fits; what is set is checked."""

    setup: Duration | None = Field(None, description="Set-up of an agent leg. Default: 45m.")
    task: Duration | None = Field(None, description="Task or command of a leg without its own. Default: 1h.")
    interval: Duration | None = Field(None, description="Between two polls. Default: 2s on this machine, else 30s.")
    queue: Duration | None = Field(
        None, description="How long a workload may wait for its start. Default: 1h here, else 4h."
    )
    outage: Duration | None = Field(None, description="How long every query must fail before it decides. Default: 20m.")
    skew: DurationOrZero | None = Field(None, description="Between the engine's clock and the poll's. Default: 5m.")
    poll: Duration | None = Field(None, description="Poll's deadline, from its first poll. Default: what it needs.")
    job: Duration | None = Field(None, description="`timeout-minutes` of the CI job that polls, where there is one.")
    token_life: Duration | None = Field(None, description="Life of the token that reports. Default: GitHub's 24h.")


class Agent(LegAgent):
    """Which agent drives agent legs; keys beside `kind` and `version` are the kind's own."""

    kind: Literal["claude", "command", "scripted"] = Field(
        "claude", description="`scripted` reads `scenario`, a file beside gate.yaml."
    )


class EngineChoice(Model):
    """Where workloads run; keys beside `kind` are the engine's own. Credentials are names of secrets."""

    model_config = ConfigDict(extra="allow")

    kind: Literal["local", "slurm", "kubernetes", "safe"] = Field("local", description="This machine by default.")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value


class Templates(Model):
    """Messages to the agent beside its two prompts; each as `setup.prompt`, the shipped ones by default."""

    nudge: Text = Field("gate/nudge.md.j2", description="The set-up has not converged.")
    finish_launch: Text = Field("gate/finish_launch.md.j2", description="The task turn left nothing running.")
    redrive: Text = Field("gate/redrive.md.j2", description="The run stalled before it finished.")
    recap: Text = Field("gate/recap.md.j2", description="A fresh conversation after one that cannot be resumed.")


class GateFile(Model):
    """One release decision. Keys that begin with `x-` are yours: a place for anchors."""

    version: Literal[1] = Field(description="Version of this format.")
    gate: Name = Field(description="Name of the gate.")
    artifact: Artifact = Field(description="The product under test; `none` where there is none.")
    legs: dict[Name, Leg] = Field(default_factory=dict, description="Leg id to leg.")
    matrix: Matrix | None = Field(None, description="Legs by axes, beside those of `legs`.")
    judge: Judge | None = Field(None, description="Of legs that have none of their own.")
    workloads: dict[Name, Workload] = Field(default_factory=dict, description="Legs without an entry ask for nothing.")
    scope: ScopeRules = Field(default_factory=ScopeRules, description="What a commit needs.")
    budgets: Budgets = Field(default_factory=Budgets, description="The ladder's rungs, for all legs.")
    secrets: dict[EnvName, Secret] = Field(default_factory=dict, description="Name to source.")
    env: dict[EnvName, EnvValue] = Field(default_factory=dict, description="Environment of all legs; no secrets.")
    agent: Agent = Field(
        default_factory=lambda: Agent(kind="claude"), description="Of legs that have none of their own."
    )
    engine: EngineChoice = Field(default_factory=lambda: EngineChoice(kind="local"), description="Name or mapping.")
    prompts: Templates = Field(default_factory=Templates, description="Nudges and the recap.")
    root: Text | None = Field(
        None, description="Shared root of run directories. Default: below the user's state folder."
    )
    keep_on_fail: DurationOrZero = Field(
        4 * 3600.0, description="How long a failed leg's workload is kept; never past its time-out. 0: not at all."
    )
    fail_fast: bool = Field(True, description="The first blocking leg that is not passed decides.")
    flaky: Literal["show", "fail"] = Field("show", description="What a pass on a later attempt is.")
    reap: Literal["before", "never", "when-refused"] = Field(
        "before", description="When dispatch stops stale workloads."
    )
    stage_agent: bool = Field(False, description="Stage the agent's command line too, for images that lack it.")
    reader: Strings = Field(
        default_factory=list, description="Command that reads files the runner may not: `[sudo, -n, cat]`."
    )
