"""The documents of the run directory. One class a file; `gate.documents` reads and writes them.

Wall times are Unix seconds, durations seconds.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from gate.documents import Document
from gate.machines.verdict import Outcome, Reason
from gate.plan.model import ArtifactPlan, LegPlan, Plan, Resources


@dataclass(frozen=True, slots=True)
class Attempt(Document):
    """One dispatch within a run (`gate/attempts/NNNN.json`), created once before anything is launched."""

    FORMAT: ClassVar[str] = "gate.attempt"
    VERSION: ClassVar[int] = 1

    run: str
    attempt: int
    tag: str
    created: float
    plan: Plan
    carried: Mapping[str, str]
    """leg id to the tag of the attempt whose PASS is carried."""
    adopted: Mapping[str, str]
    """workload id to the tag of the earlier attempt under which it still lives and is judged."""
    launched: tuple[str, ...]
    """Workload ids that this attempt launches."""
    fresh: bool
    poll_to_job: bool
    """True where the attempt is polled by the same process (`gate run`)."""
    ci: Mapping[str, str]
    """What identifies the CI run (GITHUB_RUN_ID, GITHUB_RUN_ATTEMPT, URL); empty outside CI."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Every tag under which workloads of this attempt live: its own, and those of the workloads it adopted."""
        return tuple(dict.fromkeys((self.tag, *self.adopted.values())))


@dataclass(frozen=True, slots=True)
class WorkloadEntry(Document):
    """Intent before act: `intended`, then `created` with its id, then `seen_gone` (`gate/workloads/TAG/ID.json`)."""

    FORMAT: ClassVar[str] = "gate.workload"
    VERSION: ClassVar[int] = 1

    id: str
    tag: str
    name: str
    """The name the engine is asked to give it."""
    legs: tuple[str, ...]
    stage: Literal["intended", "created", "seen_gone"]
    engine_id: str | None
    at: float
    """Wall time of the last change of stage."""
    note: str
    """Why it ended where it did, for people (refused, adopted after an unclear create, removed …)."""


@dataclass(frozen=True, slots=True)
class Kept(Document):
    """A workload kept on purpose (`gate/kept/TAG/ID.json`): the supervisor holds it open until `until`."""

    FORMAT: ClassVar[str] = "gate.kept"
    VERSION: ClassVar[int] = 1

    workload: str
    tag: str
    until: float
    """Wall time at which the lease ends."""
    why: str
    holder: str
    """Run or person to whom it is left; for a superseded run, its own id."""


@dataclass(frozen=True, slots=True)
class Lease(Document):
    """Who writes the run (`gate/lease.json`). Stale when `counter` stood still on the observer's own clock."""

    FORMAT: ClassVar[str] = "gate.lease"
    VERSION: ClassVar[int] = 1

    holder: str
    """Random id of the holding process."""
    host: str
    pid: int
    command: str
    counter: int
    period: float
    """Seconds between renewals that the holder promises."""
    since: float


@dataclass(frozen=True, slots=True)
class CancelIntent(Document):
    """A cancel that was asked for, on the runner's own disk first and in the run directory when it answers."""

    FORMAT: ClassVar[str] = "gate.cancel"
    VERSION: ClassVar[int] = 1

    run: str
    tag: str
    signal: int
    at: float


@dataclass(frozen=True, slots=True)
class Manifest(Document):
    """What was staged (`gate/manifest.json`): digests, and whose commit and CI run staged it."""

    FORMAT: ClassVar[str] = "gate.manifest"
    VERSION: ClassVar[int] = 1

    gate_version: str
    version: str
    commit: str
    run: str
    attempt: int
    ci: Mapping[str, str]
    staged_at: float
    artifact: ArtifactPlan
    files: Mapping[str, str]
    """Path below `staged/` to `sha256:<hex>`."""
    tools: Mapping[str, str]
    """Tool name to version (python, agent CLI, node)."""


@dataclass(frozen=True, slots=True)
class Assignment(Document):
    """What one bootstrap reads (`staged/assignments/TAG/ID.json`): plain JSON, prompts rendered."""

    FORMAT: ClassVar[str] = "gate.assignment"
    VERSION: ClassVar[int] = 1

    gate: str
    repository: str
    run: str
    attempt: int
    tag: str
    workload: str
    run_dir: str
    """Absolute path of the run directory as the workload sees it."""
    legs: tuple[LegPlan, ...]
    resources: Resources
    timeout: float
    keep_on_fail: float
    artifact: ArtifactPlan
    stage_agent: bool
    isolation: Literal["namespace", "subreaper"]
    """Level of containment that the plan announced; the supervisor reports the one that really holds."""


@dataclass(frozen=True, slots=True)
class Pointer(Document):
    """Session pointer (`legs/LEG/TAG/INCARNATION/pointer.json`): where the leg's state file is, and whose it is."""

    FORMAT: ClassVar[str] = "gate.pointer"
    VERSION: ClassVar[int] = 1

    leg: str
    tag: str
    incarnation: str
    sequence: int
    """Grows by one with each rewrite."""
    phase: Literal["prepare", "setup", "launch", "wait", "ended"]
    state: str | None
    """Path of the state file below the incarnation's directory; None while there is none."""
    turns: int
    resumes: int
    recaps: int
    redrives: int
    blind: float
    """Seconds for which the leg's own files could not be seen, so far."""
    cost_usd: float | None
    """None: unknown (never 0 for unknown)."""
    gpu: int | None
    updated: float
    earlier: tuple[str, ...] | None = None
    """State files that lay there when the task began and were not written since: none of them is its result. None: the
    task has not begun, so that no state file is."""


@dataclass(frozen=True, slots=True)
class LegResult(Document):
    """What bootstrap says of a leg when it ends (`leg.json`). A claim: the judge reads the state file."""

    FORMAT: ClassVar[str] = "gate.leg"
    VERSION: ClassVar[int] = 1

    leg: str
    tag: str
    incarnation: str
    outcome: Literal["finished", "failed", "stopped"]
    reason: Reason | None
    """None where finished."""
    sentence: str
    state: str | None
    turns: int
    resumes: int
    recaps: int
    redrives: int
    cost_usd: float | None
    agent_version: str | None
    survivors: tuple[str, ...]
    """Processes that outlived the leg's set-up or end, as `pid command`."""
    secret_hits: tuple[str, ...]
    """Files below the leg root in which a secret was found, as `path: secret name`."""
    ended: float


@dataclass(frozen=True, slots=True)
class LegDecision:
    """One row of a decision."""

    leg: str
    blocking: bool
    outcome: Outcome
    reason: Reason
    carried: bool
    flaky: bool


@dataclass(frozen=True, slots=True)
class Decision(Document):
    """What the attempt came to (`gate/decisions/TAG.json`), written once."""

    FORMAT: ClassVar[str] = "gate.decision"
    VERSION: ClassVar[int] = 1

    run: str
    attempt: int
    tag: str
    scope: Literal["full", "fast", "subset", "none"]
    word: Literal["GO", "PASSED", "NO-GO", "NOT MEASURED", "SUPERSEDED", "CANCELLED"]
    exit_code: int
    cause: str
    """One sentence, causes grouped."""
    legs: tuple[LegDecision, ...]
    at: float
    elapsed: float
