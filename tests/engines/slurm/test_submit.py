"""What is asked of sbatch and scancel, and what their answers mean."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from gate.contracts import WorkloadRequest
from gate.engines.slurm import submit as module
from gate.engines.slurm.cli import Done, environment
from gate.engines.slurm.comment import LONGEST, decode, encode
from gate.engines.slurm.identity import SlurmId, parse
from gate.engines.slurm.limits import EARLY, WARNING, minutes
from gate.engines.slurm.options import problems_of
from gate.engines.slurm.submit import Program, cancel, submit, words_for
from gate.errors import (
    CreateUnclear,
    EngineAuthError,
    EngineError,
    EngineRefused,
    EngineUnreachable,
)
from gate.plan.model import Resources
from tests.conformance.engine_worlds import Job, plain_request
from tests.engines.slurm.recorded import NOTE

RUN_DIR = "/root/a%2Fb/g/runs/run-1"
FAILED = "sbatch: error: Batch job submission failed: "


def request(**changes: object) -> WorkloadRequest:
    return replace(plain_request(Job(tag="abcdefghij"), RUN_DIR), **changes)  # type: ignore[arg-type]


def resources(**changes: object) -> Resources:
    return replace(request().resources, **changes)  # type: ignore[arg-type]


def says(monkeypatch: pytest.MonkeyPatch, done: Done | Exception) -> list[list[str]]:
    """Slurm's next answer; returns what it is asked."""
    asked: list[list[str]] = []

    def run(words: list[str], seconds: float, given: str = "") -> Done:
        asked.append([*words, given])
        if isinstance(done, Exception):
            raise done
        return done

    monkeypatch.setattr(module, "run", run)
    return asked


def test_the_words_of_sbatch() -> None:
    wanted = resources(cpus=4, memory=(1 << 30) + 1, gpus=2, options={"partition": "mi300", "exclusive": True})
    words = words_for(
        request(resources=wanted), encode(NOTE), {"account": "ci", "partition": "cpu", "gpu_type": "h200"}
    )
    assert words == [
        "sbatch",
        "--parsable",
        "--no-requeue",
        "--export=NIL",
        "--job-name=g-w-abcdefghij",
        f"--comment={encode(NOTE)}",
        f"--chdir={RUN_DIR}",
        "--output=/root/a%%2Fb/g/runs/run-1/legs/.workloads/abcdefghij/w.%j.log",
        "--open-mode=append",
        "--time=4",
        "--signal=B:USR1@60",
        "--nodes=1",
        "--ntasks=1",
        "--cpus-per-task=4",
        "--mem=1025M",
        "--gres=gpu:h200:2",
        "--exclusive",
        "--partition=mi300",
        "--account=ci",
    ]


@pytest.mark.parametrize("timeout", [0.5, 60.0, 3600.0, 51_300.0])
def test_the_supervisors_time_out_comes_before_slurms_warning(timeout: float) -> None:
    assert minutes(timeout) * 60 - WARNING - EARLY > timeout


@pytest.mark.parametrize(
    ("done", "error"),
    [
        (Done(1, "", FAILED + "Invalid partition name specified"), EngineRefused),
        (Done(1, "", FAILED + "Requested node configuration is not available"), EngineRefused),
        (Done(1, "", FAILED + "Invalid account or account/partition combination specified"), EngineRefused),
        (Done(1, "", FAILED + "Job violates accounting/QOS policy (job submit limit)"), EngineRefused),
        (Done(1, "", FAILED + "Access/permission denied"), EngineAuthError),
        (Done(1, "", FAILED + "Protocol authentication error"), EngineAuthError),
        (Done(1, "", FAILED + "Unable to contact slurm controller (connect failure)"), EngineUnreachable),
        (Done(1, "", FAILED + "Socket timed out on send/recv operation"), CreateUnclear),
        (Done(1, "", FAILED + "Zero Bytes were transmitted or received"), CreateUnclear),
        (Done(-9, "", ""), CreateUnclear),
        (Done(0, "", ""), CreateUnclear),
        (Done(0, "Submitted batch job", ""), CreateUnclear),
        (TimeoutError("sbatch timed out after 30 s"), CreateUnclear),
        (EngineUnreachable("sbatch cannot be run: No such file or directory"), EngineRefused),
    ],
)
def test_answers_that_are_no_job(
    monkeypatch: pytest.MonkeyPatch, done: Done | Exception, error: type[EngineError]
) -> None:
    says(monkeypatch, done)
    with pytest.raises(EngineError) as raised:
        submit(request(), ["sbatch"], None, Program())
    assert type(raised.value) is error


