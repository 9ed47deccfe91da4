"""Slurm's commands: each with a deadline, and what their complaints mean."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from gate.errors import EngineAuthError, EngineError, EngineUnreachable

_OURS = ("SBATCH_", "SQUEUE_", "SCANCEL_", "SACCT_", "SCONTROL_", "SLURM_")
_KEPT = ("SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_CLUSTERS")
_DOWN = (
    "unable to contact",
    "connect failure",
    "connection refused",
    "connection reset",
    "communication",
    "timed out",
    "zero bytes",
    "socket",
    "unable to resolve",
    "munge encode failed",
    "configuration source",
    "unexpected message received",
)
_REJECTED = ("authentication", "permission denied", "munge decode failed", "invalid credential", "not permitted")


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended. `code` is negative where a signal ended it."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Its complaint, as one line."""
        return "; ".join(line.strip() for line in (self.err or self.out).splitlines() if line.strip())[-400:]


def run(words: Sequence[str], seconds: float, given: str = "") -> Done:
    """Run one command of Slurm's, `given` on its standard input.

    Raises EngineUnreachable where it is not installed, TimeoutError where it does not end within `seconds`: a
    controller that is down keeps squeue waiting for nine seconds, one that hangs for ever.
    """
    try:
        done = subprocess.run(
            list(words), input=given.encode(), capture_output=True, timeout=seconds, check=False, env=environment()
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(f"{words[0]} timed out after {seconds:g} s") from error
    except OSError as error:
        raise EngineUnreachable(
            f"{words[0]} cannot be run: {error.strerror}", hint="Slurm's commands must be installed here and on PATH."
        ) from error
    return Done(done.returncode, _text(done.stdout), _text(done.stderr))


def answer(words: Sequence[str], seconds: float) -> str:
    """The output of a command that only reads. Raises EngineUnreachable, EngineAuthError."""
    try:
        done = run(words, seconds)
    except TimeoutError as error:
        raise EngineUnreachable(str(error), kind="timed_out") from error
    if done.code == 0:
        return done.out
    raise problem_of(words[0], done)


def problem_of(command: str, done: Done) -> EngineError:
    """What a failed command means; an answer that nobody knows is no answer."""
    said = f"{command}: {done.said or f'exit code {done.code}'}"
    if _says(done, _DOWN):
        return EngineUnreachable(said, kind="timed_out" if "timed out" in said.lower() else "refused")
    if _says(done, _REJECTED):
        return EngineAuthError(said, hint="Is this user known to the cluster, and does munge run here?")
    return EngineUnreachable(said)


def down(done: Done) -> bool:
    """Did the controller not answer, or not in time?"""
    return _says(done, _DOWN)


def rejected(done: Done) -> bool:
    """Did it answer that this user may not?"""
    return not down(done) and _says(done, _REJECTED)


def environment() -> dict[str, str]:
    """The environment of Slurm's commands: options come from gate alone, and messages in English.

    SBATCH_PARTITION or SQUEUE_STATES in somebody's profile, or the SLURM_* of the job that gate itself runs in, would
    change what is asked.
    """
    kept = {k: v for k, v in os.environ.items() if k in _KEPT or not k.startswith(_OURS)}
    return {**kept, "LC_ALL": "C"}


def _says(done: Done, words: tuple[str, ...]) -> bool:
    text = done.err.lower()
    return any(word in text for word in words)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")
