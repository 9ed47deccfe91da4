"""Trio's order of tasks, the same for the same seed. The one file that touches trio's insides.

Trio shuffles the tasks that are ready, so that nobody relies on their order. Two private hooks of its scheduler make
the shuffle repeatable; trio is pinned, and a test fails where a release moves them. `MockClock` is taken from where it
lies: `trio.testing` imports pytest where that is installed, for a tenth of a second.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import trio._core._run as scheduler
from trio._core._mock_clock import MockClock

__all__ = ["HOOKS", "MockClock", "deterministic"]

HOOKS = ("_ALLOW_DETERMINISTIC_SCHEDULING", "_r")


@contextmanager
def deterministic(seed: str) -> Iterator[None]:
    """Inside, a trio run schedules tasks as `seed` says."""
    before = {name: getattr(scheduler, name) for name in HOOKS}
    setattr(scheduler, HOOKS[0], True)
    setattr(scheduler, HOOKS[1], random.Random(seed))  # noqa: S311 - a simulation's order, no secret
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(scheduler, name, value)
