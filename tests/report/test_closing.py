"""The closing text of a decision."""

from __future__ import annotations

from gate.contracts import NewerRun
from gate.machines.observations import CancelSeen, SupersedeSeen
from gate.reap.remaining import Remaining
from gate.report.decision import Closing, closing
from gate.rundir.formats import Kept
from tests.machines.gate_world import BUSY, EPOCH, GOOD, INTERVAL, LOST, TAG, Player, leg, rules, view
from tests.report.reports import HOSTILE, OBEYED


def text_of(play: Player, **more: object) -> str:
    decision = play.decision
    assert decision is not None
    sentences = {name: verdict.sentence for name, verdict in play.verdicts.items()}
    return closing(Closing(decision, sentences, now=EPOCH, **more)).plain  # type: ignore[arg-type]


def test_a_go_is_short() -> None:
    play = Player(rules(leg("a"), leg("b")))
    play.tick(a=view(GOOD), b=view(GOOD, "b"))
    assert text_of(play) == " GO  all 2 blocking legs passed\n  ✔ 2 passed\nnext  gate status run\n"


def test_a_pass_on_less_than_full_says_so() -> None:
    play = Player(rules(scope="fast"))
    play.tick(a=view(GOOD))
    said = text_of(play)
    assert said.startswith(" PASSED (fast)  the blocking leg passed")
    assert "only a full pass is a release pass" in said


def test_a_loss_names_what_happened_what_burns_and_what_next() -> None:
    play = Player(rules(leg("a"), leg("b"), leg("c", blocking=False)))
    play.tick(a=view(BUSY), b=view(LOST, "b"), c=view(LOST, "c"))
    kept = Kept("b", TAG, EPOCH + 7200, "kept for post-mortem", "run")
    ended = Kept("a", TAG, EPOCH - 1, "kept for post-mortem", "run")
    left = Remaining("x", "id-x", "did not end within 2 min", "gate reap --run run")
    lines = text_of(play, kept=(kept, ended), remaining=(left,)).splitlines()
    assert lines[0].startswith(' NO-GO  leg b: stop_reason is "gave_up"')
    assert [line.split()[2] for line in lines[1:7:2]] == ["b", "a", "c"], "blocking legs first, worst first"
    assert "informing" in lines[5]
    assert "still running: workload b, until 2027-01-15T10:00:00Z (for 2 h more), kept for post-mortem" in lines[7]
    assert "stop it: gate stop --run run" in lines[7]
    assert "not seen gone: workload x (id-x): did not end within 2 min; remove it: gate reap --run run" in lines[8]
    assert [line.strip() for line in lines[9:]] == [
        "next  gate explain b --run run",
        "gate logs b --run run",
        "gate retry run",
    ]


def test_a_thousand_lost_legs_are_counted() -> None:
    play = Player(rules(*(leg(f"l{i}") for i in range(1000))))
    play.tick(INTERVAL, **{f"l{i}": view(LOST, f"l{i}") for i in range(1000)})
    said = text_of(play)
    assert "… and 980 more that did not pass" in said
    assert len(said.splitlines()) < 60


def test_cancelled_and_superseded_name_the_next_command() -> None:
    cancelled = Player(rules())
    cancelled.observe(CancelSeen(2))
    assert "next  gate retry run" in text_of(cancelled)
    assert "gate reap --run run" in text_of(cancelled)
    superseded = Player(rules())
    superseded.observe(SupersedeSeen(NewerRun("9", "c" * 40, "")))
    assert text_of(superseded).startswith(" SUPERSEDED  superseded by run 9")
    assert "gate stop --run run" in text_of(superseded)


def test_secrets_in_files_are_told_however_the_gate_went() -> None:
    play = Player(rules(leg("a")))
    play.tick(a=view(GOOD))
    found = ("workspace/log: TOKEN", "a: X", "b: X", "c: X")
    said = text_of(play, leaks={"a": found})
    assert "⚠ secrets in files of leg a: workspace/log: TOKEN, a: X, b: X and 1 more\n" in said


def test_flaky_and_carried_are_said() -> None:
    first = Player(rules())
    first.tick(a=view(GOOD))
    play = Player(rules(leg("a", carried=first.verdicts["a"]), leg("b", failed_before=True), attempt=2))
    play.tick(b=view(GOOD, "b"))
    said = text_of(play)
    assert "2 passed, 1 of them carried from an earlier attempt, only on a later attempt (flaky): b" in said


def test_hostile_text_is_text() -> None:
    play = Player(rules(leg(HOSTILE)))
    play.tick(INTERVAL, **{HOSTILE: view({**LOST, "stop_reason": HOSTILE}, HOSTILE)})
    left = Remaining(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    said = text_of(play, kept=(Kept(HOSTILE, TAG, EPOCH + 10, HOSTILE, "run"),), remaining=(left,))
    assert "[bold red]" in said
    assert not [char for char in OBEYED if char in said]
