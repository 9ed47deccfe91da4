"""scenario.yaml: read, with all that is wrong at once, and its JSON Schema."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Literal

from pydantic import Field as At
from pydantic import ValidationError

from gate.documents import Json
from gate.errors import ConfigError, UsageError
from gate.plan.faults import key_place, problems_of
from gate.plan.model import Plan
from gate.plan.nodes import ListNode, MapNode, read_yaml
from gate.plan.problems import Faults, Problem, did_you_mean, one_of, unique
from gate.plan.types import Model
from gate.simulate.menu import KINDS, MENU, Kind
from gate.simulate.scenario import Durations, Fault, LegCourse, Rerun, Result, Scenario, Side, Who
from gate.simulate.scenario_words import Chance, Globs, Length, Moment, Signal, SpanText

_DURATIONS = Durations()


class DurationsPart(Model):
    """How long things take in this world. Ranges are drawn from, for each leg and workload anew."""

    queue: SpanText = At(_DURATIONS.queue, description="From create to a free place.")
    pull: SpanText = At(_DURATIONS.pull, description="Image pull; not on the local engine.")
    wake: SpanText = At(_DURATIONS.wake, description="From there to Running.")
    prepare: SpanText = At(_DURATIONS.prepare, description="Until the leg's directory and tools are there.")
    install: SpanText = At(_DURATIONS.install, description="Work that set-up needs, over as many turns as it takes.")
    verify: SpanText = At(_DURATIONS.verify, description="The leg's own check.")
    launch: SpanText = At(_DURATIONS.launch, description="The task turn.")
    first_state: SpanText = At(_DURATIONS.first_state, description="From the launch to the first state file.")
    every: SpanText = At(_DURATIONS.every, description="Between two writes of the state file.")
    task: SpanText = At(_DURATIONS.task, description="From the launch to the finished state file.")


class LegPart(Model):
    """How one leg, or all that a glob names, differ from that."""

    prepare: SpanText | None = None
    install: SpanText | None = None
    verify: SpanText | None = None
    launch: SpanText | None = None
    first_state: SpanText | None = None
    every: SpanText | None = None
    task: SpanText | None = None
    result: Result = At("pass", description="What the last state file says; `never`: it never says finished.")


class FaultPart(Model):
    """One thing that goes wrong. Which keys count depends on the fault: see the menu."""

    fault: Kind = At(description="A kind of the menu.")
    at: Length | None = At(None, description="When, from the first dispatch on.")
    probability: Chance | None = At(None, description="Of each call, turn or step, or of happening at all.")
    lasts: Length | None = At(None, alias="for", description="For how long.")
    legs: Globs = At([], description="Which legs (or their workloads): ids or globs; default all.")
    seconds: Moment | None = At(None, alias="by", description="By how much: how slow, how late, how far off.")
    turn: int | None = At(None, ge=1, description="The n-th turn of the leg.")
    who: Who | None = At(None, description="Whose clock or root: dispatcher, poller or workload; default all.")
    step: int | None = At(None, ge=1, description="Kills: the n-th change that the process makes.")
    side: Side | None = At(None, description="Kills: before that change takes effect, or after.")
    restart: Length | Literal["never"] | None = At(None, description="Kills: how long until it is started again.")
    signal: Signal | None = At(None, description="A cancel's signal.")


class RerunPart(Model):
    """Another attempt, asked for after the one before has ended."""

    after: Length = At(600.0, description="How long after.")
    fresh: bool = At(default=False, description="As `gate retry --fresh`.")


class ScenarioFile(Model):
    """The world around one simulated gate, and what goes wrong in it."""

    version: Literal[1] = At(description="Of this format: 1.")
    name: str = At("", description="For people.")
    durations: DurationsPart = At(default_factory=DurationsPart)
    legs: dict[str, LegPart] = At(default_factory=dict, description="Leg id or glob to how it differs.")
    faults: list[FaultPart] = At(default_factory=list)
    reruns: list[RerunPart] = At(default_factory=list)
    neighbours: bool = At(default=False, description="Others live in the same engine and root.")


FIELDS = {"for": "lasts", "by": "seconds"}
"""Keys of the file that the model names otherwise."""
KEYS: dict[str, str] = {field: key for key, field in FIELDS.items()}


def scenario_schema() -> dict[str, Json]:
    """JSON Schema (2020-12) of scenario.yaml."""
    schema = ScenarioFile.model_json_schema(by_alias=True)
    described = "; ".join(f"{kind}: {item.what}" for kind, item in MENU.items())
    schema["$defs"]["FaultPart"]["properties"]["fault"]["description"] = described
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "scenario.yaml",
        **{key: value for key, value in schema.items() if key != "title"},
    }


# --- reading -----------------------------------------------------------------------------------------


def read_scenario(path: Path) -> Scenario:
    """The scenario at `path`. Raises ConfigError: not there; or Faults with everything that is wrong."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}", hint="Is the name right?") from None
    return parse_scenario(raw, path.name)


