"""The leg machine's small rules, a row each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.contracts import CommandResult, Scan, TurnEnd, TurnOutcome
from gate.machines import leg_quiet, leg_setup, leg_states, leg_turns
from gate.machines.clock import Now
from gate.machines.leg import restarted
from gate.machines.leg_model import LegState, Quiet, RunTurn, Turns
from gate.machines.verdict import StateView
from tests.bootstrap.legs import MARKER, agent_leg

NOTHING = Scan(changed=False, full=False, blind=False, entries=1)
CHANGED = replace(NOTHING, changed=True)
BLIND = replace(NOTHING, blind=True)


@pytest.mark.parametrize(
    ("text", "converged"),
    [
        (MARKER, True),
        (f"All done.\n\n{MARKER}\n\n  \n", True),
        (f"  {MARKER}  ", True),
        (f"{MARKER}\nOne more thing.", False),
        (f"I will say {MARKER}", False),
        (f"`{MARKER}`", False),
        (MARKER.lower(), False),
        ("", False),
        (" \n ", False),
    ],
)
def test_the_marker_is_the_last_line_that_is_not_empty(text: str, converged: bool) -> None:
    assert leg_setup.marked(text, MARKER) is converged


@pytest.mark.parametrize(
    ("looks", "seconds", "blind"),
    [
        ([(10, NOTHING), (30, NOTHING)], 30, 0),
        ([(10, NOTHING), (30, CHANGED), (45, NOTHING)], 15, 0),
        ([(10, NOTHING), (30, BLIND), (50, BLIND), (70, NOTHING), (75, NOTHING)], 15, 60),
        ([(10, BLIND), (30, CHANGED), (50, NOTHING)], 20, 30),
        ([(10, NOTHING), (5, NOTHING)], 10, 0),  # a clock that went back charges nothing
    ],
)
def test_only_seen_quiet_is_charged(looks: list[tuple[float, Scan]], seconds: float, blind: float) -> None:
    quiet = Quiet()
    for at, scan in looks:
        quiet = leg_quiet.look(quiet, scan, at)
    assert (quiet.seconds, quiet.blind) == (seconds, blind)


def test_a_turns_time_is_not_charged() -> None:
    quiet = leg_quiet.look(Quiet(), NOTHING, 10)
    assert leg_quiet.look(leg_quiet.after_turn(quiet, 1000, restart=False), NOTHING, 1005).seconds == 15
    assert leg_quiet.look(leg_quiet.after_turn(quiet, 1000, restart=True), NOTHING, 1005).seconds == 5


def view(path: str, version: int = 1) -> StateView:
    return StateView("ok", f"legs/leg/t/1-x/session/{path}/state.json", str(version))


@pytest.mark.parametrize(
    ("looks", "chosen"),
    [
        ([((), 1)], None),
        ([((view("a"),), 1)], "a"),
        ([((view("a"), view("b")), 1)], None),  # equal in everything: ambiguous
        ([((view("a"), view("b")), 1), ((view("a"), view("b", 2)), 1)], "b"),  # the one that changes
        ([((view("a"),), 1), ((view("a"), view("b")), 1)], "b"),  # the one that came later
        ([((view("a"),), 1), ((view("a", 2), view("b")), 2)], "b"),  # a later turn's beats all
        ([((view("a"), view("a/deep")), 1), ((view("a"), view("a/deep", 2)), 1)], "a"),  # nearest to the top
        ([((view("a"),), 1), ((), 1)], None),
    ],
)
def test_which_state_file_counts(looks: list[tuple[tuple[StateView, ...], int]], chosen: str | None) -> None:
    files = leg_states.begin(())
    for views, turns in looks:
        files = leg_states.look(files, views, turns)
    found = files.chosen.path if files.chosen is not None else None
    assert found == (view(chosen).path if chosen is not None else None)


TORN = replace(view("a"), status="torn")
EMPTY = replace(view("a"), status="empty")


@pytest.mark.parametrize(
    ("began", "looks", "chosen", "earlier"),
    [
        ((view("a"),), [(view("a"),)], None, ["a"]),
        ((view("a"),), [(view("a", 2),)], "a", []),
        ((view("a"),), [(view("a"), view("b"))], "b", ["a"]),
        ((view("a"),), [(), (view("a"),)], None, ["a"]),  # a share that hides it for a moment makes it no newer
        ((view("a"),), [(TORN,), (view("a"),)], None, ["a"]),
        ((TORN,), [(view("a"),), (view("a"),)], None, ["a"]),  # seen whole only now, and no younger for it
        ((TORN,), [(view("a"),), (view("a", 2),)], "a", []),
        ((EMPTY,), [(view("a"),)], "a", []),
        ((StateView("absent"),), [(view("a"),)], "a", []),
    ],
)
def test_a_state_file_that_is_older_than_the_task_counts_once_it_is_written(
    began: tuple[StateView, ...], looks: list[tuple[StateView, ...]], chosen: str | None, earlier: list[str]
) -> None:
    files = leg_states.begin(began)
    for views in looks:
        files = leg_states.look(files, views, 1)
    found = files.chosen.path if files.chosen is not None else None
    assert found == (view(chosen).path if chosen is not None else None)
    assert [one.path for one in files.earlier or ()] == [view(one).path for one in earlier]


def after(end: TurnEnd, *, resume: bool = True, **before: object) -> Turns:
    """The conversation after a turn that ended so."""
    ran = RunTurn(2, "nudge", 1 if resume else 2, resume, False, 100)
    turns = replace(Turns(count=2, running=ran, session=ran.session), **before)  # type: ignore[arg-type]
    outcome = TurnOutcome(end, "", "why", None, None, None, 0.5)
    state, _ = leg_turns.ended(LegState(agent_leg(), turns=turns), outcome, Now(5, 5, 5))
    return state.turns


@pytest.mark.parametrize("resume", [True, False])
@pytest.mark.parametrize("end", [TurnEnd.COMPLETED, TurnEnd.EMPTY, TurnEnd.FAILED, TurnEnd.TIMED_OUT, TurnEnd.KILLED])
def test_a_turn_that_was_heard_is_resumed_however_it_ended(end: TurnEnd, resume: bool) -> None:
    assert after(end, resume=resume).session == (1 if resume else 2)


@pytest.mark.parametrize("end", [TurnEnd.NO_START, TurnEnd.SESSION_USED, TurnEnd.UNAVAILABLE])
def test_a_start_that_nobody_heard_is_made_afresh(end: TurnEnd) -> None:
    assert after(end, resume=False).session is None
    assert after(end, resume=True).session == 1
    assert not after(end, resume=False).recap


def test_a_lost_conversation_is_counted_and_owed_a_recap_until_it_is_heard() -> None:
    lost = after(TurnEnd.SESSION_LOST)
    assert (lost.session, lost.recap, lost.recaps) == (None, True, 1)
    assert after(TurnEnd.NO_START, resume=False, recap=True).recap
    assert not after(TurnEnd.FAILED, resume=False, recap=True).recap


def test_cost_is_unknown_once_one_turn_is_unknown() -> None:
    assert after(TurnEnd.COMPLETED, cost_usd=0.25).cost_usd == 0.75
    assert after(TurnEnd.COMPLETED, cost_usd=None).cost_usd is None


def test_the_pause_grows_and_is_bounded() -> None:
    pauses = [
        leg_turns.backoff(LegState(agent_leg(stall=600), turns=Turns(fruitless=n))) for n in (1, 2, 3, 4, 5, 6, 999)
    ]
    assert pauses == [10, 20, 40, 80, 150, 150, 150]


@pytest.mark.parametrize(
    ("survivor", "busy"),
    [
        ("12 /usr/bin/pip install torch", True),
        ("12 python3 -m pip install torch", False),
        ("12 git clone https://x", True),
        ("12 make -j8", True),
        ("12 vllm serve model", False),
        ("12 [kworker]", False),
    ],
)
def test_what_looks_like_unfinished_set_up_work(survivor: str, busy: bool) -> None:
    assert leg_setup._unfinished(survivor) is busy


def test_incarnations() -> None:
    assert [restarted(name) for name in ("1-ab", "2-ab", "10-ab")] == [False, True, True]


def test_a_command_killed_by_a_signal_is_said_so() -> None:
    from gate.machines.leg_command import _ended  # noqa: PLC0415 - a private sentence

    assert _ended(CommandResult(-9, "")) == "was ended by signal 9"
    assert _ended(CommandResult(3, "oops\n")) == "ended with exit code 3 (its last output: oops)"
    said = _ended(CommandResult(1, "one\ntwo\r\n\n  three\nfour\n"))
    assert said == "ended with exit code 1 (its last output: two / three / four)", "a sentence is one line"
