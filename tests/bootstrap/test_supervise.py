"""The supervisor with real processes: how workloads end, and that nothing of them is left."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.bootstrap import containment_process as proc
from gate.bootstrap import exits
from gate.bootstrap.containment import end_workload, marked_processes
from gate.bootstrap.supervise import parse
from gate.bootstrap.supervise_files import Supervised
from gate.errors import UsageError
from tests.bootstrap.supervise_harness import (
    ESCAPE_ARTIST,
    LEVELS,
    PROGRAM,
    USERS,
    Bench,
    Workload,
    bench,
    kill,
    wait_until,
)

SLEEP = ("sleep", "300")


@pytest.fixture
def place() -> Iterator[Bench]:
    """What does not depend on the user is tried as the ordinary one."""
    with bench(USERS[-1]) as made:
        yield made


@pytest.fixture(params=LEVELS, ids="-".join)
def contained(request: pytest.FixtureRequest) -> Iterator[tuple[Bench, str]]:
    """A bench, and the level of containment to ask for."""
    user, level = request.param
    with bench(user) as made:
        yield made, level


def running(workload: Workload, members: int = 1) -> None:
    wait_until(lambda: workload.phase() == "running" and len(workload.members()) >= members)


def shell(text: str) -> tuple[str, ...]:
    return ("sh", "-c", text)


# --- ends --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 10])
def test_exit_code_is_passed_on_and_recorded(contained: tuple[Bench, str], code: int) -> None:
    made, level = contained
    workload = made.start(*shell(f"echo said; exit {code}"), isolation=level)
    assert workload.wait() == code
    status = workload.status()
    assert (status.phase, status.exit_code, status.reason) == ("ended", code, "exit")
    assert (status.containment, status.marked, status.survivors) == (level, True, ())
    assert status.started is not None
    assert status.ended is not None
    assert status.started <= status.ended <= time.time()
    assert "said" in workload.text()
    assert workload.record.stat().st_mode & 0o777 == 0o644


def test_namespace_falls_back_and_says_so_where_it_is_not_allowed() -> None:
    user = USERS[-1]
    with bench(user) as made:
        workload = made.start("true", isolation="namespace")
        assert workload.wait() == 0
        assert workload.status().containment == ("namespace" if user == "root" else "subreaper")
        assert user == "root" or "namespace: " in workload.text()


def test_time_out_ends_the_workload(contained: tuple[Bench, str]) -> None:
    made, level = contained
    workload = made.start(*SLEEP, isolation=level, timeout=0.3)
    assert workload.wait() == exits.TIMED_OUT
    assert (workload.status().reason, workload.status().exit_code) == ("timeout", exits.TIMED_OUT)


def test_what_finishes_in_the_grace_is_finished(place: Bench) -> None:
    workload = place.start(*shell("trap 'exit 0' TERM; sleep 300 & wait"), timeout=0.5)
    assert workload.wait() == 0
    assert workload.status().reason == "exit"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_is_passed_to_bootstrap(contained: tuple[Bench, str], number: signal.Signals) -> None:
    made, level = contained
    text = (
        "import signal,sys\n"
        "for n in (2, 15): signal.signal(n, lambda n, _: sys.exit(40 + n))\n"
        "print('ready!')\n"
        "signal.pause()"
    )
    workload = made.start(made.python, "-u", "-c", text, isolation=level)
    wait_until(lambda: "ready!" in workload.text())
    workload.process.send_signal(number)
    assert workload.wait() == 40 + number
    assert (workload.status().reason, workload.status().exit_code) == ("stopped", 40 + number)


def test_deaf_bootstrap_is_ended_after_the_grace(contained: tuple[Bench, str]) -> None:
    made, level = contained
    workload = made.start(*shell("trap '' TERM; echo ready!; sleep 300; sleep 300"), isolation=level, grace=0.3)
    wait_until(lambda: "ready!" in workload.text())
    workload.process.terminate()
    assert workload.wait() == exits.STOPPED
    assert workload.status().reason == "stopped"


def test_second_request_shortens_the_grace(place: Bench) -> None:
    workload = place.start(*shell("trap '' TERM; echo ready!; sleep 300; sleep 300"), grace=60.0)
    wait_until(lambda: "ready!" in workload.text())
    workload.process.terminate()
    wait_until(lambda: "asked to stop" in workload.text())
    workload.process.terminate()
    assert workload.wait(10) == exits.STOPPED


def test_bootstrap_that_is_killed_is_a_signal(contained: tuple[Bench, str]) -> None:
    made, level = contained
    workload = made.start(*shell("kill -KILL $$"), isolation=level)
    assert workload.wait() == 128 + signal.SIGKILL
    assert (workload.status().reason, workload.status().message) == ("signal", "bootstrap was ended by SIGKILL")


def test_command_that_does_not_exist_says_so(contained: tuple[Bench, str]) -> None:
    made, level = contained
    workload = made.start("/no/such/program", isolation=level)
    assert workload.wait() == 127
    assert "cannot run /no/such/program" in workload.text()


@pytest.mark.parametrize(
    "words", [[], ["--assignment"], ["--assignment", "x"], ["--other", "x", "--", "y"], ["--assignment", "x", "--"]]
)
def test_command_line_is_checked(words: list[str]) -> None:
    with pytest.raises(UsageError):
        parse(words)


def test_bad_assignment_has_its_own_code(tmp_path: Path) -> None:
    broken = tmp_path / "assignment.json"
    broken.write_text("{")
    words = [sys.executable, "-c", PROGRAM, "supervise", "--assignment", str(broken), "--", "true"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == exits.BAD_ASSIGNMENT
    assert str(broken) in done.stderr


# --- what bootstrap gets -----------------------------------------------------------------------------


def test_bootstrap_starts_clean(contained: tuple[Bench, str]) -> None:
    """Its own session, tag in the environment, no descriptor but the three, no signal ignored or blocked."""
    made, level = contained
    text = """
