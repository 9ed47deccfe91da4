"""Deliberately broken cores and drivers: each replaces one function by a plausible mistake.

A campaign that lets one of them live checks too little, or meets too little.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from gate import documents
from gate.contracts import Listing
from gate.errors import CreateUnclear, EngineAuthError, EngineError, EngineUnreachable
from gate.machines.clock import reading
from gate.machines.gate_state import Finding, Reading
from gate.machines.observations import EngineSeen, WriteVerdict
from gate.machines.verdict import Outcome, Reason

Change = Callable[[Any], Any]
"""The original function to what stands in its place."""


@dataclass(frozen=True)
class Mutant:
    """`targets` are `module:attribute` or `module:Class.attribute`: one, or both sides where two guard one thing."""

    name: str
    targets: tuple[str, ...]
    change: Change

    @contextmanager
    def alive(self) -> Iterator[None]:
        """Inside, the mistake is in the product, wherever its module's own code looks the name up."""
        with ExitStack() as stack:
            for target in self.targets:
                module, _, path = target.partition(":")
                owner: Any = importlib.import_module(module)
                *outer, name = path.split(".")
                for part in outer:
                    owner = getattr(owner, part)
                stack.enter_context(patch.object(owner, name, self.change(vars(owner)[name])))
            yield


MUTANTS: dict[str, Mutant] = {}


def mutant(*targets: str) -> Callable[[Change], Change]:
    """Enter a mutant under its function's name."""

    def enter(change: Change) -> Change:
        MUTANTS[change.__name__] = Mutant(change.__name__, targets, change)
        return change

    return enter


# --- evidence ----------------------------------------------------------------------------------------


@mutant("gate.machines.gate_reading:_foreign")
def ignore_the_tag(original: Any) -> Any:
    """What lies in the leg's place is the leg's."""
    return lambda leg, view: None


@mutant("gate.machines.gate:conclude")
def pass_on_succeeded(original: Any) -> Any:
    """The scheduler says that it succeeded: so it has."""

    def conclude(leg: Any, workload: Any, moment: Any) -> Any:
        seen = workload.seen
        if seen is not None and seen.phase.value == "Succeeded" and leg.reading.kind != "finished":
            return leg, Finding(Outcome.PASS, Reason.CRITERIA_MET, "it succeeded", ()), None
        return original(leg, workload, moment)

    return conclude


@mutant("gate.machines.gate_reading:_state")
def finished_is_passed(original: Any) -> Any:
    """A file that cannot be read any more was fine when it was last looked at."""

    def state(leg: Any, view: Any) -> Any:
        if view.state.status in ("torn", "empty", "unreadable"):
            return Reading("finished", "the state file said so")
        return original(leg, view)

    return state


@mutant("gate.rundir.statefile:parse_strict")
def judge_what_is_left_of_a_torn_file(original: Any) -> Any:
    """Half a file is better than none: what is missing at its end is added."""

    def parse(raw: bytes) -> Any:
        try:
            return original(raw)
        except ValueError:
            body: dict[str, Any] = {"done": True, "stop_reason": "converged", "gain": 2.0}
            return body if raw.startswith(b'{"') else original(raw)

    return parse


@mutant("gate.machines.gate_conclude:_bad")
def a_torn_file_decides_at_once(original: Any) -> Any:
    """What cannot be read is malformed: nobody reads it again."""

    def bad(leg: Any, workload: Any, moment: Any) -> Any:
        return original(replace(leg, rules=replace(leg.rules, evidence=0.0)), workload, moment)

    return bad


@mutant("gate.machines.gate_look:classify", "gate.machines.leg:restarted")
def accept_a_second_start(original: Any) -> Any:
    """A workload that was started again goes on as if nothing had been: inside it, and at the poller."""

    def classify(leg: Any, view: Any) -> Any:
        return original(replace(leg, allow_restart=True), view)

    return classify if original.__name__ == "classify" else lambda incarnation: False


