"""An ERROR is true: what it says of engine, workload, evidence or time is what really happened.

Unknown is a state of the observer: it never fails a leg by itself, and ages out on a budget of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256

from gate.campaign.oracle import truth
from gate.campaign.views import API_FAULTS, BLURRED, LOOK, ROOT_FAULTS, befell
from gate.machines.gate import last_call
from gate.machines.verdict import Outcome, Reason, Verdict
from gate.rundir.formats import LegResult
from gate.simulate.played import Played, PlayedAttempt, PlayedWorkload, StateWritten, WrittenVerdict

ENGINE_WORDS: Mapping[Reason, tuple[str, ...]] = {
    Reason.OUT_OF_MEMORY: ("out_of_memory",),
    Reason.EVICTED: ("evicted", "preempted"),
    Reason.NODE_LOST: ("node_lost",),
    Reason.WORKLOAD_TIMEOUT: ("timeout",),
    Reason.IMAGE_UNAVAILABLE: ("image_unavailable",),
    Reason.UNSCHEDULABLE: ("unschedulable",),
}
PENDING: Mapping[Reason, tuple[str, ...]] = {
    Reason.EVICTED: ("phase_backwards",),
    Reason.IMAGE_UNAVAILABLE: ("image_missing",),
    Reason.UNSCHEDULABLE: ("unschedulable",),
}
"""What the engine says of a workload that still waits: the history of its phases does not hold it."""
ROUNDING = 1.0
API = (Reason.API_REFUSED, Reason.API_REJECTED, Reason.API_TIMED_OUT, Reason.API_GONE, Reason.API_ERROR)
EVIDENCE = (
    *(Reason.EVIDENCE_MALFORMED, Reason.EVIDENCE_UNREADABLE, Reason.EVIDENCE_AMBIGUOUS, Reason.EVIDENCE_FOREIGN),
)


def check(played: Played) -> Iterator[str]:
    """Every ERROR that was written, against the world."""
    for one in played.attempts:
        for written in one.verdicts:
            if written.verdict.outcome is Outcome.ERROR and written.effect:
                problem = _Case(played, one, written).problem()
                if problem:
                    yield f"{written.verdict.leg} is ERROR {written.verdict.reason.value}, and {problem}"


class _Case:
    def __init__(self, played: Played, one: PlayedAttempt, written: WrittenVerdict) -> None:
        self.played = played
        self.one = one
        self.at = written.at
        self.verdict: Verdict = written.verdict
        self.plan = one.attempt.plan
        self.leg = self.plan.leg(self.verdict.leg)
        self.workload = next(w for w in self.plan.workloads if self.verdict.leg in w.legs)
        self.tag = one.attempt.adopted.get(self.workload.id, one.attempt.tag)

    def problem(self) -> str:
        reason = self.verdict.reason
        if reason in ENGINE_WORDS:
            return self._engine_said(ENGINE_WORDS[reason])
        if reason in API:
            return self._outage()
        if reason in EVIDENCE:
            return self._evidence()
        rules: Mapping[Reason, Callable[[], str]] = {
            Reason.VANISHED: self._vanished,
            Reason.NEVER_STARTED: self._never_started,
            Reason.WORKLOAD_RESTARTED: self._restarted,
            Reason.POLL_DEADLINE: self._deadline,
            Reason.CREATE_REFUSED: self._refused,
            Reason.CREATE_UNCLEAR: self._unclear,
            Reason.ENDED_WITHOUT_RESULT: self._ended,
            Reason.WORKLOAD_STOPPED: self._stopped,
            Reason.VALUE_MISSING: self._value_missing,
            Reason.SILENT: lambda: "",  # held against what could be seen elsewhere
        }
        return rules.get(reason, self._own_word)()

    # --- what the world says -------------------------------------------------------------------------

    def _workloads(self) -> list[PlayedWorkload]:
        found = [w for w in self.played.workloads if (w.tag, w.workload) == (self.tag, self.workload.id)]
        return [w for w in found if not w.foreign]

    def _struck(self, *kinds: str) -> bool:
        return any(befell(self.played, frozenset(kinds)))

    def _engine_said(self, words: tuple[str, ...]) -> str:
        reasons = {seen.reason for w in self._workloads() for seen in w.history if seen.at <= self.at}
        if self._struck(*PENDING.get(self.verdict.reason, ())):
            return ""
        if reasons & set(words):
            return self._read_again()
        return f"the engine never said so (it said {sorted(reasons) or 'nothing'})"

    def _outage(self) -> str:
        if not self._struck(*API_FAULTS):
            return "the engine could be seen all the time"
        if self.verdict.reason is Reason.API_TIMED_OUT and self._struck("api_slow"):
            return ""  # each of its answers came, and all that a look needs together too late
        budget = self.plan.poll.outage
        longest = max((b.until - b.since for b in self._blind("engine") if b.since < self.at), default=0.0)
        if longest + self.plan.poll.interval + LOOK < budget:
            return f"it could not be seen for {longest:.0f} s at the most, allowed are {budget:.0f} s"
        return ""

    def _blind(self, what: str) -> list[_Window]:
        """Windows of blindness, those of one poller after the other taken together."""
        merged: list[_Window] = []
        found = [b for b in self.played.blind if b.what == what and b.process.startswith("poller")]
        for b in sorted(found, key=lambda b: b.since):
            if merged and b.since - merged[-1].until - self._nobody(merged[-1].until, b.since) <= LOOK:
                merged[-1] = _Window(merged[-1].since, max(merged[-1].until, b.until))
            else:
                merged.append(_Window(b.since, b.until))
        return merged

    def _nobody(self, since: float, until: float) -> float:
        """Seconds between in which nobody looked: one interval, and from a poller's death until the next has looked."""
        deaths = [poll.ended for poll in self.one.polls if since <= poll.ended <= until]
        return until - min(deaths) if deaths else self.plan.poll.interval

    def _evidence(self) -> str:
        if any(befell(self.played, BLURRED, self.verdict.leg)) or self._struck(*ROOT_FAULTS):
            return ""
        if self.verdict.reason is Reason.EVIDENCE_FOREIGN and not self._pointed():
            return ""
        states = [s for s in self._states() if s.at <= self.at]
        bad = [s for s in states if s.view.status != "ok" or truth(s.data or b"", self.leg.judge) == "unusable"]
        if not bad:
            return "nothing was wrong with its state file"
        if len({s.path for s in states}) > 1 or states[-1] is not bad[-1]:
            return ""
        good = max((s.at for s in states if s not in bad), default=0.0)
        since = min(s.at for s in bad if s.at > good)
        read = self.at - since
        return "" if read >= self.leg.budgets.evidence - ROUNDING else f"it was read again for {read:.0f} s only"

    def _states(self) -> list[StateWritten]:
        mine = (self.verdict.leg, self.tag)
        return [s for s in self.played.states if (s.leg, s.tag) == mine and not s.planted]

    def _pointed(self) -> bool:
        """Did the newest start live long enough to say whose its files are?"""
        lives = [life for life in self.played.legs if (life.leg, life.tag) == (self.verdict.leg, self.tag)]
        return bool(lives) and bool(max(lives, key=lambda life: life.began).pointers)

    def _value_missing(self) -> str:
        evidence = self.verdict.evidence
        if evidence is None or evidence.state.status != "ok":
            return "it rests on no state file that can be read"
        if any(befell(self.played, BLURRED, self.verdict.leg)):
            return ""
        held = [s for s in self._states() if sha256(s.data or b"").hexdigest() == evidence.state.sha256]
        really = truth(held[-1].data or b"", self.leg.judge) if held else "nobody's"
        return "" if really == "unusable" else f"its evidence is {really}"

    def _read_again(self) -> str:
        """What has ended without a result is read again for the evidence budget: a share may cache its absence."""
        ends = [w.ended for w in self._workloads() if w.ended is not None and w.ended < self.at]
        ends += [at for at, _ in self._own_results() if at <= self.at]
        if not ends:
            return ""
        read = self.at - min(ends)
        return "" if read >= self.leg.budgets.evidence - ROUNDING else f"it was read again for {read:.0f} s only"

    def _vanished(self) -> str:
        if self._struck("api_404", "create_twice"):
            return ""
        forgotten = any(w.ended is not None and w.ended <= self.at for w in self._workloads())
        if forgotten:
            return self._read_again()
        return "" if not self._workloads() else "the engine knew it all the time"

    def _never_started(self) -> str:
        waited = self.at - min((w.created for w in self._workloads()), default=self.at)
        if waited < self.plan.poll.queue - LOOK:
            return f"it had been queued for {waited:.0f} s only"
        started = any(at < self.at - 2 * self.plan.poll.interval for w in self._workloads() for at in w.running)
        excused = self._struck(
            "phase_backwards", "preempt", "state_delayed", "prepare_fails", *API_FAULTS, *ROOT_FAULTS
        )
        return "it had long started" if started and not excused else ""

    def _restarted(self) -> str:
        starts = [s for s in self.played.legs if (s.leg, s.tag) == (self.verdict.leg, self.tag) and s.began <= self.at]
        if self.leg.allow_restart:
            return "it is allowed to be"
        return "" if len(starts) > 1 else "it was started once"

    def _deadline(self) -> str:
        due = last_call(self.plan.poll)
        return "" if self.verdict.elapsed >= due - LOOK else f"only {self.verdict.elapsed:.0f} s had passed"

    def _refused(self) -> str:
        excused = self._struck("create_refused", "api_401", "api_403")
        return "" if excused else "nothing was refused"

    def _unclear(self) -> str:
        if self._struck("create_lost", "kill_dispatcher", "vanish", *API_FAULTS, *ROOT_FAULTS):
            return ""
        return "it was created, and could be found" if self._workloads() else ""

    def _ended(self) -> str:
        over = any(w.ended is not None and w.ended <= self.at for w in self._workloads())
        if not over and not self._results():
            return "" if self._struck("api_404") else "its workload goes on"
        return self._read_again()

    def _stopped(self) -> str:
        stopped = any(w.stops or w.ended is not None for w in self._workloads())
        return "" if stopped or self._results() else "nobody stopped it"

    def _results(self) -> list[Reason | None]:
        return [result.reason for at, result in self._own_results() if at <= self.at]

    def _own_results(self) -> list[tuple[float, LegResult]]:
        lives = [life for life in self.played.legs if (life.leg, life.tag) == (self.verdict.leg, self.tag)]
        return [result for life in lives for result in life.results]

    def _own_word(self) -> str:
        return "" if self.verdict.reason in self._results() else "its leg.json says nothing of the kind"


class _Window:
    def __init__(self, since: float, until: float) -> None:
        self.since = since
        self.until = until
