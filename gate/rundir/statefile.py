"""State files: which files of an incarnation count as one, and one snapshot of one of them.

A snapshot is one open, one bounded read, one parse. It tells absent, empty, torn (a premature end), malformed (complete
and wrong), unreadable and foreign (outside the incarnation's directory) apart, and never defaults a value.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import itertools
import json
import os
import re
import stat
import subprocess
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gate.documents import Json, parse_strict
from gate.machines.verdict import Field, StateStatus, StateView

MAX_BYTES = 4 * 1024 * 1024
"""Longer state files are malformed: nothing that is judged needs more, and a poller reads a thousand of them."""
MAX_ENTRIES = 20_000
MAX_DEPTH = 16
READER_SECONDS = 10.0

Signature = tuple[int, int, int, int]
"""(inode, size, mtime_ns, ctime_ns): equal ones mean that the file was not changed."""

ABSENT = StateView("absent")

# What may stand where the parser stopped if the text is only cut off: the start of a word, or of a number's tail.
_CUT_WORD = re.compile(r"(t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\.|[eE][+-]?)\Z")
_CUT_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{0,4})?\Z")


def signature(found: os.stat_result) -> Signature:
    """What of a file's status changes whenever the file does."""
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


# --- the content -------------------------------------------------------------------------------------


def parse(raw: bytes, keys: Sequence[str], path: str) -> StateView:
    """The bytes of a whole state file as a view; `path` is what the view shows."""
    digest = hashlib.sha256(raw).hexdigest()

    def view(status: StateStatus, detail: str) -> StateView:
        return StateView(status, path, digest, len(raw), {}, detail)

    if len(raw) > MAX_BYTES:
        return view("malformed", f"too long: more than {MAX_BYTES} bytes")
    if not raw.strip(b" \t\r\n\0"):
        return view("empty", "nothing in it yet")
    try:
        body = parse_strict(raw)
    except ValueError as error:
        return view("torn" if _cut_off(error, raw) else "malformed", str(error))
    if not isinstance(body, dict):
        return view("malformed", "the top level is not an object")
    return StateView("ok", path, digest, len(raw), extract(body, keys))


def extract(body: Mapping[str, Json], keys: Sequence[str]) -> dict[str, Field]:
    """Look up dotted keys. At every level a literal key that itself contains dots wins, the longest one first."""
    return {key: _look_up(body, key) for key in keys}


def _look_up(body: Mapping[str, Json], key: str) -> Field:
    if key in body:
        value = body[key]
        return Field("container") if isinstance(value, (dict, list)) else Field("value", value)
    at = key.rfind(".")
    while at > 0:
        inner = body.get(key[:at])
        if isinstance(inner, dict):
            found = _look_up(inner, key[at + 1 :])
            if found.kind != "missing":
                return found
        at = key.rfind(".", 0, at)
    return Field("missing")


def _cut_off(error: ValueError, raw: bytes) -> bool:
    """Is `raw`, which failed to parse with `error`, the beginning of something that could be valid?"""
    cause = error.__cause__
    if isinstance(cause, UnicodeDecodeError):
        return cause.reason == "unexpected end of data"
    if not isinstance(error, json.JSONDecodeError):
        return False
    # A file system that lost its data in a crash leaves zeros where the rest was to be.
    text = raw.decode("utf-8").rstrip("\0").rstrip(" \t\r\n")
    if error.pos >= len(text) or error.msg.startswith("Unterminated string"):
        return True
    if "escape" in error.msg:
        return _CUT_ESCAPE.search(text) is not None and error.pos >= len(text) - 6
    return _CUT_WORD.match(text, error.pos) is not None


# --- one snapshot ------------------------------------------------------------------------------------


