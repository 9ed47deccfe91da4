"""`python -m gate.testing.safe`: starts the server, prints its address, key and workspace, and runs until ended."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from pathlib import Path

from gate.testing.safe.app import Safe
from gate.testing.safe.pods import PretendedPods, RealPods
from gate.testing.safe.serve import served
from gate.testing.safe.switches import KEY, Switches


def main(argv: list[str] | None = None) -> int:
    """Returns 0 once it was asked to end."""
    asked = _parser().parse_args(argv)
    switches = Switches(
        keys={KEY: asked.role},
        lag=asked.lag,
        latency=asked.latency,
        queue=asked.queue,
        pull=asked.pull,
        gpus=asked.gpus,
        late_code=asked.late_code,
        logs=not asked.no_logs,
    )
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="gate-safe-") as folder:
        safe = Safe(switches, PretendedPods() if asked.pretend else RealPods(Path(folder)))
        with served(safe, asked.port) as url:
            print(json.dumps({"url": url, "key": KEY, "workspace": switches.workspace}), flush=True)  # noqa: T201 - the result
            signal.sigwait((signal.SIGINT, signal.SIGTERM))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gate.testing.safe", description="A Primus-SaFE server for tests.")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--role", choices=("member", "manager", "admin"), default="manager")
    parser.add_argument("--lag", type=float, default=0.0, metavar="S", help="of GET and LIST behind what was done")
    parser.add_argument("--latency", type=float, default=0.0, metavar="S", help="of every answer")
    parser.add_argument("--queue", type=float, default=0.0, metavar="S", help="before a workload is placed")
    parser.add_argument("--pull", type=float, default=0.0, metavar="S", help="between placing and running")
    parser.add_argument("--late-code", type=float, default=0.0, metavar="S", help="of exit codes behind phases")
    parser.add_argument("--gpus", type=int, default=8, help="of the whole workspace")
    parser.add_argument("--no-logs", action="store_true", help="no store for logs")
    parser.add_argument("--pretend", action="store_true", help="run nothing: workloads stay until they are stopped")
    return parser


if __name__ == "__main__":
    sys.exit(main())
