"""Slurm's words to gate's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.bootstrap.supervise_files import Supervised
from gate.contracts import EndReason, Phase
from gate.engines.slurm.view import workload
from tests.engines.slurm.recorded import job, seen

RECORD = Supervised(tag="abcdefghij", workload="w", host="n3", pid=1, start=1, phase="ended")


@pytest.mark.parametrize(
    ("states", "code", "signal", "phase", "reason", "shown"),
    [
        (("COMPLETED",), 0, 0, Phase.SUCCEEDED, "exit", 0),
        (("FAILED",), 10, 0, Phase.FAILED, "exit", 10),
        (("FAILED",), 0, 9, Phase.FAILED, "exit", 137),
        (("FAILED",), 124, 0, Phase.FAILED, "timeout", 124),
        (("TIMEOUT",), 0, 0, Phase.FAILED, "timeout", None),
        (("OUT_OF_MEMORY",), 0, 9, Phase.FAILED, "out_of_memory", 137),
        (("NODE_FAIL",), 0, 0, Phase.FAILED, "node_lost", None),
        (("BOOT_FAIL",), 0, 0, Phase.FAILED, "node_lost", None),
        (("PREEMPTED",), 0, 15, Phase.FAILED, "preempted", 143),
        (("DEADLINE",), 0, 0, Phase.FAILED, "unschedulable", None),
        (("CANCELLED",), 0, 15, Phase.STOPPED, "stopped", None),
        (("CANCELLED", "COMPLETING"), 0, 15, Phase.RUNNING, "", None),
        (("COMPLETING",), 0, 0, Phase.RUNNING, "", None),
        (("SUSPENDED",), 0, 0, Phase.RUNNING, "", None),
        (("CONFIGURING",), 0, 0, Phase.PENDING, "", None),
        (("PENDING",), 0, 0, Phase.PENDING, "", None),
        (("REVOKED",), 0, 0, Phase.UNKNOWN, "", None),
        (("A_WORD_OF_TOMORROW",), 0, 0, Phase.UNKNOWN, "", None),
        ((), 0, 0, Phase.UNKNOWN, "", None),
    ],
)
def test_states(
    states: tuple[str, ...], code: int, signal: int, phase: Phase, reason: EndReason, shown: int | None
) -> None:
    found = workload(seen(job(*states, code=code, signal=signal)), None)
    assert (found.phase, found.reason, found.exit_code) == (phase, reason, shown)


@pytest.mark.parametrize(
    ("why", "code", "phase", "reason"),
    [
        ("out_of_memory", 137, Phase.FAILED, "out_of_memory"),
        ("timeout", 124, Phase.FAILED, "timeout"),
        ("stopped", 11, Phase.STOPPED, "stopped"),
        ("signal", 137, Phase.FAILED, "exit"),
        ("bug", 70, Phase.FAILED, "exit"),
    ],
)
def test_the_supervisor_says_why_where_slurm_knows_a_code_only(
    why: EndReason, code: int, phase: Phase, reason: EndReason
) -> None:
    record = replace(RECORD, reason=why, exit_code=code, message="its words")  # type: ignore[arg-type]
    found = workload(seen(job("FAILED", code=code)), record)
    assert (found.phase, found.reason, found.exit_code, found.message) == (phase, reason, code, "its words")


def test_a_record_with_another_code_is_not_about_this_end() -> None:
    found = workload(seen(job("FAILED", code=70)), replace(RECORD, reason="timeout", exit_code=124, message="old"))
    assert (found.reason, found.message) == ("exit", "")


def test_what_the_supervisor_holds_open_is_running_until_then() -> None:
    keeping = replace(RECORD, phase="keeping", exit_code=10, kept_until=99.0)
    found = workload(seen(job("RUNNING")), keeping)
    assert (found.phase, found.kept_until, found.message) == (Phase.RUNNING, 99.0, "held open after exit 10, on n3")
    assert workload(seen(job("FAILED", code=10)), keeping).kept_until is None


@pytest.mark.parametrize(
    ("reason", "why", "words"),
    [
        ("Resources", "", "waits for resources"),
        ("PartitionTimeLimit", "unschedulable", "Slurm will not start it as it is: PartitionTimeLimit"),
        ("ReqNodeNotAvail, UnavailableNodes:n7", "", "a node it asks for is not available"),
        ("Licenses", "", "pending: Licenses"),
        ("", "", ""),
    ],
)
def test_why_it_waits(reason: str, why: EndReason, words: str) -> None:
    found = workload(seen(job("PENDING", reason=reason)), None, position=3)
    assert (found.phase, found.reason, found.message, found.queue_position) == (Phase.PENDING, why, words, 3)


def test_a_job_that_was_never_started_has_no_exit_code() -> None:
    refused = replace(job("FAILED", reason="BadConstraints", signal=1), nodes="")
    found = workload(seen(refused), None)
    assert (found.phase, found.reason, found.exit_code) == (Phase.FAILED, "unschedulable", None)


def test_a_node_without_the_shared_root_is_named() -> None:
    found = workload(seen(job("FAILED", reason="JobLaunchFailure", signal=53)), None)
    assert found.message == "its output could not be opened: is the shared root mounted there?, on n3"


def test_doubt_decides_nothing() -> None:
    found = workload(replace(seen(job("RUNNING")), doubt="it left the queue"), None)
    assert (found.phase, found.message) == (Phase.UNKNOWN, "it left the queue")