def read_state(
    base: str | os.PathLike[str],
    rel: str,
    keys: Sequence[str],
    *,
    shown: str,
    reader: Sequence[str] = (),
    canonical: bool = False,
) -> StateView:
    """One snapshot of the state file `rel` below the incarnation's directory `base`.

    `shown` is the path that the view carries (relative to the run directory). `reader` is an argv prefix that prints
    a file which this process may not read. `canonical`: no part of `base` is a link. Never raises: what went wrong is
    the view's status and detail.
    """
    home = os.fspath(base) if canonical else os.path.realpath(base)
    path = os.path.join(home, rel)  # noqa: PTH118 - a thousand legs a tick: pathlib costs more than the reads
    if os.path.isabs(rel) or not _inside(os.path.normpath(path), home):  # noqa: PTH117 - as above
        return StateView("foreign", shown, detail=f"{rel} is outside the leg's own directory")
    try:
        return _open_and_read(home, path, keys, shown)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return _through_link(home, path, keys, shown)
        if error.errno in (errno.EACCES, errno.EPERM) and reader:
            return _by_reader(home, path, keys, shown, reader)
        return _failed(error, shown)


def _failed(error: OSError, shown: str) -> StateView:
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return StateView("absent", shown)
    return StateView("unreadable", shown, detail=f"cannot be read: {os.strerror(error.errno or 0)}")


def _through_link(home: str, path: str, keys: Sequence[str], shown: str) -> StateView:
    real = os.path.realpath(path)
    if not _inside(real, home):
        return StateView("foreign", shown, detail="links to a place outside the leg's own directory")
    try:
        return _open_and_read(home, real, keys, shown)
    except OSError as error:
        return _failed(error, shown)


def _open_and_read(home: str, path: str, keys: Sequence[str], shown: str) -> StateView:
    # O_NONBLOCK: a FIFO under this name must not hang the reader; the path is checked on the open descriptor,
    # because a directory on the way may be swapped for a link between any check and the open.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode):
            return StateView("unreadable", shown, detail="not a regular file")
        if not _inside(os.readlink(f"/proc/self/fd/{handle}"), home):  # noqa: PTH115 - as above
            return StateView("foreign", shown, detail="lies outside the leg's own directory")
        raw = _read_bounded(handle)
        if signature(os.fstat(handle)) != signature(before):
            return StateView("torn", shown, size=len(raw), detail="changed while it was read")
    finally:
        os.close(handle)
    return parse(raw, keys, shown)


