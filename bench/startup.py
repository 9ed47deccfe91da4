"""`gate --version` against the imports of its two largest direct dependencies: heavy imports are lazy."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Row, wall

RUNS = 15
GATE = [str(Path(sys.executable).with_name("gate")), "--version"]
IMPORTS = [sys.executable, "-c", "import typer, rich"]


def rows() -> Iterator[Row]:
    """The two are measured in turn, so that a busy moment meets both."""
    wall(GATE), wall(IMPORTS)
    pairs = [(wall(GATE), wall(IMPORTS)) for _ in range(RUNS)]
    ours, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    yield Row(
        what='`gate --version` against `python -c "import typer, rich"`',
        measured=ours / theirs,
        limit=1.5,
        unit="times",
        how=f"medians of {RUNS} runs in turn: {ours * 1000:.0f} ms and {theirs * 1000:.0f} ms",
    )
