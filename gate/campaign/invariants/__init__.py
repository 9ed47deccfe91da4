"""Every promise that a campaign checks after each gate."""

from __future__ import annotations

from collections.abc import Mapping

from gate.campaign.invariants import (
    deadlines,
    endings,
    errors,
    evidence,
    hidden,
    replay,
    reports,
    secrets,
    stalls,
    tags,
    verdicts,
    workloads,
)
from gate.campaign.violation import Check, Violation
from gate.simulate.played import Played

INVARIANTS: Mapping[str, Check] = {
    "evidence": evidence.check,
    "verdict-unchanged": verdicts.check_unchanged,
    "verdicts-complete": verdicts.check_complete,
    "one-word": verdicts.check_one_word,
    "one-report": reports.check,
    "gone-or-listed": workloads.check_gone,
    "no-silent-leak": workloads.check_silent,
    "created-once": workloads.check_once,
    "kept": workloads.check_kept,
    "own-tag-only": tags.check,
    "poll-deadline": deadlines.check_poll,
    "bootstrap-returns": deadlines.check_bootstrap,
    "stall-not-blind": stalls.check_legs,
    "silence-not-blind": stalls.check_silence,
    "no-secret": secrets.check,
    "nothing-hidden": hidden.check,
    "errors-are-true": errors.check,
    "word": endings.check_word,
    "exit-code": endings.check_exit,
    "cancelled-not-green": endings.check_cancelled,
    "superseded-not-green": endings.check_superseded,
    "replay": replay.check,
}
"""Name to check. Those that compare two plays are in `restarts`."""


def violations(played: Played) -> tuple[Violation, ...]:
    """Every broken promise of one played gate."""
    return tuple(Violation(name, said) for name, check in INVARIANTS.items() for said in check(played))
