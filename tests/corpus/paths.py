"""Where the corpus lies, and its digest."""

from __future__ import annotations

import hashlib
from pathlib import Path

HERE = Path(__file__).parent
RUNS = HERE / "runs"
EXPECTED = HERE / "expected.json"
CHANGES = HERE / "CHANGES.md"

FOLDERS = ("gate/observations", "gate/verdicts", "gate/decisions")
"""What of a run directory an entry holds: what was observed, and what it came to."""


def names() -> tuple[str, ...]:
    """All entries, sorted."""
    return tuple(sorted(path.name for path in RUNS.iterdir() if path.is_dir()))


def files() -> tuple[Path, ...]:
    """Every file that the digest covers."""
    return (*sorted(path for path in RUNS.rglob("*") if path.is_file()), EXPECTED)


def digest() -> str:
    """Of all recorded runs and of what is expected of them."""
    found = hashlib.sha256()
    for path in files():
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(HERE).as_posix()} {content}\n".encode())
    return found.hexdigest()[:16]


def accepted() -> str:
    """The digest that CHANGES.md names last; "" where it names none."""
    lines = CHANGES.read_text(encoding="utf-8").splitlines() if CHANGES.exists() else []
    named = [line.split("`")[1] for line in lines if line.startswith("- `")]
    return named[-1] if named else ""
