"""Outputs of a workflow's step: lines of the file that $GITHUB_OUTPUT names."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from pathlib import Path

from gate.errors import UsageError

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def write_outputs(outputs: Mapping[str, str], environ: Mapping[str, str]) -> bool:
    """Append `outputs` to $GITHUB_OUTPUT; False where there is none. Raises UsageError where it cannot be written.

    Values may hold anything, line ends included: each stands between two lines of a random delimiter, as a fixed one
    could be closed by a value that holds it.
    """
    place = environ.get("GITHUB_OUTPUT")
    if not place:
        return False
    text = "".join(_entry(name, value) for name, value in outputs.items())
    try:
        with Path(place).open("a", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            stream.write(text)
    except OSError as error:
        raise UsageError(f"GITHUB_OUTPUT: {place} cannot be written: {error.strerror}") from None
    return True


def _entry(name: str, value: str) -> str:
    assert _NAME.fullmatch(name), name
    delimiter = f"ghadelimiter_{uuid.uuid4()}"
    assert delimiter not in value
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"