import os, signal
fds = [int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")]
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print("sid", os.getsid(0) == os.getpid(), "fds", sorted(fds))
print("tag", os.environ["GATE_TAG"], os.environ["GATE_WORKLOAD"])
print("interrupt", signal.getsignal(2) is signal.default_int_handler)
# glibc keeps 32 and 33 for itself, so nobody can reset them; GNU make hands them on ignored.
print("blocked", int(status["SigBlk"], 16), "ignored", int(status["SigIgn"], 16) & ~(3 << 31))
"""
    workload = made.start(made.python, "-c", text, isolation=level)
    assert workload.wait() == 0
    said = workload.text()
    assert "sid True fds [0, 1, 2]" in said
    assert f"tag {workload.assignment.tag} w" in said
    assert "interrupt True" in said
    # Python itself ignores SIGPIPE (13) and SIGXFSZ (25).
    assert f"blocked 0 ignored {1 << 12 | 1 << 24}" in said


def test_orphans_are_reaped(contained: tuple[Bench, str]) -> None:
    made, level = contained
    text = "for i in 1 2 3 4 5; do (sleep 0.01 &); done; sleep 0.3; echo ready!; exec sleep 300"
    workload = made.start(*shell(text), isolation=level)
    wait_until(lambda: "ready!" in workload.text())
    assert [pid for pid in proc.pids() if _is_zombie_below(pid, workload.process.pid)] == []
    workload.process.terminate()
    workload.wait()


def _is_zombie_below(pid: int, root: int) -> bool:
    fields = _stat(pid)
    if not fields or fields[0] != "Z":
        return False
    while fields and (pid := int(fields[1])) > 1:
        if pid == root:
            return True
        fields = _stat(pid)
    return False


def _stat(pid: int) -> list[str]:
    raw = proc.read(f"/proc/{pid}/stat").decode(errors="replace")
    return raw.rpartition(") ")[2].split()


# --- nothing is left ---------------------------------------------------------------------------------


def test_cc76814_nothing_is_left_of_an_escape_artist(contained: tuple[Bench, str]) -> None:
    """Double forks, setsid, no environment, no descriptors, deaf, renewing itself: all gone when bootstrap ends."""
    made, level = contained
    workload = made.start(made.python, "-c", f"{ESCAPE_ARTIST}\ntime.sleep(300)", isolation=level, grace=0.5)
    running(workload, members=6)
    workload.process.terminate()
    workload.wait()
    assert workload.members() == ()
    assert workload.status().survivors == ()


def test_nothing_is_left_when_bootstrap_ends_by_itself(contained: tuple[Bench, str]) -> None:
    made, level = contained
    workload = made.start(made.python, "-c", f"{ESCAPE_ARTIST}\nsys.exit(0)", isolation=level)
    assert workload.wait() == 0
    assert workload.members() == ()


def test_killed_supervisor_leaves_nothing_or_what_the_mark_finds(contained: tuple[Bench, str]) -> None:
    made, level = contained
    workload = made.start(made.python, "-c", f"{ESCAPE_ARTIST}\ntime.sleep(300)", isolation=level)
    running(workload, members=6)
    kill(workload.process)
    if level == "namespace":
        wait_until(lambda: workload.members() == (), 5)
        return
    assert len(marked_processes(workload.mark)) >= 6
    assert end_workload(workload.assignment.tag, "w", grace=0.2, bound=20) == ()
    assert workload.members() == ()


@pytest.mark.parametrize("delay", [0.0, 0.06, 0.12, 0.2])
def test_supervisor_killed_at_any_time_leaves_nothing_unfindable(contained: tuple[Bench, str], delay: float) -> None:
    made, level = contained
    workload = made.start(made.python, "-c", f"{ESCAPE_ARTIST}\ntime.sleep(300)", isolation=level)
    time.sleep(delay)
    kill(workload.process)
    # The child that was just forked may not carry the mark yet; it has it, or is dead, a moment later.
    deadline = time.monotonic() + 0.5
    while time.monotonic() < deadline:
        assert end_workload(workload.assignment.tag, "w", grace=0.0, bound=20) == ()
    assert workload.members() == ()


# --- keeping -----------------------------------------------------------------------------------------


def held(workload: Workload) -> Supervised:
    wait_until(lambda: workload.phase() == "keeping")
    return workload.status()


def test_failed_workload_is_held_open_and_no_longer(place: Bench) -> None:
    workload = place.start(*shell("setsid sleep 300 & exit 10"), keep_on_fail=1.0)
    status = held(workload)
    assert status.exit_code == 10
    assert status.ended is not None
    assert status.kept_until == pytest.approx(status.ended + 1.0)
    assert workload.members() != ()
    assert workload.wait(10) == 10
    assert workload.status().kept_until is None
    assert time.time() >= status.ended + 1.0


@pytest.mark.parametrize("code", [exits.LEGS_FINISHED, exits.STOPPED, exits.BAD_ASSIGNMENT])
def test_what_did_not_fail_is_not_held(place: Bench, code: int) -> None:
    workload = place.start(*shell(f"exit {code}"), keep_on_fail=300.0)
    assert workload.wait(10) == code


def test_lease_prolongs_then_shortens_then_goes(place: Bench) -> None:
    workload = place.start(*shell("exit 10"), keep_on_fail=30.0)
    first = held(workload).kept_until
    assert first is not None
    workload.lease(time.time() + 55)
    wait_until(lambda: (workload.status().kept_until or 0) > first + 10)
    workload.lease(time.time() + 20)
    wait_until(lambda: (workload.status().kept_until or 0) < first)
    workload.lease(None)
    assert workload.wait(10) == 10


def test_workload_that_passed_is_held_for_somebody_who_asked(place: Bench) -> None:
    workload = place.start(*shell("sleep 0.5"))
    workload.lease(time.time() + 300)
    held(workload)
    workload.process.terminate()
    assert workload.wait(10) == 0


def test_lease_of_its_own_run_does_not_hold_what_passed(place: Bench) -> None:
    workload = place.start(*shell("sleep 0.5"))
    workload.lease(time.time() + 300, holder=workload.assignment.run)
    assert workload.wait(10) == 0


def test_keeping_never_passes_the_time_out(place: Bench) -> None:
    workload = place.start(*shell("exit 10"), keep_on_fail=300.0, timeout=2.0)
    workload.lease(time.time() + 300)
    assert workload.wait(10) == 10
    assert workload.status().reason == "exit"


def test_stop_ends_keeping(place: Bench) -> None:
    workload = place.start(*shell("exit 10"), keep_on_fail=300.0)
    held(workload)
    workload.process.terminate()
    assert workload.wait(10) == 10
