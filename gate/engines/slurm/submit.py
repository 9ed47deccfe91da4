"""sbatch and scancel: what is asked of them, and what their answers mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gate.bootstrap.supervise import GRACE
from gate.contracts import WorkloadRequest
from gate.documents import Json
from gate.engines.slurm.cli import Done, down, problem_of, rejected, run
from gate.engines.slurm.comment import decode
from gate.engines.slurm.identity import SlurmId
from gate.engines.slurm.limits import WARNING, minutes
from gate.engines.slurm.options import words_of
from gate.engines.slurm.records import log_path
from gate.engines.slurm.script import Script, render
from gate.errors import CreateUnclear, EngineAuthError, EngineRefused, EngineUnreachable
from gate.plan import identity
from gate.rundir import layout

SUBMIT_SECONDS = 30.0
CANCEL_SECONDS = 20.0
_NEVER_SENT = ("connect failure", "connection refused", "unable to resolve", "munge encode failed")
_NOTHING_TO_DO = ("invalid job id", "already completing or completed", "job/step already", "no active jobs")


@dataclass(frozen=True, slots=True)
class Program:
    """What runs as the supervisor, and below it; `{pyz}` and `{assignment}` are the request's own."""

    supervisor: tuple[str, ...] = ("python3", "{pyz}", "supervise")
    bootstrap: tuple[str, ...] = ("bootstrap", "--assignment", "{assignment}")
    grace: float = GRACE


def words_for(request: WorkloadRequest, comment: str, parameters: Mapping[str, Json]) -> list[str]:
    """The words of sbatch. Nothing of the dispatcher's environment goes along, and Slurm starts nothing twice."""
    note = decode(comment)
    assert note is not None, comment
    output = log_path(request.run_dir, note, "\0")
    return [
        "sbatch",
        "--parsable",
        "--no-requeue",
        "--export=NIL",
        f"--job-name={request.name}",
        f"--comment={comment}",
        f"--chdir={request.run_dir}",
        # A repository `a/b` is the folder `a%2Fb`, and sbatch fills in what follows a per cent sign.
        f"--output={str(output).replace('%', '%%').replace(chr(0), '%j')}",
        "--open-mode=append",
        f"--time={minutes(request.timeout)}",
        f"--signal=B:USR1@{WARNING}",
        *words_of(request.resources, parameters),
    ]


def submit(request: WorkloadRequest, words: Sequence[str], secrets: Path | None, program: Program) -> int:
    """The new job's number.

    Raises EngineRefused, EngineAuthError, EngineUnreachable (nothing was sent), CreateUnclear.
    """
    try:
        done = run(words, SUBMIT_SECONDS, render(_script(request, secrets, program)))
    except TimeoutError as error:
        raise CreateUnclear(f"{request.name}: {error}") from error
    except EngineUnreachable as error:
        raise EngineRefused(error.message, hint=error.hint) from error
    return _number(request.name, done)


def _number(name: str, done: Done) -> int:
    said = f"{name}: sbatch: {done.said or f'exit code {done.code}'}"
    if done.code == 0:
        # "123", or "123;cluster"
        if found := re.match(r"\s*([0-9]+)\s*(;|$)", done.out):
            return int(found[1])
        raise CreateUnclear(f"{name}: sbatch answered {done.out.strip()[:80]!r}, which is no job's number")
    if any(word in done.err.lower() for word in _NEVER_SENT):
        raise EngineUnreachable(said, kind="refused")
    if done.code < 0 or down(done):
        raise CreateUnclear(said)
    if rejected(done):
        raise EngineAuthError(said, hint="Is this user known to the cluster, and does munge run here?")
    raise EngineRefused(said)


def cancel(own: SlurmId) -> None:
    """End the job, if it is still this workload's: number and name must agree.

    Raises EngineUnreachable, EngineAuthError.
    """
    try:
        done = run(["scancel", "--me", f"--jobname={own.name}", str(own.job)], CANCEL_SECONDS)
    except TimeoutError as error:
        raise EngineUnreachable(f"{own}: {error}", kind="timed_out") from error
    if done.code == 0 or any(word in done.err.lower() for word in _NOTHING_TO_DO):
        return
    raise problem_of("scancel", done)


def _script(request: WorkloadRequest, secrets: Path | None, program: Program) -> Script:
    names = {
        "{pyz}": str(Path(request.run_dir, layout.STAGED_PYZ)),
        "{assignment}": str(Path(request.run_dir, request.assignment)),
    }
    supervisor = [names.get(word, word) for word in program.supervisor]
    bootstrap = [names.get(word, word) for word in program.bootstrap]
    options = ["--assignment", names["{assignment}"], "--grace", f"{program.grace:g}"]
    # The tag is bootstrap's alone: the supervisor must not be found among the processes that it has to end.
    env = {k: v for k, v in request.env.items() if k not in (identity.ENV_TAG, identity.ENV_WORKLOAD)}
    return Script(request.name, env, secrets, [*supervisor, *options, "--", *bootstrap])
