"""Verdicts to word, exit code and cause."""

from __future__ import annotations

import pytest

from gate.contracts import NewerRun, Phase
from gate.machines.decision import Stop, decide, grouped, phrase, to_keep
from gate.machines.gate_state import WorkloadState
from gate.machines.observations import CancelSeen, SupersedeSeen, WorkloadRules
from gate.machines.verdict import Outcome, Reason, Verdict
from tests.machines.gate_world import TAG, at, leg, rules, workload

CODES = {
    "P": (Outcome.PASS, Reason.CRITERIA_MET),
    "F": (Outcome.FAIL, Reason.LIMIT_EXCEEDED),
    "E": (Outcome.ERROR, Reason.OUT_OF_MEMORY),
    "N": (Outcome.NOT_JUDGED, Reason.FAIL_FAST),
}
CANCEL, TERM = CancelSeen(2), CancelSeen(15)
NEWER = SupersedeSeen(NewerRun("9", "c" * 40, ""))


def verdict(name: str, code: str, sentence: str = "because", **more: bool) -> Verdict:
    outcome, reason = CODES[code.upper()]
    blocking = code.isupper()
    return Verdict(name, blocking, outcome, reason, sentence, TAG, 1, 0.0, 0.0, None, flaky=more.get("flaky", False))


def gate_of(codes: str) -> tuple[object, dict[str, Verdict]]:
    names = [f"l{i}" for i in range(len(codes))]
    made = rules(*(leg(n, blocking=c.isupper()) for n, c in zip(names, codes, strict=True)))
    return made, {n: verdict(n, c) for n, c in zip(names, codes, strict=True)}


@pytest.mark.parametrize(
    ("codes", "stop", "word", "code"),
    [
        # blocking legs in capitals, informing ones not
        ("P", None, "GO", 0),
        ("PP", None, "GO", 0),
        ("Pf", None, "GO", 0),
        ("Pe", None, "GO", 0),
        ("Pn", None, "GO", 0),
        ("PF", None, "NO-GO", 1),
        ("PE", None, "NOT MEASURED", 3),
        ("PN", None, "NOT MEASURED", 3),
        ("FE", None, "NO-GO", 1),
        ("EF", None, "NO-GO", 1),
        ("NF", None, "NO-GO", 1),
        ("NEp", None, "NOT MEASURED", 3),
        ("p", None, "NOT MEASURED", 3),
        ("f", None, "NOT MEASURED", 3),
        ("P", CANCEL, "CANCELLED", 130),
        ("F", TERM, "CANCELLED", 143),
        ("E", CANCEL, "CANCELLED", 130),
        ("P", NEWER, "SUPERSEDED", 4),
        ("F", NEWER, "SUPERSEDED", 4),
        ("E", NEWER, "SUPERSEDED", 4),
    ],
)
def test_word_and_exit_code(codes: str, stop: Stop, word: str, code: int) -> None:
    made, verdicts = gate_of(codes)
    decision = decide(made, verdicts, at(5), stop)  # type: ignore[arg-type]
    assert (decision.word, decision.exit_code) == (word, code)
    assert [row.leg for row in decision.legs] == list(verdicts)
    assert decision.cause


def test_causes_are_grouped_the_products_first() -> None:
    found = [
        verdict("a", "E"),
        verdict("b", "F", "crashes is 3"),
        verdict("c", "E"),
        verdict("d", "E"),
        verdict("e", "P"),
    ]
    assert grouped(found) == "leg b: crashes is 3; 3 legs (a, c, d): out of memory"


def test_a_long_group_is_counted() -> None:
    said = grouped([verdict(f"l{i}", "E") for i in range(12)])
    assert said == "12 legs (l0, l1, l2, l3, l4 and 7 more): out of memory"


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_words(reason: Reason) -> None:
    assert "_" not in phrase(reason)


def test_whom_to_keep() -> None:
    def one(name: str, phase: Phase = Phase.RUNNING, problem: str = "") -> WorkloadState:
        made = WorkloadRules(name, (name,), 60, problem)  # type: ignore[arg-type]
        return WorkloadState(made, None if problem else workload(name, phase))

    states = [
        one("p"),
        one("f"),
        one("n"),
        one("x", Phase.FAILED),
        one("r", problem="refused"),
        one("u", problem="unclear"),
        one("q", Phase.PENDING),
    ]
    codes = {"p": "P", "f": "F", "n": "N", "x": "E", "r": "E", "u": "E", "q": "E"}
    verdicts = {name: verdict(name, code) for name, code in codes.items()}
    # what was never seen, or still waits in the queue, has no supervisor to end its lease: it is stopped
    assert to_keep(states, verdicts) == ("f", "n")
    assert to_keep(states, verdicts, NEWER) == ("p", "f", "n")
    assert to_keep(states, verdicts, CANCEL) == ()


def test_a_shared_workload_is_kept_for_its_worst_leg() -> None:
    shared = WorkloadState(WorkloadRules("host", ("a", "b"), 60), workload("host"))
    assert to_keep([shared], {"a": verdict("a", "P"), "b": verdict("b", "F")}) == ("host",)
    assert to_keep([shared], {"a": verdict("a", "P"), "b": verdict("b", "P")}) == ()
