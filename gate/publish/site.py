"""Where an attempt reports to: the commit, the place of the comment, the page that a status links to."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gate.contracts import Place

_RUN = re.compile(r"/actions/runs/(\d+)")


@dataclass(frozen=True, slots=True)
class Site:
    """`sha`: the commit that gets statuses (a pull request's head). `number`: the pull request; None: the report is a
    comment on the commit. `url`: the run's page."""

    sha: str
    number: int | None
    url: str

    @property
    def place(self) -> Place:
        """Where the comment goes."""
        return Place(self.number, None) if self.number is not None else Place(None, self.sha)


def newer_url(theirs: str, ours: str) -> bool:
    """Is a status with the link `theirs` of a later run than ours? Only where both are pages of runs on GitHub."""
    found, mine = _RUN.search(theirs), _RUN.search(ours)
    return found is not None and mine is not None and int(found[1]) > int(mine[1])


def newer_run(theirs: tuple[str, int], ours: tuple[str, int]) -> bool:
    """Is (run, attempt) `theirs` later than ours? Ids that GitHub did not make say nothing about their order."""
    (their_run, their_attempt), (run, attempt) = theirs, ours
    if their_run == run:
        return their_attempt > attempt
    return their_run.isdecimal() and run.isdecimal() and int(their_run) > int(run)
