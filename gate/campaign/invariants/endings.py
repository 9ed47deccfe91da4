"""What a run comes to: never green when superseded or cancelled, and no greener than its verdicts."""

from __future__ import annotations

from collections.abc import Iterator

from gate.campaign.views import LOOK
from gate.machines.verdict import Outcome
from gate.poll.superseding import EVERY
from gate.simulate.played import Played, PlayedAttempt, Poll

GREEN = ("GO", "PASSED")
CODES = {"GO": (0,), "PASSED": (0,), "NO-GO": (1,), "NOT MEASURED": (3,), "SUPERSEDED": (4,), "CANCELLED": (130, 143)}


def check_word(played: Played) -> Iterator[str]:
    """GO and PASSED take a PASS of every blocking leg, GO the full scope too; each word has its exit code."""
    for one in played.attempts:
        decision = one.decision
        if decision is None:
            continue
        blocking = [v for v in one.standing.values() if one.attempt.plan.leg(v.leg).blocking]
        passed = bool(blocking) and all(v.outcome is Outcome.PASS for v in blocking)
        failed = any(v.outcome is Outcome.FAIL for v in blocking)
        if decision.exit_code not in CODES[decision.word]:
            yield f"the decision is {decision.word}, its exit code {decision.exit_code}"
        if decision.word in GREEN and not passed:
            yield f"the decision is {decision.word}, and not every blocking leg passed"
        if decision.word == "GO" and one.attempt.plan.scope != "full":
            yield f"the decision is GO on the scope {one.attempt.plan.scope}"
        if decision.word == "NO-GO" and not failed:
            yield "the decision is NO-GO, and no blocking leg failed"
        if decision.word == "NOT MEASURED" and (passed or failed):
            yield "the decision is NOT MEASURED, and the blocking legs were measured"


def check_exit(played: Played) -> Iterator[str]:
    """A poller's exit code is its decision's, or that of a cancel."""
    for one in played.attempts:
        for poll in one.polls:
            decision, code = poll.decision, poll.exit_code
            if code is None or code in (130, 143):
                continue
            if decision is not None and code != decision.exit_code:
                yield f"{poll.process} exited with {code}, its decision says {decision.exit_code}"
            if decision is None and code in (0, 1):
                yield f"{poll.process} exited with {code} without a decision"


def check_cancelled(played: Played) -> Iterator[str]:
    """A poller that was asked to end says so, and its run is not green unless it had been decided before."""
    for struck in played.struck:
        if struck.fault.kind != "cancel":
            continue
        for one in played.attempts:
            for poll in one.polls:
                if poll.began < struck.at < poll.ended and poll.exit_code == 0:
                    yield f"{poll.process} was cancelled at {struck.at:.0f} s and exited green"
            if one.decision is None or one.decision.word not in GREEN or not _asked(one, struck.at):
                continue
            decided = min(written.at for written in one.decisions if written.effect)
            if decided > struck.at:
                yield f"attempt {one.attempt.attempt} was cancelled at {struck.at:.0f} s and is {one.decision.word}"


def _asked(one: PlayedAttempt, at: float) -> bool:
    return any(poll.began < at < poll.ended for poll in one.polls)


def check_superseded(played: Played) -> Iterator[str]:
    """A run behind which a newer one waits, and that can know it, is not green."""
    for struck in played.struck:
        if struck.fault.kind != "newer_run":
            continue
        for one in played.attempts:
            if one.attempt.run != played.run or one.decision is None:
                continue
            decided = min((w.at for w in one.decisions if w.effect), default=0.0)
            if one.decision.word in GREEN and _knew(one, struck.at, decided):
                yield f"a newer run waited from {struck.at:.0f} s on, and attempt {one.attempt.attempt} is green"
            if one.decision.word == "SUPERSEDED" and decided < struck.at:
                yield f"attempt {one.attempt.attempt} is superseded before any newer run waited"


def _knew(one: PlayedAttempt, since: float, decided: float) -> bool:
    """Did one poller live through two whole questions between the two moments?"""
    room = EVERY + 2 * one.attempt.plan.poll.interval + LOOK
    return any(min(poll.ended, decided) - max(poll.began, since) > room for poll in one.polls)


def polled(one: PlayedAttempt, at: float) -> Poll | None:
    """The poller that lived at this moment."""
    return next((poll for poll in one.polls if poll.began <= at <= poll.ended), None)
