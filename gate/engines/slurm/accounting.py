"""What became of jobs that left the queue: accounting's word, else the controller's own memory.

"Not found" is never success (maestrowf#266: a finished job leaves squeue in minutes, and one tool took that for it).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gate.engines.slurm.cli import Done, problem_of, run
from gate.engines.slurm.jobs import SEPARATOR, Job, exit_of
from gate.errors import EngineUnreachable

READ_SECONDS = 20.0
AT_ONCE = 500
"""Job numbers on one command line."""
_FIELDS = ("JobIDRaw", "State", "ExitCode", "Reason", "Partition", "NodeList", "WorkDir", "JobName", "Comment")
_NO_ACCOUNTING = ("accounting storage is disabled", "accounting_storage/none", "not running a supported accounting")
_UNKNOWN = "invalid job id"


def ended(jobs: Sequence[int]) -> dict[int, list[Job]]:
    """What is known of these job numbers; several of one where it was given out again. Absent: nothing is known.

    Raises EngineUnreachable, EngineAuthError.
    """
    found: dict[int, list[Job]] = {}
    for start in range(0, len(jobs), AT_ONCE):
        some = jobs[start : start + AT_ONCE]
        for job in _sacct(some):
            found.setdefault(job.id, []).append(job)
    return found


def _sacct(jobs: Sequence[int]) -> list[Job]:
    words = ["sacct", "--allocations", "--duplicates", "--noheader", "--parsable2", f"--delimiter={SEPARATOR}"]
    done = _run([*words, f"--jobs={','.join(map(str, jobs))}", f"--format={','.join(_FIELDS)}"])
    if done.code == 0:
        return parse(done.out)
    if any(word in done.err.lower() for word in _NO_ACCOUNTING):
        return [job for number in jobs if (job := _remembered(number)) is not None]
    raise problem_of("sacct", done)


def parse(out: str) -> list[Job]:
    """The jobs in sacct's output, the newest of each number last. Pure."""
    found: list[Job] = []
    for line in out.splitlines():
        parts = line.split(SEPARATOR)
        if len(parts) < len(_FIELDS) or not parts[0].isdigit():
            continue
        number, state, code, reason, partition, nodes, folder, name, comment = parts[: len(_FIELDS)]
        # "CANCELLED by 1000"
        word, _, by = state.partition(" by ")
        found.append(
            Job(
                id=int(number),
                name=name,
                states=(word.strip("+ "),),
                reason="" if reason == "None" else reason,
                exit=exit_of(code),
                partition=partition,
                nodes="" if nodes == "None assigned" else nodes,
                folder=folder,
                comment=comment,
                by=by.strip(),
            )
        )
    return found


def _remembered(number: int) -> Job | None:
    done = _run(["scontrol", "show", "job", str(number), "--oneliner"])
    if done.code == 0:
        return parse_scontrol(done.out)
    if _UNKNOWN in done.err.lower():
        return None
    raise problem_of("scontrol", done)


def parse_scontrol(out: str) -> Job | None:
    """The job in the one line of `scontrol show job`. Pure."""
    # Values may hold blanks (a comment of somebody's), names never do.
    found = re.findall(r"(?:^| )([A-Za-z/:*]+)=(.*?)(?= [A-Za-z/:*]+=|\s*$)", out.strip())
    words = {name: value.strip() for name, value in found}
    if not words.get("JobId", "").isdigit():
        return None
    reason = words.get("Reason", "")
    return Job(
        id=int(words["JobId"]),
        name=words.get("JobName", ""),
        states=(words.get("JobState", ""),),
        reason="" if reason == "None" else reason,
        exit=exit_of(words.get("ExitCode", "")),
        restarts=int(words.get("Restarts", "0") or 0),
        partition=words.get("Partition", ""),
        nodes=words.get("NodeList", "").replace("(null)", ""),
        folder=words.get("WorkDir", ""),
        comment=words.get("Comment", ""),
    )


def _run(words: Sequence[str]) -> Done:
    try:
        return run(words, READ_SECONDS)
    except TimeoutError as error:
        raise EngineUnreachable(str(error), kind="timed_out") from error
