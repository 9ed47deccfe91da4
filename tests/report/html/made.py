"""Run directories made up from courses of legs: journals by the code that writes them, verdicts by the gate machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio

from gate import documents
from gate.contracts import EndReason, Phase, Workload
from gate.machines import gate
from gate.machines.observations import (
    CancelSeen,
    Decide,
    EngineBlind,
    EngineSeen,
    Observation,
    Resumed,
    RootBlind,
    SupersedeSeen,
    Tick,
    WriteVerdict,
)
from gate.machines.verdict import Verdict
from gate.plan.model import ArtifactPlan, Judge, LegBudgets, LegPlan, Limit, Plan, PollBudgets, Prompts, Resources
from gate.poll.journal import Codec, Header
from gate.poll.rules import rules_of
from gate.poll.timeline import Instant
from gate.report.html.from_run import page_of
from gate.report.html.page import Page
from gate.report.html.records import StoredRecords
from gate.rundir import layout
from gate.rundir.formats import Attempt, Decision, Kept, Lease, Manifest, WorkloadEntry
from gate.rundir.run import Run
from gate.simulate.store import MemoryDisk, MemoryStore
from tests.dispatch.plans import plan as base_plan
from tests.report.html.course import INCARNATION, Course, Leg

BEGIN = 1_750_000_000.0
"""Long ago by any clock: leases that end hours later have ended."""
TAG = "abcdefghij"
RUN = "20250615-1506-vebw"
JUDGE = Judge(
    finished={"done": True},
    passes={"stop_reason": ("converged",)},
    limits={"gain": Limit(1.0, None)},
    show=("gain", "stop_reason"),
)
BUDGETS = LegBudgets(
    startup_probe=60,
    turn=1200,
    stall=900,
    prepare=300,
    setup=2700,
    task=14400,
    wait_margin=300,
    silence=None,
    evidence=120,
)
PROMPTS = Prompts(
    "Set it up.", "Run it.", "Go on.", "Launch it.", "Move.", "You lost your memory.", "GATE-SETUP-COMPLETE"
)
GPUS = Resources(cpus=8, memory=0, gpus=1, image=None, privileged=False, options={})


def agent_leg(name: str, **changes: Any) -> LegPlan:
    """A blocking agent leg with the budgets of the reference gate."""
    made = replace(base_plan((name,)).legs[0], kind="agent", command=None, prompts=PROMPTS, verify="true")
    asked: dict[str, Any] = {"launches": 2, "redrives": 3, "max_turns": 60}
    return replace(made, **{"judge": JUDGE, "budgets": BUDGETS, **asked, **changes})


def command_leg(name: str, **changes: Any) -> LegPlan:
    """A blocking command leg."""
    return replace(base_plan((name,)).legs[0], **{"judge": JUDGE, "budgets": replace(BUDGETS, setup=0.0), **changes})


def plan_of(legs: Sequence[LegPlan], **changes: Any) -> Plan:
    """A plan of one workload with one GPU a leg."""
    made = base_plan(legs)
    poll = PollBudgets(interval=30, queue=7200, outage=1200, skew=900, deadline=64800, job=72000, token_life=86400)
    workloads = tuple(replace(each, resources=GPUS, timeout=18600.0) for each in made.workloads)
    artifact = ArtifactPlan(
        "file", "dist/tune-1.4.2.whl", "tune-1.4.2-py3-none-any.whl", f"sha256:{'a8' * 32}", 42258200
    )
    made = replace(made, gate="tune", repository="acme/tune", ref="refs/heads/release/1.4", commit="9de97ff6" * 5)
    whole: dict[str, Any] = {
        "version": "1.4.2",
        "artifact": artifact,
        "workloads": workloads,
        "poll": poll,
        "config_digest": f"sha256:{'c0' * 32}",
        **changes,
    }
    return replace(made, **whole)


@dataclass
class Made:
    """A made-up run: its files by key, and the legs as they really went."""

    plan: Plan
    attempt: Attempt
    legs: Mapping[str, Leg]
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    decision: Decision | None = None
    elapsed: float = 0.0
    files: dict[str, bytes] = field(default_factory=dict)

    def store(self) -> MemoryStore:
        """The files in memory."""
        disk = MemoryDisk()
        for key, raw in self.files.items():
            disk.write(key, raw)
        return MemoryStore(disk)

    def write(self, folder: Path) -> None:
        """The files on disk."""
        for key, raw in self.files.items():
            path = folder / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw)

    def page(self, written: float | None = None) -> Page:
        """The page as it stands `written` (Unix seconds; default: five minutes after the last look)."""
        at = BEGIN + self.elapsed + 300 if written is None else written

        async def main() -> Page:
            store = self.store()
            return await page_of(Run(store), self.attempt, StoredRecords(store), written=at)

        return anyio.run(main)


@dataclass(frozen=True)
class Watching:
    """How the run was watched. Windows are (from, to) in seconds from the first poll."""

    interval: float = 30.0
    until: float = 1e9
    engine_blind: tuple[tuple[float, float], ...] = ()
    root_blind: tuple[tuple[float, float], ...] = ()
    away: tuple[tuple[float, float], ...] = ()
    """The poller was down."""
    ends: tuple[float, CancelSeen | SupersedeSeen] | None = None
    """Somebody ends it, or a newer run does."""


def make_run(
    plan: Plan,
    courses: Mapping[str, Course],
    watching: Watching | None = None,
    before: Mapping[str, bytes] | None = None,
    **attempt: Any,
) -> Made:
    """Play the courses (the usual one where a leg has none) to a decision, or until nobody watches any more.

    `before`: files that lie there already.
    """
    watch = watching or Watching()
    names = tuple(each.id for each in plan.workloads)
    record = Attempt(RUN, 1, TAG, BEGIN - 20, plan, {}, {}, names, False, False, {})
    record = replace(record, **attempt)
    legs = {leg.id: Leg(leg, TAG, courses.get(leg.id, Course()), BEGIN) for leg in plan.legs}
    made = Made(plan, record, legs)
    made.files |= before or {}
    _put(made, layout.attempt(record.attempt), record)
    for workload in plan.workloads:
        _put(made, layout.workload(TAG, workload.id), _entry(workload.id, workload.legs, "created"))
    _put(made, layout.MANIFEST, _manifest(plan))
    _watch(made, watch)
    for name, leg in legs.items():
        base = f"{layout.leg_tag(name, TAG)}/{INCARNATION}"
        if leg.journal:
            made.files[f"{base}/{layout.JOURNAL}"] = leg.journal
            made.files[f"{base}/{layout.TRANSCRIPT}"] = f"=== turn 1 of {name}\n{leg.course.said}\n".encode()
    return made


def _watch(made: Made, watch: Watching) -> None:
    store = made.store()
    rules = anyio.run(lambda: rules_of(Run(store), made.attempt, list_lag=60.0))
    begin = Instant(0, 0, int(BEGIN * 1000))
    codec = Codec(Header(rules, begin.wall))
    raw = codec.head()
    state = gate.start(rules, begin.now())
    at, last = 0.0, 0.0
    while at <= watch.until and made.decision is None:
        away = next((window for window in watch.away if window[0] <= at < window[1]), None)
        seen: list[tuple[float, Observation]] = []
        if away is not None:
            seen.append((away[1], Resumed(away[1] - last)))
            at = away[1]
        if watch.ends is not None and at >= watch.ends[0]:
            seen.append((at, watch.ends[1]))
        seen.append((at, Tick(_engine(made, watch, at), _root(made, watch, at, state.undecided))))
        for when, observation in seen:
            moment = Instant(int(when * 1000), int(when * 1000), begin.wall + int(when * 1000))
            raw += codec.encode(observation, moment)
            state, actions = gate.step(state, observation, moment.now())
            _done(made, actions)
        made.elapsed = last = at
        at += watch.interval
    made.files[layout.observations(TAG)] = raw
    if made.decision is None:
        lease = Lease("h", "runner-7", 4242, f"gate poll {RUN}", 99, 30.0, BEGIN)
        _put(made, layout.LEASE, lease)


def _done(made: Made, actions: Sequence[object]) -> None:
    for action in actions:
        if isinstance(action, WriteVerdict):
            made.verdicts[action.verdict.leg] = action.verdict
            _put(made, layout.verdict(TAG, action.verdict.leg), action.verdict)
        elif isinstance(action, Decide):
            made.decision = action.decision
            _put(made, layout.decision(TAG), action.decision)
            for workload in made.plan.workloads:
                if workload.id in action.keep and made.plan.keep_on_fail:
                    until = action.decision.at + made.plan.keep_on_fail
                    kept = Kept(workload.id, TAG, until, "kept for post-mortem", RUN)
                    _put(made, layout.kept(TAG, workload.id), kept)
                else:
                    gone = _entry(workload.id, workload.legs, "seen_gone")
                    _put(made, layout.workload(TAG, workload.id), gone)


def _engine(made: Made, watch: Watching, at: float) -> EngineSeen | EngineBlind:
    if any(begin <= at < end for begin, end in watch.engine_blind):
        return EngineBlind("timed_out", "no answer within 10 s")
    found: dict[str, Workload] = {}
    for workload in made.plan.workloads:
        legs = [made.legs[leg] for leg in workload.legs]
        held = made.plan.keep_on_fail > 0 and any(leg.lost for leg in legs)
        phase, reason, code = Phase.PENDING, "", None
        if all(at >= leg.ended + 20 for leg in legs) and not held:
            phase, reason, code = Phase.SUCCEEDED, "exit", 0
        elif any(at >= leg.runs_from for leg in legs):
            phase = Phase.RUNNING
        ending: EndReason = "exit" if reason else ""
        found[workload.id] = Workload(
            f"id-{workload.id}", f"tune-{workload.id}-{TAG}", TAG, RUN, made.plan.ref, phase, ending, code
        )
    return EngineSeen(found, complete=True)


def _root(made: Made, watch: Watching, at: float, undecided: Sequence[str]) -> Any:
    if any(begin <= at < end for begin, end in watch.root_blind):
        return RootBlind("no answer within 10 s")
    return {leg: made.legs[leg].view(at) for leg in undecided}


def _entry(name: str, legs: tuple[str, ...], stage: Any) -> WorkloadEntry:
    return WorkloadEntry(name, TAG, f"tune-{name}-{TAG}", legs, stage, f"host:1:2:{name}", BEGIN - 10, "")


def _manifest(plan: Plan) -> Manifest:
    return Manifest(
        gate_version="0.1.0",
        version=plan.version,
        commit=plan.commit,
        run=RUN,
        attempt=1,
        ci={},
        staged_at=BEGIN - 60,
        artifact=plan.artifact,
        files={},
        tools={"python": "3.11.7", "claude": "2.1.0"},
    )


def _put(made: Made, key: str, document: documents.Document) -> None:
    made.files[key] = documents.dump(document)
