"""One view of a leg's files, classified before time enters: whose it is, whether it can be read, whether it is done."""

from __future__ import annotations

from gate.contracts import LegView
from gate.machines.gate_state import Reading, ReadingKind
from gate.machines.judge import finished
from gate.machines.observations import LegRules
from gate.machines.verdict import Reason, StateStatus
from gate.rundir.formats import LegResult

STATUSES: dict[StateStatus, tuple[ReadingKind, str, Reason, bool]] = {
    "absent": ("nothing", "there is no state file yet", Reason.ENDED_WITHOUT_RESULT, False),
    # BigDataScript#89: outputs look empty on the reader under NFS load
    "empty": ("nothing", "the state file is still empty", Reason.ENDED_WITHOUT_RESULT, True),
    "torn": ("bad", "the state file is torn", Reason.EVIDENCE_MALFORMED, True),
    "malformed": ("bad", "the state file is malformed", Reason.EVIDENCE_MALFORMED, False),
    "unreadable": ("bad", "the state file cannot be read", Reason.EVIDENCE_UNREADABLE, True),
    "foreign": ("bad", "the state file is not of this run", Reason.EVIDENCE_FOREIGN, False),
    "ambiguous": ("bad", "more than one state file counts", Reason.EVIDENCE_AMBIGUOUS, False),
}


def classify(leg: LegRules, view: LegView) -> Reading:
    """What this view amounts to. Ownership comes first: nothing of another tag or start is ever judged."""
    if not view.incarnations:
        if view.problem:
            # Nothing can be told while the workload may still start; once it has ended, this is what stays wrong.
            return Reading("nothing", view.problem, Reason.EVIDENCE_UNREADABLE)
        return Reading("nothing", "bootstrap has not started yet")
    if len(view.incarnations) > 1 and not leg.allow_restart:
        starts = ", ".join(view.incarnations)
        return Reading("restarted", f"bootstrap was started {len(view.incarnations)} times ({starts})")
    foreign = _foreign(leg, view)
    if foreign is not None:
        return foreign
    return _state(leg, view)


def own_result(leg: LegRules, view: LegView | None) -> LegResult | None:
    """leg.json, where it is this leg's, of this tag and of the last start."""
    if view is None or view.result is None or not view.incarnations:
        return None
    result = view.result
    ours = (result.leg, result.tag, result.incarnation) == (leg.id, leg.tag, view.incarnations[-1])
    return result if ours else None


def _foreign(leg: LegRules, view: LegView) -> Reading | None:
    pointer = view.pointer
    if pointer is None:
        if view.state.status == "foreign":
            # Somebody else's leg.json, or a directory that is a link: that it can be read makes it no more ours.
            return _state(leg, view)
        if view.problem:
            return Reading("bad", view.problem, Reason.EVIDENCE_UNREADABLE, torn=True)
        if view.state.status == "absent":
            return Reading("nothing", "bootstrap has started, and written no session pointer yet")
        return Reading("bad", "no session pointer says whose the state file is", Reason.EVIDENCE_FOREIGN)
    for what, found, wanted in (
        ("tag", pointer.tag, leg.tag),
        ("leg", pointer.leg, leg.id),
        ("incarnation", pointer.incarnation, view.incarnations[-1]),
    ):
        if found != wanted:
            said = f"the session pointer is of {what} {found!r}, expected {wanted!r}"
            return Reading("bad", said, Reason.EVIDENCE_FOREIGN)
    return None


def _state(leg: LegRules, view: LegView) -> Reading:
    state = view.state
    because = f": {state.detail}" if state.detail else ""
    if state.status != "ok":
        kind, words, reason, torn = STATUSES[state.status]
        return Reading(kind, words + because, reason, torn)
    done = finished(leg.judge, state.fields)
    match done.word:
        case "yes":
            return Reading("finished", "the state file says finished")
        case "not_yet":
            return Reading("running", f"the state file is not finished: {done.sentence}")
        case "malformed":
            return Reading("bad", f"the state file is malformed: {done.sentence}", Reason.EVIDENCE_MALFORMED)