@pytest.mark.parametrize("out", ["17\n", "17;cluster\n"])
def test_the_number_of_the_job(monkeypatch: pytest.MonkeyPatch, out: str) -> None:
    asked = says(monkeypatch, Done(0, out, "sbatch: some advice"))
    secret = Path("/home/user/it's/w.0123abcd")
    asked_for = request(env={"GATE_TAG": "abcdefghij", "GATE_X": "it's $HOME"})
    assert submit(asked_for, ["sbatch"], secret, Program(grace=7)) == 17
    script = asked[0][-1]
    assert "export GATE_X='it'\"'\"'s $HOME'\n" in script
    assert "GATE_TAG" not in script
    pyz = shlex.quote(f"{RUN_DIR}/staged/gate.pyz")
    assert f"\npython3 {pyz} supervise --assignment " in script
    assert "--grace 7 -- bootstrap --assignment " in script
    assert ". '/home/user/it'\"'\"'s/w.0123abcd'\n" in script


@pytest.mark.parametrize(
    ("done", "error"),
    [
        (Done(0, "", ""), None),
        (Done(1, "", "scancel: error: Kill job error on job id 99: Invalid job id specified"), None),
        (Done(1, "", "scancel: error: Kill job error on job id 9: Job/step already completing or completed"), None),
        (Done(1, "", "scancel: error: … Unable to contact slurm controller (connect failure)"), EngineUnreachable),
        (Done(1, "", "scancel: error: Kill job error on job id 9: Access/permission denied"), EngineAuthError),
        (Done(1, "", "scancel: a word of tomorrow"), EngineUnreachable),
        (TimeoutError("scancel timed out"), EngineUnreachable),
    ],
)
def test_cancelling(monkeypatch: pytest.MonkeyPatch, done: Done | Exception, error: type[EngineError] | None) -> None:
    asked = says(monkeypatch, done)
    own = SlurmId(9, "g-w-abcdefghij", "0123abcd")
    if error is None:
        cancel(own)
    else:
        with pytest.raises(error):
            cancel(own)
    assert asked == [["scancel", "--me", "--jobname=g-w-abcdefghij", "9", ""]]


def test_ids_say_number_name_and_key() -> None:
    own = SlurmId(9, "g-w-abcdefghij", "0123abcd")
    assert parse(str(own)) == own
    assert own.tag == "abcdefghij"
    for other in ("", "9", f"{own}0", "0:g-w-abcdefghij:0123abcd", "9:G:0123abcd", "9:g; rm:0123abcd"):
        assert parse(other) is None


def test_the_comment_holds_anything_and_keeps_its_size() -> None:
    odd = replace(NOTE, ref="refs/pull/1/é &legs=x\n", run="a b%20", legs=tuple(f"leg,{n}" for n in range(300)))
    text = encode(odd)
    assert text.isascii()
    assert text.isprintable()
    assert " " not in text
    assert len(text) <= LONGEST
    found = decode(text)
    assert found is not None
    assert replace(found, legs=()) == replace(odd, legs=())
    with pytest.raises(EngineRefused, match="Shorten the run id"):
        encode(replace(NOTE, run="x" * 1000))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("partition", "gpu --uid=0"),
        ("partition", "-gpu"),
        ("partition", ""),
        ("partition", ["gpu"]),
        ("account", "a,b"),
        ("qos", "$(id)"),
        ("constraint", "a b"),
        ("nodelist", "n1;n2"),
        ("exclusive", "maybe"),
        ("gpu_type", "h200:8"),
    ],
)
def test_options_that_are_none(key: str, value: object) -> None:
    (problem,) = problems_of({key: value}, "engine slurm")
    assert problem.startswith(f"engine slurm: {key} is ")


def test_options_that_are_some() -> None:
    good = {"partition": "gpu,cpu", "constraint": "[mi300x|h200]&nvme", "nodelist": "n[1-4],n7", "exclusive": False}
    assert problems_of(good, "resources.options") == []


def test_slurms_commands_get_no_options_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SBATCH_PARTITION", "SQUEUE_STATES", "SLURM_JOB_ID", "SACCT_FORMAT"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("SLURM_CONF", "/etc/x")
    env = environment()
    assert {name for name in env if name.startswith(("S", "LC"))} & {*os.environ} >= {"SLURM_CONF"}
    assert not {"SBATCH_PARTITION", "SQUEUE_STATES", "SLURM_JOB_ID", "SACCT_FORMAT"} & env.keys()
    assert env["LC_ALL"] == "C"
