"""Jobs that leave the queue, numbers that are given out twice."""

from __future__ import annotations

from dataclasses import replace

from gate.contracts import Phase
from gate.engines.slurm.memory import PATIENCE, Memory, matching, recognise
from tests.engines.slurm.recorded import NOTE, job, seen


def test_only_what_a_gate_created_is_recognised() -> None:
    foreign = [replace(job("RUNNING"), comment=text) for text in ("", "hello", "gate/1?tag=x", "gate/2?gate=g")]
    assert recognise(foreign) == {}
    assert list(recognise([job("RUNNING")])) == [seen(job("RUNNING")).id]


def test_a_number_that_was_given_out_again_is_another_workload() -> None:
    own = seen(job("RUNNING")).id
    again = job("RUNNING", note=replace(NOTE, key="ffffffff"))
    assert matching(own, [again]) is None
    assert matching(own, [replace(job("RUNNING"), name="other")]) is None
    assert matching(own, [job("RUNNING", number=13)]) is None
    assert matching(own, [job("RUNNING"), again]) == job("RUNNING")
    # Accounting that keeps no comments: number and name are what there is.
    assert matching(own, [replace(job("RUNNING"), comment="")]) is not None


def test_the_forgotten_job_is_not_taken_for_the_one_that_has_its_number() -> None:
    memory, mine = Memory(), job("RUNNING")
    assert memory.take(recognise([mine])) == []
    again = job("RUNNING", note=replace(NOTE, key="ffffffff", tag="zzzzzzzzzz"))
    (vanished,) = memory.take(recognise([again]))
    assert vanished.id == seen(mine).id


def test_what_ended_stays_as_it_was_when_the_queue_forgets_it() -> None:
    memory, ended = Memory(), job("FAILED", code=10)
    memory.take(recognise([ended]))
    assert memory.take({}) == []
    assert memory.all() == [seen(ended)]


def test_not_found_is_never_success() -> None:
    memory = Memory()
    memory.take(recognise([job("RUNNING")]))
    vanished = memory.take({})
    memory.settle(vanished, {}, mono=100.0)
    (doubtful,) = memory.all()
    assert doubtful.phase is Phase.UNKNOWN
    memory.settle(memory.take({}), {12: [job("RUNNING")]}, mono=100.0 + PATIENCE)
    assert [each.phase for each in memory.all()] == [Phase.UNKNOWN]
    memory.settle(memory.take({}), {}, mono=100.1 + PATIENCE)
    assert memory.all() == []
    assert memory.lost(doubtful.id)


def test_accounting_that_cannot_be_asked_leaves_the_doubt() -> None:
    memory = Memory()
    memory.take(recognise([job("RUNNING")]))
    for _ in range(5):
        memory.doubt(memory.take({}), "accounting cannot be asked")
    (doubtful,) = memory.all()
    assert (doubtful.phase, doubtful.doubt) == (
        Phase.UNKNOWN,
        "it left Slurm's queue, and accounting cannot be asked",
    )


def test_accounting_says_how_it_ended_and_the_queue_where_it_was() -> None:
    memory = Memory()
    memory.take(recognise([job("RUNNING")]))
    bare = replace(job("FAILED", code=7), comment="", folder="", nodes="")
    memory.settle(memory.take({}), {12: [replace(bare, name="allocation"), bare]}, mono=1.0)
    (ended,) = memory.all()
    assert (ended.phase, ended.job.exit.code, ended.job.folder) == (Phase.FAILED, 7, "/root/r/g/runs/run-1")


def test_one_that_comes_back_is_believed() -> None:
    memory = Memory()
    memory.take(recognise([job("RUNNING")]))
    memory.settle(memory.take({}), {}, mono=1.0)
    assert memory.take(recognise([job("RUNNING")])) == []
    assert [each.phase for each in memory.all()] == [Phase.RUNNING]
