"""Blocking calls with a deadline: a hung share delays nothing and stops nothing."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import anyio
import pytest

from gate.adapters.threads import Lane

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])


@BACKENDS
def test_value_and_error_come_back(backend: str) -> None:
    async def main() -> None:
        lane = Lane("t")
        assert await lane.call(5, lambda: 41 + 1) == 42
        with pytest.raises(ZeroDivisionError):
            await lane.call(5, lambda: 1 // 0)

    anyio.run(main, backend=backend)


@BACKENDS
def test_hung_calls_time_out_and_never_take_more_threads_than_the_limit(backend: str) -> None:
    release = threading.Event()
    late: list[int] = []

    async def main() -> None:
        lane = Lane(f"hung-{backend}", limit=2)
        for _ in range(2):
            with pytest.raises(TimeoutError, match="no answer within"):
                await lane.call(0.05, release.wait)
        with pytest.raises(TimeoutError):
            await lane.call(0.05, lambda: late.append(1))
        assert sum(t.name == f"gate-hung-{backend}" for t in threading.enumerate()) == 2
        release.set()
        assert await lane.call(5, lambda: 7) == 7

    anyio.run(main, backend=backend)
    assert late == [], "a call whose caller had given up must not take effect late"


def test_the_process_ends_although_a_call_hangs() -> None:
    program = (
        "import anyio, time\nfrom gate.adapters.threads import Lane\n"
        "async def main():\n"
        "    try: await Lane('x').call(0.05, lambda: time.sleep(60))\n"
        "    except TimeoutError: print('gave up', flush=True)\n"
        "anyio.run(main)\n"
    )
    before = time.monotonic()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "gave up\n"
    assert done.stderr == ""
    assert time.monotonic() - before < 20
