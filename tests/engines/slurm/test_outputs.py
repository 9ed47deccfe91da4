"""Recorded outputs of 22.05 and those of 24.11's shape, to jobs."""

from __future__ import annotations

import pytest

from gate.contracts import Phase
from gate.engines.slurm import accounting
from gate.engines.slurm.comment import decode
from gate.engines.slurm.jobs import SEPARATOR, Exit, Job, exit_of, from_text
from gate.engines.slurm.queue import parse_json, places
from gate.engines.slurm.view import phase_of
from gate.errors import EngineUnreachable
from tests.engines.slurm.recorded import recorded


def by_number(jobs: list[Job]) -> dict[int, Job]:
    return {job.id: job for job in jobs}


def test_squeue_of_22_05_as_text() -> None:
    lines = recorded("squeue-22.05.txt").splitlines()
    jobs = by_number([job for line in lines if (job := from_text(line)) is not None])
    assert {number: job.states for number, job in jobs.items()} == {
        12: ("FAILED",),
        13: ("RUNNING",),
        14: ("RUNNING",),
        15: ("PENDING",),
        16: ("FAILED",),
    }
    assert jobs[12].exit == Exit(7, 0)
    assert jobs[16].exit == Exit(0, 53)
    assert (jobs[14].nodes, jobs[15].nodes, jobs[15].reason) == ("n[1-2]", "", "Resources")
    assert jobs[15].priority > 0
    note = decode(jobs[12].comment)
    assert note is not None
    assert (note.repository, note.ref, note.key, note.legs) == ("local/test", "refs/heads/main", "0123abcd", ("a",))
    assert (jobs[16].comment, decode(jobs[16].comment)) == ("", None)


def test_squeue_of_22_05_as_json_says_the_same() -> None:
    jobs = by_number(parse_json(recorded("squeue-22.05.json")))
    assert (jobs[12].states, jobs[12].exit, jobs[12].nodes) == (("FAILED",), Exit(7, 0), "n3")
    assert jobs[13].states == ("CANCELLED",)
    assert jobs[16].exit == Exit(0, 53)
    assert decode(jobs[12].comment) is not None
    assert jobs[12].folder == "/tmp"


def test_squeue_of_24_11() -> None:
    jobs = by_number(parse_json(recorded("squeue-24.11.json")))
    assert {number: phase_of(job) for number, job in jobs.items()} == {
        12: Phase.FAILED,
        13: Phase.RUNNING,  # cancelled, and its processes still end
        14: Phase.RUNNING,
        15: Phase.PENDING,
        16: Phase.FAILED,
        17: Phase.FAILED,
    }
    assert (jobs[12].exit, jobs[13].exit, jobs[16].exit) == (Exit(7, 0), Exit(0, 15), Exit(0, 9))
    assert (jobs[14].restarts, jobs[12].priority) == (1, 4294901748)
    assert decode(jobs[15].comment) is not None


@pytest.mark.parametrize(
    "answer",
    ["", "<html>", "[]", "{}", '{"jobs": [], "errors": [{"description": "it is down", "error_number": 1}]}'],
)
def test_an_answer_that_is_none_is_an_outage(answer: str) -> None:
    with pytest.raises(EngineUnreachable):
        parse_json(answer)


def test_sacct_of_22_05() -> None:
    jobs = accounting.parse(recorded("sacct-22.05.txt"))
    # Two numbers were given out twice: an older cluster's jobs come first.
    assert [job.id for job in jobs] == [13, 14, 12, 13, 14, 15, 16]
    last = by_number(jobs)
    assert (last[13].states, last[13].by) == (("CANCELLED",), "0")
    assert (last[12].exit, last[16].exit) == (Exit(7, 0), Exit(0, 53))
    assert (last[15].nodes, last[14].folder) == ("", "/tmp")


def test_scontrol_of_22_05() -> None:
    job = accounting.parse_scontrol(recorded("scontrol-22.05.txt"))
    assert job is not None
    assert (job.id, job.name, job.states, job.exit) == (12, "g-w-abcdefghij", ("FAILED",), Exit(7, 0))
    assert (job.folder, job.partition, job.nodes, job.reason) == ("/tmp", "cpu", "n3", "NonZeroExitCode")
    note = decode(job.comment)
    assert note is not None
    assert note.legs == ("a",)


@pytest.mark.parametrize(
    ("text", "found"),
    [("1792", Exit(7, 0)), ("9", Exit(0, 9)), ("7:0", Exit(7, 0)), ("0:53", Exit(0, 53)), ("", Exit(0, 0))],
)
def test_exit_codes(text: str, found: Exit) -> None:
    assert exit_of(text) == found


def test_a_task_of_an_array_is_no_workload() -> None:
    assert from_text(SEPARATOR.join(["12_3", *[""] * 11])) is None


def test_places_in_line_are_by_priority_then_number_and_without_held_ones() -> None:
    rows = [("7", "10", "gpu", "Priority"), ("5", "10", "gpu", "Resources"), ("3", "90", "gpu", "JobHeldUser")]
    rows += [("9", "50", "gpu", "None"), ("8", "1", "cpu", "Priority")]
    text = "\n".join(SEPARATOR.join([*row, ""]) for row in rows)
    assert places(text) == {9: 1, 5: 2, 7: 3, 8: 1}
