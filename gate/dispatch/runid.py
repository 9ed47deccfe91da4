"""The id of a run."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping

from gate.errors import UsageError

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"


def run_id(given: str | None, ci: Mapping[str, str]) -> tuple[str, bool]:
    """The run's id, and whether it was made up here: the one given, else the CI run's, else date and four letters.

    Raises UsageError for an id that is no good as a name of a folder, a label and an argument.
    """
    if given is not None:
        if not _ID.fullmatch(given):
            raise UsageError(
                f"--run: {given!r} is no run id",
                hint="Letters, digits, `.`, `_` and `-`, at most 64, starting with a letter or a digit.",
            )
        return given, False
    if ci.get("GITHUB_RUN_ID"):
        return ci["GITHUB_RUN_ID"], False
    stamp = time.strftime("%Y%m%d-%H%M", time.gmtime())
    return f"{stamp}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}", True
