"""Bugs in gate: the log of one that happened, saved on the runner's own disk."""

from __future__ import annotations

import os
import platform
import re
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

from gate import __version__, places

_SENSITIVE = re.compile(r"key|token|secret|passw|credential|auth|cookie", re.IGNORECASE)
_LIBRARIES = ("typer", "rich", "httpx", "pydantic", "pyyaml", "jinja2", "anyio", "trio")
_HIDDEN: dict[str, str] = {}


def hide(secrets: Mapping[str, str]) -> None:
    """Keep these values (name to value) out of any log of a bug: they were resolved from files or commands."""
    _HIDDEN.update(secrets)


def save(error: BaseException, argv: Sequence[str]) -> Path:
    """Write traceback, arguments and versions, redacted, to a new file; return its path. Never raises OSError."""
    text = _redacted(_text(error, argv), os.environ)
    name = f"bug-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{os.getpid()}.log"
    for folder in (places.bug_logs(), Path("/tmp")):  # noqa: S108 - the name is made here and opened exclusively
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with (folder / name).open("x", encoding="utf-8") as stream:
                stream.write(text)
        except OSError:
            continue  # a full or read-only disk must not hide the bug itself: the next place, at last stderr
        return folder / name
    sys.stderr.write(text)
    return Path("/dev/stderr")


def _text(error: BaseException, argv: Sequence[str]) -> str:
    versions = [f"{name} {_version(name)}" for name in _LIBRARIES]
    lines = [
        f"gate {__version__}, Python {platform.python_version()}, {platform.platform()}",
        ", ".join(versions),
        f"arguments: {list(argv)}",
        f"folder: {Path.cwd()}",
        "",
        "".join(traceback.format_exception(error)),
    ]
    return "\n".join(lines)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _redacted(text: str, environment: Mapping[str, str]) -> str:
    """Without the values of environment variables whose names say that they are secret, in every form they take."""
    from gate.bootstrap.redact import SHORTEST, Redactor  # noqa: PLC0415 - only where there is a bug

    values = {k: v for k, v in environment.items() if _SENSITIVE.search(k) and len(v.strip().encode()) >= SHORTEST}
    return Redactor({**values, **_HIDDEN}).redact_text(text)
