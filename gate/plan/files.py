"""Which files beside gate.yaml a leg takes along."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gate.rundir import layout
from gate.rundir.statefile import counts

NEVER = frozenset((".git", "__pycache__", ".gate"))


@dataclass(frozen=True, slots=True)
class Taken:
    """What a leg takes along: paths relative to the folder of gate.yaml, sorted."""

    files: tuple[str, ...]
    missing: tuple[str, ...]
    """Globs that matched nothing."""
    results: tuple[str, ...]
    """Files asked for by name that would count as the leg's state file: an earlier result, not to be taken along."""
    left: tuple[str, ...]
    """The same, named by a command only, which is where it is going to write its result: they stay behind."""


def staged_files(folder: Path, globs: Iterable[str], commands: Iterable[str], state: Sequence[str]) -> Taken:
    """The files that `globs` match (a folder stands for all below it), and those that words of `commands` name.

    `state` are the leg's globs for its state file: what counts as one before the leg has begun is no evidence.
    """
    asked: set[str] = set()
    missing: list[str] = []
    for glob in globs:
        matched = {path for start in folder.glob(glob) for path in _regular(start)}
        asked.update(_relative(path, folder) for path in matched)
        if not matched:
            missing.append(glob)
    named = {
        _relative(path, folder) for command in commands for word in _words(command) if (path := _named(folder, word))
    }
    results = {name for name in asked | named if counts(f"{layout.WORKSPACE}/{name}", state)}
    return Taken(
        files=tuple(sorted((asked | named) - results)),
        missing=tuple(missing),
        results=tuple(sorted(results & asked)),
        left=tuple(sorted(results - asked)),
    )


def _regular(start: Path) -> Iterator[Path]:
    if start.is_dir():
        for path in sorted(start.rglob("*")):
            if path.is_file() and not NEVER.intersection(path.relative_to(start).parts):
                yield path
    elif start.is_file():
        yield start


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def _named(folder: Path, word: str) -> Path | None:
    """The regular file that `word` names below `folder`, or None: absolute, outside, a folder, or no path at all."""
    path = Path(word)
    if not word or "\0" in word or len(word) > 1000 or path.is_absolute() or ".." in path.parts:
        return None
    try:
        return folder / path if (folder / path).is_file() else None
    except OSError:
        return None  # longer than the file system allows: no file


def _words(command: str) -> Iterator[str]:
    """Words of a shell command, also those behind `=` and beside `;`, `|`, `&`, brackets and redirections."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        words = list(lexer)
    except ValueError:  # an open quote, as in a here-document: the shell will judge it
        words = re.split(r"[\s;|&()<>'\"]+", command)
    for word in words:
        yield word
        if "=" in word:
            yield word.partition("=")[2]