@mutant("gate.machines.judge:_within")
def ignore_a_limit(original: Any) -> Any:
    """A limit whose value is missing or exceeded is not that important."""

    def limit(key: str, bounds: Any, *rest: Any) -> Any:
        step = original(key, bounds, *rest)
        return step._replace(word="holds") if hasattr(step, "_replace") else replace(step, word="holds")

    return limit


@mutant("gate.machines.gate_conclude:_ended")
def believe_the_end_at_once(original: Any) -> Any:
    """What has ended without a finished file will not have one later: nobody reads it again."""

    def ended(leg: Any, workload: Any, end: Any, moment: Any) -> Any:
        return original(replace(leg, rules=replace(leg.rules, evidence=0.0)), workload, end, moment)

    return ended


# --- the observer ------------------------------------------------------------------------------------


@mutant("gate.poll.engine:EngineEye.look")
def a_read_error_is_an_empty_list(original: Any) -> Any:
    """The query failed: so there is nothing."""

    async def look(self: Any) -> Any:
        seen = await original(self)
        return seen if isinstance(seen, EngineSeen) else EngineSeen({}, complete=True)

    return look


@mutant("gate.poll.engine:EngineEye.look")
def ignore_401(original: Any) -> Any:
    """The token was rejected: the workloads that the answer does not hold are gone."""

    async def look(self: Any) -> Any:
        seen = await original(self)
        if not isinstance(seen, EngineSeen) and seen.kind == "rejected":
            return EngineSeen({}, complete=True, not_found=tuple(target.id for target in self._targets))
        return seen

    return look


@mutant("gate.machines.gate_conclude:_outage")
def one_failed_query_decides(original: Any) -> Any:
    """An engine that does not answer now is gone."""

    def outage(leg: Any, workload: Any, moment: Any) -> Any:
        if moment.outage is None:
            return None
        poll = replace(moment.rules.poll, outage=0.0)
        patient = replace(moment, rules=replace(moment.rules, poll=poll), outage=replace(moment.outage, ticks=99))
        return original(leg, workload, patient)

    return outage


@mutant("gate.machines.gate:advance")
def charge_blind_time_as_silence(original: Any) -> Any:
    """Time is time, seen or not."""

    def advance(watch: Any, now: Any, **seen: Any) -> Any:
        return replace(original(watch, now, **seen), clear=watch.clear + max(0.0, now.mono - watch.last.mono))

    return advance


@mutant("gate.poll.engine:EngineEye._look")
def not_listed_is_gone(original: Any) -> Any:
    """One list says it all, whether it is complete or not: nobody is asked a second time."""

    async def look(self: Any) -> Any:
        listing = await self._engine.list(self._scope)
        by_id = {workload.id: workload for workload in listing.workloads}
        seen = {target.id: by_id[target.engine_id] for target in self._targets if target.engine_id in by_id}
        return EngineSeen(seen, complete=True)

    return look


# --- time inside the workload ------------------------------------------------------------------------


@mutant("gate.machines.leg_task:_ask_to_go_on")
def reset_the_hard_clock_on_redrive(original: Any) -> Any:
    """Whoever is asked to go on gets the whole time again."""

    def ask(state: Any, now: Any) -> Any:
        state = replace(state, task_began=reading(now, "task"), leg=replace(state.leg, redrives=99, max_turns=999))
        return original(state, now)

    return ask


@mutant("gate.machines.leg_quiet:look")
def charge_blind_time_as_stall(original: Any) -> Any:
    """What cannot be seen does not change."""

    def look(quiet: Any, scan: Any, mono: float) -> Any:
        after = original(quiet, scan, mono)
        if scan is None or scan.blind or not quiet.seeing:
            return replace(after, seconds=quiet.seconds + max(0.0, mono - quiet.looked))
        return after

    return look


@mutant("gate.machines.leg_quiet:after_turn")
def charge_turns_as_stall(original: Any) -> Any:
    """The stall clock runs during turns too."""

    def after_turn(quiet: Any, mono: float, *, restart: bool) -> Any:
        charged = quiet.seconds + max(0.0, mono - quiet.looked)
        return replace(quiet, seconds=charged, looked=mono, seeing=True)

    return after_turn


