"""`make bench`: every measurement in one run, written to bench/README.md."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

from bench import campaign, engines, html, latency, liveness, polling, report, simulating, startup
from bench.measure import Row
from gate.errors import EXIT_REMAINS, EXIT_USAGE

TOOLS = ("curl", "jq", "strace", "find", "sort")
GROUPS: tuple[Callable[[], Iterator[Row]], ...] = (
    startup.rows,
    latency.rows,
    liveness.rows,
    polling.rows,
    html.rows,
    simulating.rows,
    campaign.rows,
    engines.rows,
)


def main() -> int:
    """0 where every promise is kept, 6 where one is not, 2 where a tool is missing."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print(f"bench: {', '.join(missing)} missing: apt-get install {' '.join(missing)}")
        return EXIT_USAGE
    rows: list[Row] = []
    for group in GROUPS:
        for row in group():
            rows.append(row)
            print(
                f"{'kept' if row.kept else 'NOT KEPT'}: {row.what}: {row.measured:.4g} {row.unit} ({row.how})",
                flush=True,
            )
    print(f"written to {report.write(rows)}")
    return 0 if all(row.kept for row in rows) else EXIT_REMAINS


if __name__ == "__main__":
    raise SystemExit(main())
