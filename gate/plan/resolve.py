"""gate.yaml to a Plan. Reads files and asks git; writes, launches and contacts nothing."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from gate.errors import ArtifactError, ConfigError, GateError, PromptError, UsageError
from gate.places import default_root
from gate.plan.agents import agent_plan
from gate.plan.artifact import find_artifact, sha256_of
from gate.plan.budgets import Deriver
from gate.plan.digest import leg_digest
from gate.plan.draft import LegSource
from gate.plan.files import staged_files
from gate.plan.gitfacts import git_facts
from gate.plan.identity import axis_variable
from gate.plan.ladder import Ladder, ladder_of
from gate.plan.legconfig import Judge as JudgeConfig
from gate.plan.legconfig import Leg
from gate.plan.legs import select
from gate.plan.load import Gate, load
from gate.plan.matrix import text_of
from gate.plan.model import (
    AgentPlan,
    ArtifactPlan,
    EnginePlan,
    Judge,
    LegBudgets,
    LegPlan,
    Limit,
    Plan,
    Prompts,
    SecretRef,
    WorkloadPlan,
)
from gate.plan.nodes import find
from gate.plan.placing import place
from gate.plan.problems import Faults, Problem, PromptFaults, raise_all, unique
from gate.plan.prompts import Renderer
from gate.plan.steps import Rung
from gate.plan.templates import RenderFault, Templates
from gate.plan.version import product_version

ScopeWord = Literal["full", "fast", "subset", "none"]


@dataclass(frozen=True, slots=True)
class Choice:
    """What the command line chooses. `legs`: ids or globs, a subset unless they are all of them."""

    legs: tuple[str, ...] = ()
    scope: Literal["full", "fast", "none"] | None = None
    version: str | None = None
    artifact: ArtifactPlan | None = None
    """Stands in for the artifact of gate.yaml (a dry run needs none)."""
    jobs: tuple[Rung, ...] = ()
    """Time-outs of a workflow's jobs, to check the ladder against."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A plan, its ladder (not checked yet), and remarks for people."""

    plan: Plan
    ladder: Ladder
    notes: tuple[str, ...]
    gate: Gate


def resolve(path: Path, choice: Choice | None = None, environ: Mapping[str, str] | None = None) -> Resolved:
    """The plan of the gate.yaml at `path`, its ladder checked.

    Raises ConfigError, UsageError (legs, scope), PromptError, ArtifactError, LadderError; several as one ConfigError.
    """
    resolved = resolve_unchecked(path, choice, environ)
    resolved.ladder.check()
    return resolved


def resolve_unchecked(path: Path, choice: Choice | None = None, environ: Mapping[str, str] | None = None) -> Resolved:
    """The same with a ladder that may be broken, for those who show it."""
    gate = load(path)
    return _Resolver(gate, choice or Choice(), os.environ if environ is None else environ).run()


