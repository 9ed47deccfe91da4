"""What commands print: results on stdout, what goes on meanwhile on stderr, JSON for programs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gate.documents import Json, encode
from gate.errors import RunHeld, leaves
from gate.reap.remaining import Remaining


def say(line: str) -> None:
    """One line about what goes on, where it disturbs no pipe."""
    sys.stderr.write(f"{plain(line)}\n")
    sys.stderr.flush()


def tell(line: str = "") -> None:
    """One line of the result."""
    sys.stdout.write(f"{plain(line)}\n")


def tell_json(value: object) -> None:
    """The result for programs: one JSON value, dataclasses as objects."""
    body: Json = [encode(one) for one in value] if isinstance(value, (list, tuple)) else encode(value)
    text = json.dumps(body, ensure_ascii=False, allow_nan=False, indent=1)
    # Half an emoji, cut by a program that counts UTF-16: JSON can hold it, a stream of UTF-8 only escaped.
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode() + "\n")


def plain(text: str) -> str:
    """`text` without characters by which it could write to the terminal as something else than text.

    Names, reasons and logs come from engines and agents: an escape sequence in one could rewrite what stands above it.
    """
    return "".join(char if char.isprintable() or char == "\t" else _shown(char) for char in text)


def _shown(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 0x100 else f"\\u{ord(char):04x}"


def table(rows: Sequence[Sequence[str]]) -> None:
    """Rows in aligned columns; the first row is the heading."""
    if len(rows) < 2:
        return
    widths = [max(len(plain(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        tell("  ".join(plain(cell).ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def remaining(left: Sequence[Remaining]) -> None:
    """The survivors and how to remove each, on stderr: whatever else is said, this is."""
    if not left:
        return
    say(f"{len(left)} remain{'s' if len(left) == 1 else ''}:")
    for one in left:
        say(f"  {one.workload}  {one.engine_id or '(no id)'}  {one.why}")
        say(f"    remove it: {one.command}")


@contextmanager
def unwatched(run: str) -> Iterator[None]:
    """Whatever ends a poll without an end of its own says that the run's workloads may live on, and what to do.

    Not where another process holds the run: that one watches it.
    """
    try:
        yield
    except Exception as error:
        if any(isinstance(leaf, RunHeld) for leaf in leaves(error)):
            raise
        say(f"run {run} is not watched any more, and its workloads may live on")
        say(f"  go on: gate poll {run}   or end them: gate reap --run {run}")
        raise


def moment(wall: float) -> str:
    """A wall time for people, in their time zone."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(wall))
