"""The Plan: everything a run needs, resolved, as plain values that are JSON on disk.

Durations are seconds (float), memory is bytes (int), paths are strings: absolute, or relative where said.
Prompts are rendered; what only the workload knows stands in them as slots (`SLOTS`), filled at run time.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from gate.documents import Document, Json
from gate.machines.verdict import Scalar

SLOTS = ("leg_root", "workspace", "session", "artifact", "gpu", "state_file")
"""The closed set of slots that bootstrap fills, written `<<gate:NAME>>` in a rendered prompt or command."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Bounds of a number in the state file, both inclusive; None is no bound."""

    min: float | None
    max: float | None


@dataclass(frozen=True, slots=True)
class Judge:
    """How a leg is judged from its state file. Keys are dotted paths.

    Finished when every key of `finished` has exactly its value; then passed when every key of `passes` has one of its
    values and every key of `limits` keeps its bounds. `show` is displayed and never judged.
    """

    finished: Mapping[str, Scalar]
    passes: Mapping[str, tuple[Scalar, ...]]
    limits: Mapping[str, Limit]
    show: tuple[str, ...]

    def keys(self) -> tuple[str, ...]:
        """Every key that a snapshot must extract, in a stable order."""
        return tuple(dict.fromkeys((*self.finished, *self.passes, *self.limits, *self.show)))


@dataclass(frozen=True, slots=True)
class LegBudgets:
    """A leg's rungs of the ladder, in seconds. `silence` None: no silence budget."""

    startup_probe: float
    turn: float
    stall: float
    prepare: float
    setup: float
    """0 for a command leg."""
    task: float
    wait_margin: float
    silence: float | None
    evidence: float
    """How long absent, torn or unreadable evidence is read again before it decides anything."""


@dataclass(frozen=True, slots=True)
class AgentPlan:
    """Which agent drives the leg. `options` are the kind's own (model, argv templates, scenario file …)."""

    kind: Literal["claude", "command", "scripted"]
    version: str | None
    options: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Prompts:
    """Rendered texts of an agent leg; slots still in them."""

    setup: str
    task: str
    nudge: str
    """Sent when set-up has not converged; says what is missing."""
    finish_launch: str
    """Sent when the task turn left nothing running."""
    redrive: str
    """Sent when the run stalled before it finished."""
    recap: str
    """First message of a fresh session after a resume that failed."""
    marker: str
    """The completion marker: the last non-empty line of a set-up turn that claims to be done."""


@dataclass(frozen=True, slots=True)
class LegPlan:
    """One leg, resolved."""

    id: str
    blocking: bool
    axes: Mapping[str, Scalar]
    kind: Literal["agent", "command"]
    command: str | None
    """Command leg: run by `sh -c` in the workspace."""
    prompts: Prompts | None
    verify: str | None
    """Agent leg: the set-up's own check, run by `sh -c` in the workspace; None where the marker alone decides."""
    agent: AgentPlan | None
    files: tuple[str, ...]
    """Staged files copied into the workspace, relative to `staged/files/` and to the workspace alike."""
    state: tuple[str, ...]
    """Globs below the incarnation's directory at which state files count, as `session/**/state.json`."""
    judge: Judge
    budgets: LegBudgets
    env: Mapping[str, str]
    secrets: tuple[str, ...]
    """Names of secrets that reach this leg's environment."""
    launches: int
    """How often the agent may be asked to finish a launch that left nothing running."""
    redrives: int
    """How often it may be asked to go on after a stall."""
    max_turns: int
    """Cap on turns of the whole leg, against token spend only."""
    allow_restart: bool
    """A second incarnation is judged instead of being ERROR workload_restarted."""
    digest: str
    """sha256 over everything above that can change the result; equal digests may be carried."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What one workload asks of its engine. 0 is "none asked for"."""

    cpus: int
    memory: int
    gpus: int
    image: str | None
    privileged: bool
    options: Mapping[str, Json]
    """The engine's own (partition, queue, service account …), validated by the engine."""


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    """One workload and its legs; `shared` when it carries several by design."""

    id: str
    legs: tuple[str, ...]
    shared: bool
    resources: Resources
    timeout: float
    """Seconds from the workload's start, enforced by the supervisor and by engines that can."""


@dataclass(frozen=True, slots=True)
class SecretRef:
    """Where a secret comes from: a name, a source kind, and the variable, path or command. Never the value."""

    name: str
    source: Literal["env", "file", "command"]
    spec: str


@dataclass(frozen=True, slots=True)
class ArtifactPlan:
    """The product under test. `source` is a path, URL or image reference; `digest` is `sha256:<hex>`."""

    kind: Literal["file", "url", "image", "none"]
    source: str
    name: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """Engine kind and its plain parameters. Credentials in `parameters` are names of secrets."""

    kind: Literal["local", "slurm", "kubernetes", "safe"]
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class PollBudgets:
    """The poller's rungs, in seconds."""

    interval: float
    queue: float
    outage: float
    """How long every query must have failed before legs that stood still become ERROR."""
    skew: float
    deadline: float
    """From the attempt's first poll."""
    job: float | None
    """The CI job's time-out, where known."""
    token_life: float


@dataclass(frozen=True, slots=True)
class Plan(Document):
    """A gate, resolved for one version of the product. Holds no run id, attempt or tag."""

    FORMAT: ClassVar[str] = "gate.plan"
    VERSION: ClassVar[int] = 1

    gate: str
    repository: str
    ref: str
    commit: str
    version: str
    scope: Literal["full", "fast", "subset", "none"]
    legs: tuple[LegPlan, ...]
    """The chosen legs, in the order of gate.yaml."""
    all_legs: tuple[str, ...]
    """Ids of all legs of the full gate."""
    workloads: tuple[WorkloadPlan, ...]
    engine: EnginePlan
    root: str
    """Absolute path of the shared root."""
    config: str
    """Absolute path of the gate.yaml it came from."""
    config_digest: str
    artifact: ArtifactPlan
    secrets: tuple[SecretRef, ...]
    poll: PollBudgets
    keep_on_fail: float
    """Seconds a failed leg's workload is kept for post-mortem; 0 is not at all."""
    fail_fast: bool
    flaky: Literal["show", "fail"]
    reap: Literal["before", "never", "when-refused"]
    stage_agent: bool
    reader: tuple[str, ...]
    """Argv prefix that reads files the runner may not (`sudo -n cat`); empty for none."""

    def leg(self, leg_id: str) -> LegPlan:
        """The chosen leg of that id. Raises KeyError."""
        for leg in self.legs:
            if leg.id == leg_id:
                return leg
        raise KeyError(leg_id)