@dataclass(slots=True)
class _Resolver:
    gate: Gate
    choice: Choice
    environ: Mapping[str, str]
    errors: list[GateError] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)

    def run(self) -> Resolved:
        gate, file = self.gate, self.gate.file
        every = [leg.id for leg in gate.legs]
        scope, chosen = self._chosen(every)
        facts = git_facts(gate.folder, self.environ)
        artifact, version = self._product()
        deriver = Deriver(gate)
        sources = [gate.leg(leg) for leg in chosen]
        budgets = {source.id: deriver.leg(source, leg) for source, leg in sources}
        engine = EnginePlan(file.engine.kind, dict(file.engine.model_extra or {}))
        renderer = Renderer(Templates(gate.folder, gate.path.name), file, gate.root, artifact, version)
        legs = self._legs(sources, budgets, renderer)
        raise_all(self.errors)
        workloads = tuple(place(gate, chosen, budgets, deriver))
        legs = self._with_digests(legs, workloads, artifact, engine)
        plan = Plan(
            gate=file.gate,
            repository=facts.repository,
            ref=facts.ref,
            commit=facts.commit,
            version=version,
            scope=scope,
            legs=tuple(legs),
            all_legs=tuple(every),
            workloads=workloads,
            engine=engine,
            root=self._root(),
            config=str(gate.path),
            config_digest=gate.digest,
            artifact=artifact,
            secrets=self._secrets(),
            poll=deriver.poll(max((workload.timeout for workload in workloads), default=0.0)),
            keep_on_fail=file.keep_on_fail,
            fail_fast=file.fail_fast,
            flaky=file.flaky,
            reap=file.reap,
            stage_agent=file.stage_agent,
            reader=tuple(shlex.split(file.reader[0]) if len(file.reader) == 1 else file.reader),
        )
        self._remark(plan)
        return Resolved(plan, ladder_of(plan, deriver.origins, self.choice.jobs), tuple(self.notes), gate)

    def _chosen(self, every: Sequence[str]) -> tuple[ScopeWord, tuple[str, ...]]:
        choice = self.choice
        if choice.legs and choice.scope is not None:
            raise UsageError("--legs and --scope do not go together", hint="A scope names its own legs.")
        if choice.legs:
            chosen = select(choice.legs, every)
            return ("full" if len(chosen) == len(every) else "subset"), chosen
        match choice.scope:
            case "none":
                return "none", ()
            case "fast":
                if not self.gate.file.scope.fast:
                    raise UsageError("--scope fast: gate.yaml names no fast legs", hint="Name them in scope.fast.")
                return "fast", select(self.gate.file.scope.fast, every)
            case "full" | None:
                return "full", tuple(every)

    def _product(self) -> tuple[ArtifactPlan, str]:
        """Artifact and version; where there is a fault it is kept, and what stands in is never seen."""
        artifact = self.choice.artifact or ArtifactPlan("none", "", "", "", 0)
        try:
            if self.choice.artifact is None:
                artifact = find_artifact(self.gate.file.artifact, self.gate.folder)
            version = product_version(self.choice.version, self.gate.file.scope.version, artifact, self.gate.folder)
        except (ArtifactError, ConfigError) as error:
            self.errors.append(error)
            return artifact, "unknown"
        return artifact, version

    def _legs(
        self, sources: Sequence[tuple[LegSource, Leg]], budgets: Mapping[str, LegBudgets], renderer: Renderer
    ) -> list[LegPlan]:
        legs: list[LegPlan] = []
        problems: list[Problem] = []
        prompt_problems: list[Problem] = []
        for source, leg in sources:
            try:
                legs.append(self._leg(source, leg, budgets[source.id], renderer))
            except RenderFault as fault:  # noqa: PERF203 - a leg with faults must not hide those of the next
                prompt_problems.append(fault.problem)
            except Faults as faults:
                problems += faults.problems
        if problems:
            self.errors.append(Faults(unique(problems)))
        if prompt_problems:
            error: PromptError = PromptFaults(unique(prompt_problems))
            self.errors.append(error)
        return legs

    def _leg(self, source: LegSource, leg: Leg, budgets: LegBudgets, renderer: Renderer) -> LegPlan:
        agent: AgentPlan | None = None
        prompts: Prompts | None = None
        secrets = self._leg_secrets(leg)
        if leg.run is None:
            agent = agent_plan(self.gate, source, leg)
            prompts = renderer.prompts(source, leg, budgets, secrets)
        verify = leg.setup.verify if leg.setup else None
        judge = leg.judge or self.gate.file.judge
        assert judge is not None
        axes = {axis_variable(name): text_of(value) for name, value in source.axes.items()}
        return LegPlan(
            id=source.id,
            blocking=leg.blocks,
            axes=dict(source.axes),
            kind="agent" if leg.run is None else "command",
            command=leg.run,
            prompts=prompts,
            verify=verify,
            agent=agent,
            files=self._files(source, leg),
            state=tuple(leg.state),
            judge=_judge(judge),
            budgets=budgets,
            env={**self.gate.file.env, **leg.env, **axes},
            secrets=secrets,
            launches=leg.launches,
            redrives=leg.redrives,
            max_turns=leg.max_turns,
            allow_restart=leg.allow_restart,
            digest="",
        )

    def _files(self, source: LegSource, leg: Leg) -> tuple[str, ...]:
        commands = [command for command in (leg.run, leg.setup.verify if leg.setup else None) if command]
        taken = staged_files(self.gate.folder, leg.files, commands, leg.state)
        node = find(source.node, "files")
        faults = []
        if taken.missing:
            faults.append(
                (f"{', '.join(map(repr, taken.missing))}, which matches no file", f"files below {self.gate.folder}")
            )
        if taken.results:
            found = f"{', '.join(map(repr, taken.results))}, which would count as the leg's state file before it begins"
            faults.append((found, "files that are no earlier result, or a `state` that does not match them"))
        if faults:
            name = self.gate.path.name
            raise Faults([Problem(name, node.line, node.column, node.path, *fault) for fault in faults])
        for path in taken.left:
            self.notes.append(f"{source.id}: {path} is not taken along: it counts as the leg's state file, and is old")
        return taken.files

    def _leg_secrets(self, leg: Leg) -> tuple[str, ...]:
        if leg.secrets is not None:
            return tuple(leg.secrets)
        if leg.run is not None:
            return ()
        used = {value for value in (self.gate.file.engine.model_extra or {}).values() if isinstance(value, str)}
        return tuple(name for name in self.gate.file.secrets if name not in used)

    def _with_digests(
        self, legs: Sequence[LegPlan], workloads: Sequence[WorkloadPlan], artifact: ArtifactPlan, engine: EnginePlan
    ) -> list[LegPlan]:
        gets = {leg: workload.resources for workload in workloads for leg in workload.legs}
        done = []
        for leg in legs:
            files = {path: self._hash(path) for path in leg.files}
            done.append(replace(leg, digest=leg_digest(leg, files, artifact, engine, gets[leg.id])))
        return done

    def _hash(self, path: str) -> str:
        if path not in self.hashes:
            self.hashes[path] = sha256_of(self.gate.folder / path)[0]
        return self.hashes[path]

    def _root(self) -> str:
        named = self.gate.file.root
        return str((self.gate.folder / Path(named).expanduser()).absolute() if named else default_root())

    def _secrets(self) -> tuple[SecretRef, ...]:
        refs = []
        for name, secret in self.gate.file.secrets.items():
            if secret.env is not None:
                refs.append(SecretRef(name, "env", secret.env))
            elif secret.file is not None:
                refs.append(SecretRef(name, "file", str(self.gate.folder / Path(secret.file).expanduser())))
            else:
                assert secret.command is not None
                refs.append(SecretRef(name, "command", secret.command))
        return tuple(refs)

    def _remark(self, plan: Plan) -> None:
        pinned = {leg.agent.kind for leg in plan.legs if leg.agent and leg.agent.version is None}
        for kind in sorted(pinned - {"scripted"}):
            self.notes.append(f"agent {kind}: no version is pinned; whatever is installed runs, and is recorded")
        if plan.scope == "subset" and not any(leg.blocking for leg in plan.legs):
            self.notes.append("no chosen leg is blocking: nothing can pass")
        if plan.artifact.kind == "none":
            self.notes.append("no artifact: verdicts are of whatever the legs find")
        slow = [leg.id for leg in plan.legs if leg.agent and leg.agent.kind == "claude" and leg.budgets.turn < 361]
        if slow:
            legs = f"{slow[0]} and {len(slow) - 1} more" if len(slow) > 1 else slow[0]
            self.notes.append(f"{legs}: a turn under 6m1s cuts the claude CLI off while it merely waits for an answer")


def _judge(config: JudgeConfig) -> Judge:
    return Judge(
        finished=dict(config.finished),
        passes={key: tuple(values) for key, values in config.passes.items()},
        limits={key: Limit(limit.min, limit.max) for key, limit in config.limits.items()},
        show=tuple(config.show),
    )