def parse_scenario(raw: bytes, name: str) -> Scenario:
    """The same from bytes; `name` is the file's in messages."""
    root = read_yaml(raw, name)
    if not isinstance(root, MapNode):
        raise Faults([Problem(name, root.line, root.column, "", "no mapping", "a mapping with version and faults")])
    try:
        file = ScenarioFile.model_validate(root.plain())
    except ValidationError as error:
        problems = [*problems_of(error, root, ScenarioFile, name), *_misplaced(root, name)]
        raise Faults(unique(_better(problems))) from None
    if problems := list(_misplaced(root, name)):
        raise Faults(unique(problems))
    return _scenario(file)


def _better(problems: Sequence[Problem]) -> Iterator[Problem]:
    """A kind that is on no menu gets the names that are near, not sixty of them."""
    for problem in problems:
        if problem.path.endswith(".fault") and len(problem.expected) > 400:
            found = problem.found.strip("'")
            near = did_you_mean(found, KINDS)
            yield Problem(
                problem.file, problem.line, problem.column, problem.path, problem.found, "a fault of the menu", near
            )
        else:
            yield problem


def _misplaced(root: MapNode, name: str) -> Iterator[Problem]:
    """Keys that say nothing about their kind of fault."""
    faults = root.items.get("faults")
    for node in faults.items if isinstance(faults, ListNode) else ():
        if not isinstance(node, MapNode) or "fault" not in node.items:
            continue
        kind = node.items["fault"].plain()
        if kind not in MENU:
            continue
        counting = MENU[kind].fields
        for key in node.items:
            field = FIELDS.get(key, key)
            if key == "fault" or field not in FaultPart.model_fields or field in counting:
                continue
            line, column = key_place(node, key)
            allowed = one_of(KEYS.get(each, each) for each in counting)
            yield Problem(name, line, column, f"{node.path}.{key}", f"{key!r} at {kind}", allowed)


def _scenario(file: ScenarioFile) -> Scenario:
    durations = Durations(**{f.name: getattr(file.durations, f.name) for f in fields(Durations)})
    return Scenario(
        name=file.name,
        durations=durations,
        legs={
            glob: LegCourse(**{f.name: getattr(part, f.name) for f in fields(LegCourse)})
            for glob, part in file.legs.items()
        },
        faults=tuple(map(_fault, file.faults)),
        reruns=tuple(Rerun(rerun.after, rerun.fresh) for rerun in file.reruns),
        neighbours=file.neighbours,
    )


def _course(part: LegPart) -> LegCourse:
    return LegCourse(**{f.name: getattr(part, f.name) for f in fields(LegCourse)})


def _fault(part: FaultPart) -> Fault:
    usual = Fault(part.fault)
    return Fault(
        kind=part.fault,
        at=part.at,
        probability=part.probability,
        lasts=part.lasts,
        legs=tuple(part.legs),
        seconds=part.seconds,
        turn=part.turn,
        who=part.who,
        step=part.step,
        side=part.side or usual.side,
        restart=None if part.restart == "never" else usual.restart if part.restart is None else part.restart,
        signal=part.signal or usual.signal,
    )


def check_legs(scenario: Scenario, plan: Plan) -> None:
    """Raises UsageError where the scenario names a leg that the plan does not have: it would say nothing."""
    ids = [leg.id for leg in plan.legs]
    globs = [*scenario.legs, *(glob for fault in scenario.faults for glob in fault.legs)]
    for glob in dict.fromkeys(globs):
        if not any(fnmatch.fnmatchcase(leg, glob) for leg in ids):
            near = did_you_mean(glob, ids)
            raise UsageError(f"the scenario speaks of {glob!r}, and no leg is named so", hint=near or one_of(ids))
