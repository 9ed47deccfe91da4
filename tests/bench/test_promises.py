"""What `make bench` measures, in short and as tests: those promises that need no tool beside Python."""

from __future__ import annotations

import pytest

from bench import latency, polling, startup
from bench.serving import engine_server

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def test_the_version_is_said_without_heavy_imports() -> None:
    (row,) = startup.rows()
    assert row.kept, row


def test_a_tick_over_a_thousand_legs_takes_less_than_half_a_second_of_cpu() -> None:
    with engine_server(polling.names(1000)) as url:
        cpu, memory = polling.product(url, 1000, 10, move=True)
    assert cpu <= 0.5
    assert max(memory) <= 80


def test_memory_is_small_and_flat() -> None:
    with engine_server(polling.names(8)) as url:
        memory = polling.product(url, 8, 5_000, move=False)[1]
    assert max(memory) <= 80
    # The first thousands of ticks still fill the interpreter's free lists.
    assert memory[-1] - memory[5] <= 1


def test_a_verdict_comes_within_an_interval_and_two_seconds() -> None:
    assert max(latency.verdicts()) <= latency.INTERVAL + 2


def test_a_cancel_is_noted_at_once_and_ends_soon_while_the_root_hangs() -> None:
    noted, ended = latency.cancel()
    assert noted <= 0.2
    assert ended <= 5
