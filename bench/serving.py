"""bench/server.py in a process of its own, for as long as a measurement lasts."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def engine_server(legs: Sequence[str]) -> Iterator[str]:
    """The URL of a running server with these workloads; it is gone when the context ends."""
    command = [sys.executable, "-m", "bench.server", *legs]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.stdin.close()
