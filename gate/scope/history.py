"""A repository's history, read with git and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from gate.errors import ScopeError

TIMEOUT = 60.0
"""Seconds for a command that only reads …"""
FETCH = 30.0
"""… and for one that asks another machine."""
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""What git compares a first commit with."""
ZERO = re.compile(r"0{40,64}")
SHALLOW = "Check out with `fetch-depth: 0` (actions/checkout), or run `git fetch --unshallow`."


@dataclass(frozen=True, slots=True)
class History:
    """The repository that `folder` lies in. Every method raises ScopeError where git fails in a way nobody expects."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    """Beside this process's: how git logs in, for instance."""

    @classmethod
    def of(cls, folder: Path) -> History:
        """The history around `folder`. Raises ScopeError where there is none."""
        return cls(cls(folder).top())

    def top(self) -> Path:
        """The repository's top folder. Raises ScopeError where there is none."""
        found = self._run("rev-parse", "--show-toplevel")
        if found.returncode != 0:
            hint = "`gate scope` compares two commits."
            raise ScopeError(f"{self.folder} is in no git repository: {_said(found)}", hint=hint)
        return Path(_text(found))

    def commit(self, name: str) -> str | None:
        """The full id of the commit that `name` means, or None where this clone has no such commit."""
        if name.startswith("-"):
            raise ScopeError(f"{name!r} is no name of a commit")
        found = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if found.returncode != 0 or self._run("cat-file", "-e", _text(found)).returncode != 0:
            return None
        return _text(found)

    def merge_base(self, one: str, other: str) -> str | None:
        """The newest commit that both have in their past, or None."""
        found = self._run("merge-base", one, other)
        if found.returncode > 1:
            raise ScopeError(f"git cannot compare {one[:10]} and {other[:10]}: {_said(found)}")
        return _text(found) or None

    def parent(self, commit: str) -> str | None:
        """Its first parent, or None where it is a first commit."""
        return self.commit(f"{commit}^1")

    @property
    def shallow(self) -> bool:
        """Was only a part of the history fetched?"""
        return _text(self._run("rev-parse", "--is-shallow-repository")) == "true"

    def default_branch(self) -> str | None:
        """The remote's default branch as a name for `commit`, or None."""
        found = self._run("symbolic-ref", "--quiet", "refs/remotes/origin/HEAD")
        if found.returncode == 0:
            return _text(found)
        names = ("refs/remotes/origin/main", "refs/remotes/origin/master")
        return next((name for name in names if self.commit(name) is not None), None)

    def changed(self, base: str, head: str) -> tuple[str, ...]:
        """Every path that differs; a renamed file is there under both names."""
        found = self._checked("diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", base, head, "--")
        return tuple(os.fsdecode(path) for path in found.split(b"\0") if path)

    def name_before(self, base: str, head: str, path: str) -> str | None:
        """Under which other name `path` was there at `base`, or None where it was not renamed."""
        found = self._checked(
            "diff", "--name-status", "--find-renames", "--no-ext-diff", "--diff-filter=R", "-z", base, head, "--"
        )
        words = [os.fsdecode(word) for word in found.split(b"\0") if word]
        return {new: old for old, new in zip(words[1::3], words[2::3], strict=True)}.get(path)

    def content(self, commit: str, path: str) -> bytes | None:
        """A file's bytes at `commit`, or None where it is not there."""
        listed = self._checked("ls-tree", "-z", "--full-tree", commit, "--", path)
        kind = listed.split(b"\t", 1)[0].split()
        if len(kind) != 3 or kind[1] != b"blob":
            return None
        return self._checked("cat-file", "blob", kind[2].decode())

    def fetch(self, commit: str) -> bool:
        """Get a commit that this clone lacks, with its past; False where the remote does not hand it out."""
        if re.fullmatch(r"[0-9a-fA-F]{40,64}", commit) is None:
            return False
        found = self._run("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "origin", commit, timeout=FETCH)
        return found.returncode == 0

    def _checked(self, *arguments: str) -> bytes:
        found = self._run(*arguments)
        if found.returncode != 0:
            hint = SHALLOW if self.shallow else ""
            raise ScopeError(f"git {arguments[0]} failed in {self.folder}: {_said(found)}", hint=hint)
        return found.stdout

    def _run(self, *arguments: str, timeout: float = TIMEOUT) -> subprocess.CompletedProcess[bytes]:
        command = ["git", "-C", str(self.folder), "--no-optional-locks", "-c", "core.quotePath=false", *arguments]
        environ = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **self.environ}
        try:
            return subprocess.run(
                command, capture_output=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL, env=environ
            )
        except FileNotFoundError:
            raise ScopeError("git is not on PATH", hint="`gate scope` compares two commits with it.") from None
        except subprocess.TimeoutExpired:
            raise ScopeError(f"git {arguments[0]} did not answer within {timeout:g} s in {self.folder}") from None


def _text(found: subprocess.CompletedProcess[bytes]) -> str:
    return os.fsdecode(found.stdout).strip()


def _said(found: subprocess.CompletedProcess[bytes]) -> str:
    """What git said, in one line."""
    lines = found.stderr.decode(errors="replace").strip().splitlines()
    return lines[0].removeprefix("fatal: ") if lines else f"exit code {found.returncode}"
