"""The report's page for 1,000 legs: how large it is, and how soon a browser shows it."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Row
from gate.report.html.render import render
from tests.browser.chromium import Chromium
from tests.report.html.scenes import crowd

LEGS = 1000
RUNS = 5


def rows() -> Iterator[Row]:
    """The page is made once, from a run in which most legs pass; the browser opens it from disk, each time anew."""
    run = crowd(LEGS)
    began = time.process_time()
    page = render(run.page()).encode()
    made = time.process_time() - began
    yield Row(
        what=f"the page of a run with {LEGS:,} legs",
        measured=len(page) / 1e6,
        limit=5,
        unit="MB",
        how=f"one HTML file; reading the run directory and writing it took {made:.1f} s of CPU",
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        path.write_bytes(page)
        paints = [_paint(path) for _ in range(RUNS)]
    yield Row(
        what="its first paint in headless Chromium",
        measured=statistics.median(paints),
        limit=2,
        unit="s",
        how=f"median of {RUNS} browsers started for it; the slowest took {max(paints):.2f} s",
    )


def _paint(path: Path) -> float:
    with Chromium() as browser:
        return browser.open(path).first_paint()
