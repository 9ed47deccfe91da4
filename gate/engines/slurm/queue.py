"""What squeue shows: one call for all jobs of this user, and one for the line in front of those that wait."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from gate.documents import Json
from gate.engines.slurm.cli import Done, answer, problem_of, run
from gate.engines.slurm.jobs import FIELDS, SEPARATOR, Job, from_json, from_text
from gate.errors import EngineUnreachable

READ_SECONDS = 20.0
JSON_SINCE = (23, 2)
"""Older ones print every job of the cluster, whoever's and whatever was asked for."""
_HELD = ("JobHeldAdmin", "JobHeldUser", "Dependency", "DependencyNeverSatisfied", "BeginTime")
_GONE = "invalid job id"


def version() -> tuple[int, int]:
    """The installed Slurm's year and month. Raises EngineUnreachable."""
    said = answer(["squeue", "--version"], READ_SECONDS)
    if (found := re.search(r"(\d+)\.(\d+)", said)) is None:
        raise EngineUnreachable(f"squeue: it says no version, but {said.strip()!r}")
    return int(found[1]), int(found[2])


class Queue:
    """squeue, in whichever form can be trusted."""

    def __init__(self, known: tuple[int, int] | None = None) -> None:
        self._version = known

    def mine(self) -> list[Job]:
        """All jobs of this user that the controller knows, ended ones too.

        Raises EngineUnreachable, EngineAuthError.
        """
        return self._jobs(answer(self._words(), READ_SECONDS))

    def one(self, job: int) -> Job | None:
        """The job of this number, or None where the controller knows none. Errors as above."""
        words = [*self._words(), f"--jobs={job}"]
        try:
            done = run(words, READ_SECONDS)
        except TimeoutError as error:
            raise EngineUnreachable(str(error), kind="timed_out") from error
        if done.code != 0:
            if _unknown(done):
                return None
            raise problem_of("squeue", done)
        return next((each for each in self._jobs(done.out) if each.id == job), None)

    def _words(self) -> list[str]:
        self._version = self._version or version()
        common = ["squeue", "--me", "--states=all"]
        if self._version >= JSON_SINCE:
            return [*common, "--json"]
        return [*common, "--noheader", "--all", f"--Format={','.join(f'{f}:{SEPARATOR}' for f in FIELDS)}"]

    def _jobs(self, out: str) -> list[Job]:
        assert self._version is not None
        if self._version < JSON_SINCE:
            return [job for line in out.splitlines() if (job := from_text(line)) is not None]
        return parse_json(out)


def parse_json(out: str) -> list[Job]:
    """The jobs of `squeue --json`. Raises EngineUnreachable for an answer that is none."""
    try:
        body = json.loads(out)
        listed = body["jobs"]
        errors = body.get("errors") or []
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineUnreachable(f"squeue --json: not what it should be: {error!r}") from error
    if errors:
        raise EngineUnreachable(f"squeue --json: {_first(errors)}")
    return [job for each in listed if isinstance(each, Mapping) and (job := from_json(each)) is not None]


def positions(partitions: Iterable[str]) -> dict[int, int]:
    """The place of every waiting job in the line of its partition, 1 being next; held ones are in no line."""
    wanted = ",".join(sorted(set(partitions)))
    fields = ("JobID", "PriorityLong", "Partition", "Reason")
    out = answer(
        [
            "squeue",
            "--noheader",
            "--all",
            "--states=PENDING",
            f"--partition={wanted}",
            f"--Format={','.join(f'{f}:{SEPARATOR}' for f in fields)}",
        ],
        READ_SECONDS,
    )
    return places(out)


def places(out: str) -> dict[int, int]:
    """The same from squeue's output. Pure."""
    lines: dict[str, list[tuple[int, int]]] = {}
    for line in out.splitlines():
        number, priority, partition, reason, *_ = [*(part.strip() for part in line.split(SEPARATOR)), "", "", "", ""]
        if number.isdigit() and reason not in _HELD:
            lines.setdefault(partition, []).append((-int(priority or 0), int(number)))
    return {job: place for line in lines.values() for place, (_, job) in enumerate(sorted(line), 1)}


def _unknown(done: Done) -> bool:
    return _GONE in done.err.lower()


def _first(errors: Json) -> str:
    one = errors[0] if isinstance(errors, list) else errors
    return str(one.get("description") or one.get("error") or one) if isinstance(one, Mapping) else str(one)