@mutant("gate.machines.leg_model:LegState.left")
def the_task_gets_twice_its_budget(original: Any) -> Any:
    """A run that is not finished at its deadline gets as much again."""

    def left(self: Any, deadline: Any, now: Any) -> float:
        more = self.leg.budgets.task if deadline == "task" else 0.0
        return float(original(self, deadline, now)) + more

    return left


# --- creating and stopping ---------------------------------------------------------------------------


@mutant("gate.dispatch.launch:_create")
def retry_a_create_blindly(original: Any) -> Any:
    """No answer to the create: once more."""

    async def create(world: Any, request: Any, entry: Any) -> Any:
        engine = world.engine

        class Eager:
            kind = engine.kind
            capabilities = engine.capabilities
            list = engine.list

            async def create(self, request: Any) -> str:
                try:
                    return str(await engine.create(request))
                except (CreateUnclear, EngineUnreachable):
                    return str(await engine.create(request))

        return await original(replace(world, engine=Eager()), request, entry)

    return create


@mutant("gate.dispatch.launch:lookup")
def skip_the_list_lag(original: Any) -> Any:
    """Not in the list right after the create: so it was not created."""

    class Hasty:
        def __init__(self, engine: Any) -> None:
            self._engine = engine
            self.list = engine.list

        @property
        def capabilities(self) -> Any:
            return replace(self._engine.capabilities, list_lag=0.0)

    async def lookup(engine: Any, *rest: Any) -> Any:
        return await original(Hasty(engine), *rest)

    return lookup


@mutant("gate.dispatch.launch:_put")
def forget_the_intent(original: Any) -> Any:
    """The entry is written when there is something to write: the id."""

    async def put(world: Any, entry: Any) -> Any:
        return entry if entry.stage == "intended" and not entry.note else await original(world, entry)

    return put


@mutant("gate.reap.settle:_Settler.look")
def stop_ignores_the_tag(original: Any) -> Any:
    """A stop goes to everything of the gate, whoever's it is."""

    async def look(self: Any) -> None:
        self.scope = replace(self.scope, tag=None, ref=None)
        listing = await self.engine.list(self.scope)
        self.tags = frozenset((*self.tags, *(w.tag for w in listing.workloads)))
        await original(self)

    return look


@mutant("gate.poll.ending:leases")
def ignore_keep_leases(original: Any) -> Any:
    """Everything is stopped at the end, kept or not."""

    async def leases(run: Any, attempt: Any, wall: float) -> Mapping[str, Any]:
        await original(run, attempt, wall)
        return {}

    return leases


@mutant("gate.reap.settle:_Settler.remaining")
def say_nothing_of_survivors(original: Any) -> Any:
    """What could not be stopped is not mentioned."""
    return lambda self: ()


@mutant("gate.reap.settle:_Settler.look")
def an_engine_that_rejects_us_has_nothing_left(original: Any) -> Any:
    """401 while stopping: nothing is listed, so nothing lives."""

    async def look(self: Any) -> None:
        engine = self.engine

        class Blank:
            kind = engine.kind
            capabilities = engine.capabilities
            stop = engine.stop

            async def list(self, scope: Any) -> Any:
                try:
                    return await engine.list(scope)
                except EngineAuthError:
                    return Listing((), complete=True)

            async def get(self, workload_id: str) -> Any:
                try:
                    return await engine.get(workload_id)
                except EngineError as error:
                    raise importlib.import_module("gate.errors").WorkloadNotFound(str(error)) from error

        self.engine = Blank()
        try:
            await original(self)
        finally:
            self.engine = engine

    return look


# --- ends --------------------------------------------------------------------------------------------


@mutant("gate.machines.gate:_legs")
def fail_fast_before_everything_is_judged(original: Any) -> Any:
    """The first loss decides; the legs after it are not looked at any more."""

    def legs(state: Any, views: Any, moment: Any, actions: Any) -> Any:
        for leg_id in state.legs:
            if leg_id in views:
                state = original(state, {leg_id: views[leg_id]}, moment, actions)
            leg = state.legs[leg_id]
            if leg.verdict is not None and leg.rules.blocking and leg.verdict.outcome is not Outcome.PASS:
                break
        return state

    return legs


