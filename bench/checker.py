"""Checks of the product's liveness over one tree; prints the seconds of each as JSON.

`python -m bench.checker TREE CHECKS`. The hot set is filled first: files change, and a full pass sees it. The measured
checks stand between two stat calls of paths that do not exist, by which a trace tells them apart.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from pathlib import Path

from gate.bootstrap.liveness import HOT, Liveness

BEGIN, END = "/gate-bench-begin", "/gate-bench-end"


def main() -> None:
    """Baseline, change, full pass, then the checks."""
    tree, checks = Path(sys.argv[1]), int(sys.argv[2])
    liveness = Liveness(tree)
    for _ in liveness.full_pass():
        pass
    liveness.take()
    for path in itertools.islice(tree.glob("*/*"), 2 * HOT):
        path.write_text("changed")
    for _ in liveness.full_pass():
        pass
    if not liveness.take().changed:
        raise SystemExit("a full pass did not see that files changed")
    Path(BEGIN).exists()
    seconds = []
    for _ in range(checks):
        started = time.perf_counter()
        liveness.check()
        seconds.append(time.perf_counter() - started)
    Path(END).exists()
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