def _read_bounded(handle: int) -> bytes:
    parts: list[bytes] = []
    left = MAX_BYTES + 1
    while left > 0 and (part := os.read(handle, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _by_reader(home: str, path: str, keys: Sequence[str], shown: str, reader: Sequence[str]) -> StateView:
    if not _inside(os.path.realpath(path), home):
        return StateView("foreign", shown, detail="links to a place outside the leg's own directory")
    argv = [*reader, path]
    env = {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=READER_SECONDS, env=env, check=False
        )
    except subprocess.TimeoutExpired:
        return StateView("unreadable", shown, detail=f"{reader[0]}: no answer within {READER_SECONDS:g} s")
    except OSError as error:
        return StateView("unreadable", shown, detail=f"{reader[0]}: {os.strerror(error.errno or 0)}")
    if done.returncode == 0:
        return parse(done.stdout, keys, shown)
    said = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
    if "No such file or directory" in said[0]:
        return StateView("absent", shown)
    return StateView("unreadable", shown, detail=f"{reader[0]}: {said[0][:200]}")


def _inside(path: str, home: str) -> bool:
    return path.startswith(home + "/")


# --- which files count -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """What a walk found, as paths relative to the incarnation's directory, sorted.

    `strays` have a state file's name in a place that does not count. `truncated`: the walk was ended by its bounds.
    `denied` are directories that may not be listed. `visited` are all directories walked and their signatures:
    while those are equal, another walk would find the same.
    """

    counting: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    truncated: bool = False
    denied: tuple[str, ...] = ()
    visited: tuple[tuple[str, Signature | None], ...] = ()


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    out, i = "", 0
    while i < len(pattern):
        if pattern.startswith("**/", i):
            out, i = out + "(?:[^/]+/)*", i + 3
        elif pattern.startswith("**", i):
            out, i = out + ".*", i + 2
        else:
            out, i = out + {"*": "[^/]*", "?": "[^/]"}.get(pattern[i], re.escape(pattern[i])), i + 1
    return re.compile(out + r"\Z")


def counts(rel: str, globs: Sequence[str]) -> bool:
    """Does `rel` (below the incarnation's directory) count as a state file?

    Globs know `*`, `?` and `**` (any number of directories). A file directly in `session/` never counts: programs
    make a run directory of their own there, and a stray one at the top is not its result.
    """
    if rel.startswith("session/") and rel.count("/") == 1:
        return False
    return any(_compiled(glob).match(rel) for glob in globs)


def find_states(base: str | os.PathLike[str], globs: Sequence[str], *, everywhere: bool = False) -> Found:
    """Look for state files below the incarnation's directory `base`, without following links, within bounds.

    Walks only where `globs` can match; `everywhere` also looks for strays in the whole workspace (slow: for telling
    people why nothing counted). Never raises: what may not be listed is in `denied`.
    """
    walk = _Walk(os.fspath(base))
    counting, strays = sort_out((rel for top in tops(globs, everywhere) for rel in walk.files(top)), globs)
    return Found(counting, strays, walk.truncated, tuple(walk.denied), tuple(walk.visited))


def tops(globs: Sequence[str], everywhere: bool) -> tuple[str, ...]:
    """The directories to walk, none within another; "" is the incarnation's directory itself."""
    wanted = dict.fromkeys((*map(_fixed_part, globs), *(("session", "workspace") if everywhere else ())))
    return tuple(top for top in wanted if not any(top != o and (o == "" or top.startswith(f"{o}/")) for o in wanted))


def sort_out(files: Iterable[str], globs: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of these paths, those that count, and the strays: named like a state file, in a place that does not count."""
    names = tuple({glob.rpartition("/")[2] for glob in globs})
    counting: set[str] = set()
    strays: set[str] = set()
    for rel in files:
        if counts(rel, globs):
            counting.add(rel)
        elif any(_compiled(name).match(rel.rpartition("/")[2]) for name in names):
            strays.add(rel)
    return tuple(sorted(counting)), tuple(sorted(strays))


def _fixed_part(glob: str) -> str:
    """The directories of `glob` before its first wildcard."""
    fixed: list[str] = []
    for part in glob.split("/")[:-1]:
        if any(c in part for c in "*?"):
            break
        fixed.append(part)
    return "/".join(fixed)


class _Walk:
    """One bounded walk below `base`, over several starting points."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.left = MAX_ENTRIES
        self.truncated = False
        self.denied: list[str] = []
        self.visited: list[tuple[str, Signature | None]] = []

    def files(self, top: str) -> Iterator[str]:
        """Regular files below `top`, as paths relative to `base`: those nearest to the top first, within the bounds."""
        pending = deque([(top, 0)])
        while pending:
            rel, depth = pending.popleft()
            if depth > MAX_DEPTH or self.left <= 0:
                self.truncated = True
                continue
            entries = self._entries(rel)
            self.left -= len(entries)
            for entry in entries:
                inner = f"{rel}/{entry.name}" if rel else entry.name
                if entry.is_dir(follow_symlinks=False):
                    pending.append((inner, depth + 1))
                elif entry.is_file(follow_symlinks=False) or entry.is_symlink():
                    yield inner

    def _entries(self, rel: str) -> list[os.DirEntry[str]]:
        path = f"{self.base}/{rel}" if rel else self.base
        try:
            # The signature is taken before the listing: a change in between shows at the next comparison.
            before = os.lstat(path)
            self.visited.append((rel, signature(before)))
            if not stat.S_ISDIR(before.st_mode):
                return []
            with os.scandir(path) as found:
                entries = list(itertools.islice(found, self.left))
                self.truncated = self.truncated or next(found, None) is not None
                return entries
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR):
                self.visited.append((rel, None))
            else:
                self.denied.append(rel)
            return []
