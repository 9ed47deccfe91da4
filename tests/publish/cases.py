"""Attempts, verdicts and decisions as publishers find them, from words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gate import documents
from gate.machines.clock import Now
from gate.machines.decision import decide
from gate.machines.observations import CancelSeen, GateRules, LegRules, SupersedeSeen
from gate.machines.verdict import Outcome, Reason, Verdict
from gate.plan.model import Plan
from gate.publish.site import Site
from gate.rundir import layout
from gate.rundir.formats import Attempt, Decision
from gate.simulate.store import MemoryDisk
from tests.dispatch.plans import leg, plan
from tests.poll.worlds import RUN, TAG, attempt_of

SHA = "c0ffee" + "0" * 34
SITE = Site(SHA, 7, "https://github.example/o/r/actions/runs/12")
REASONS = {
    Outcome.PASS: Reason.CRITERIA_MET,
    Outcome.FAIL: Reason.NOT_ACCEPTED,
    Outcome.ERROR: Reason.OUT_OF_MEMORY,
    Outcome.NOT_JUDGED: Reason.FAIL_FAST,
}


def eight(*, informing: Sequence[str] = (), scope: str = "full", count: int = 8) -> Plan:
    """A plan of legs a, b, c …"""
    legs = [replace(leg(name), blocking=name not in informing) for name in "abcdefgh"[:count]]
    assert scope in ("full", "fast", "subset", "none")
    return replace(plan(legs), scope=scope)  # type: ignore[arg-type]  # checked above


def verdict(name: str, outcome: Outcome | str, *, blocking: bool = True, sentence: str = "so it was") -> Verdict:
    """A verdict in few words."""
    made = Outcome(outcome)
    return Verdict(name, blocking, made, REASONS[made], sentence, TAG, 1, 0.0, 60.0, None)


def decision(
    made: Plan, outcomes: Mapping[str, Outcome | str], stop: CancelSeen | SupersedeSeen | None = None
) -> Decision:
    """What the gate machine decides over these outcomes."""
    legs = tuple(
        LegRules(each.id, each.blocking, each.judge, TAG, each.id, 5.0, None, False, None, False) for each in made.legs
    )
    rules = GateRules(RUN, 1, TAG, made.scope, legs, (), made.poll, 0.0, True, "show")
    verdicts = {each.id: verdict(each.id, outcomes[each.id], blocking=each.blocking) for each in made.legs}
    return decide(rules, verdicts, Now(100.0, 100.0, 100.0), stop)


class Records:
    """A run directory that a test writes to as a poller would."""

    def __init__(self, made: Plan | None = None) -> None:
        self.disk = MemoryDisk()
        self.attempt: Attempt = attempt_of(made or eight())
        self.disk.write(layout.attempt(1), documents.dump(self.attempt))
        self.outcomes: dict[str, Outcome | str] = {}

    def judge(self, **outcomes: str) -> None:
        """Legs get their verdicts."""
        for name, outcome in outcomes.items():
            blocking = self.attempt.plan.leg(name).blocking
            self.outcomes[name] = outcome
            found = verdict(name, outcome, blocking=blocking)
            self.disk.write(layout.verdict(TAG, name), documents.dump(found))

    def decide(self, stop: CancelSeen | SupersedeSeen | None = None) -> Decision:
        """The attempt is decided; legs without a verdict were not judged."""
        self.judge(**{each.id: "NOT_JUDGED" for each in self.attempt.plan.legs if each.id not in self.outcomes})
        made = decision(self.attempt.plan, self.outcomes, stop)
        self.disk.write(layout.decision(TAG), documents.dump(made))
        return made
