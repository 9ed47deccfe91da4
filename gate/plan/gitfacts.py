"""Which commit of which repository this is: from GitHub's environment, else from git, else from the folder."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 20.0
_REMOTE = re.compile(r"(?:^|[/:@])([^/:@]+)/([^/:]+?)(?:\.git)?/?$")


@dataclass(frozen=True, slots=True)
class GitFacts:
    """`owner/name` (or `local/<folder>`), full ref, full commit; the last two are "" outside git."""

    repository: str
    ref: str
    commit: str
    top: Path
    """The repository's top folder, or the one asked about."""


def git_facts(folder: Path, environ: Mapping[str, str]) -> GitFacts:
    """What is known of `folder`. GITHUB_* variables win: a runner's checkout is a detached head of a merge."""
    top = git(folder, "rev-parse", "--show-toplevel")
    root = Path(top) if top else folder
    remote = _owner_and_name(git(folder, "remote", "get-url", "origin") or "") if top else None
    repository = environ.get("GITHUB_REPOSITORY") or remote or f"local/{root.name or 'root'}"
    commit = _pull_head(environ) or environ.get("GITHUB_SHA") or git(folder, "rev-parse", "--verify", "-q", "HEAD")
    ref = environ.get("GITHUB_REF") or git(folder, "symbolic-ref", "-q", "HEAD") or commit
    return GitFacts(repository, ref, commit, root)


def git(folder: Path, *arguments: str) -> str:
    """Output of a git command that only reads; "" where git is missing, fails, or does not answer."""
    command = ["git", "-C", str(folder), "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else ""


def _owner_and_name(url: str) -> str | None:
    match = _REMOTE.search(url)
    return f"{match[1]}/{match[2]}" if match else None


def _pull_head(environ: Mapping[str, str]) -> str | None:
    """The commit that people see on a pull request: GITHUB_SHA is that of a merge nobody wrote."""
    path = environ.get("GITHUB_EVENT_PATH")
    if not path or not environ.get("GITHUB_EVENT_NAME", "").startswith("pull_request"):
        return None
    try:
        event = json.loads(Path(path).read_text(encoding="utf-8"))
        return str(event["pull_request"]["head"]["sha"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