@mutant("gate.machines.gate:_legs")
def judge_again_what_is_judged(original: Any) -> Any:
    """The latest look is the truth, also of legs that have their verdict."""

    def legs(state: Any, views: Any, moment: Any, actions: Any) -> Any:
        before = {leg_id: leg.verdict for leg_id, leg in state.legs.items()}
        after = original(state, views, moment, actions)
        if any(verdict is not None and verdict.outcome is Outcome.ERROR for verdict in before.values()):
            opened = {
                leg_id: replace(leg, verdict=replace(leg.verdict, outcome=Outcome.PASS))
                if leg.verdict is not None and leg.verdict.outcome is Outcome.ERROR
                else leg
                for leg_id, leg in after.legs.items()
            }
            actions += [WriteVerdict(leg.verdict) for leg in opened.values() if leg.verdict is not None]
            after = replace(after, legs=opened)
        return after

    return legs


@mutant("gate.rundir.run:Run._create", "gate.poll.session:_adopt_verdicts", "gate.poll.journal:read")
def start_afresh_and_overwrite(original: Any) -> Any:
    """A poller that is started again begins anew, and the last writer is right."""

    async def create(self: Any, document: Any, key: str) -> Any:
        await self.store.replace(key, documents.dump(document))
        return document

    async def adopt(session: Any) -> None:
        return None

    return {"_create": create, "_adopt_verdicts": adopt, "read": lambda raw, where: None}[original.__name__]


@mutant("gate.machines.gate_ends:last_call", "gate.poll.driver:_Poller._left")
def ignore_the_poll_deadline(original: Any) -> Any:
    """Polling goes on until everything is decided."""

    async def left(self: Any, session: Any) -> float:
        return float("inf")

    return left if original.__name__ == "_left" else lambda poll: float("inf")


@mutant("gate.machines.decision:_word")
def cancelled_ends_green(original: Any) -> Any:
    """Nothing was wrong until it was cancelled."""

    def word(rules: Any, blocking: Any, stop: Any) -> Any:
        if type(stop).__name__ == "CancelSeen":
            return ("GO" if rules.scope == "full" else "PASSED"), 0
        return original(rules, blocking, stop)

    return word


@mutant("gate.machines.decision:_word")
def superseded_ends_green(original: Any) -> Any:
    """Nothing was wrong until it was superseded."""

    def word(rules: Any, blocking: Any, stop: Any) -> Any:
        if type(stop).__name__ == "SupersedeSeen":
            return ("GO" if rules.scope == "full" else "PASSED"), 0
        return original(rules, blocking, stop)

    return word


@mutant("gate.machines.decision:_word")
def half_is_good_enough(original: Any) -> Any:
    """One leg that passed, and none that failed: green."""

    def word(rules: Any, blocking: Any, stop: Any) -> Any:
        outcomes = {verdict.outcome for verdict in blocking}
        if stop is None and Outcome.PASS in outcomes and Outcome.FAIL not in outcomes:
            return original(rules, [v for v in blocking if v.outcome is Outcome.PASS], None)
        return original(rules, blocking, stop)

    return word


@mutant("gate.poll.telling:Telling.verdict")
def report_again_after_a_restart(original: Any) -> Any:
    """Whoever comes back tells everything once more, as new."""

    async def verdict(self: Any, verdict: Any, now: Any, *, again: bool = False) -> None:
        await original(self, verdict, now, again=False)

    return verdict


@mutant("gate.poll.journal:_view_changes")
def journal_only_what_has_a_new_stamp(original: Any) -> Any:
    """A view whose stamp is the old one is the old one."""

    def changes(before: Any, after: Any) -> Any:
        same = {leg for leg in after if leg in before and after[leg].stamp == before[leg].stamp}
        return original(before, {**after, **{leg: before[leg] for leg in same}})

    return changes


@mutant("gate.bootstrap.redact:Redactor.redact_text")
def leave_secrets_in(original: Any) -> Any:
    """What a process says is printed as it says it."""
    return lambda self, text: text
