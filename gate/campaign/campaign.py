"""Many gates one after the other, on as many processes as asked for, deterministic for a seed."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field

from gate.campaign.case import FULL_SIZE, case_of, check
from gate.campaign.violation import Violation

CHUNK = 25
"""Gates that a worker takes at a time."""
AHEAD = 4
"""Chunks for each worker that are under way or waiting."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What became of one gate of a campaign."""

    number: int
    violations: tuple[Violation, ...]
    words: tuple[str, ...]
    """The decision of each attempt; `undecided` where there is none."""
    struck: tuple[str, ...]
    """Kinds of faults that really happened, once each."""
    hours: float
    """Of virtual time."""
    second: bool
    cpu: float
    """Seconds of CPU time that it took."""


@dataclass
class Tally:
    """What became of all gates so far."""

    gates: int = 0
    second: int = 0
    hours: float = 0.0
    cpu: float = 0.0
    small: int = 0
    small_cpu: float = 0.0
    """Gates of up to three legs, and the CPU time that they took."""
    words: Counter[str] = field(default_factory=Counter)
    struck: Counter[str] = field(default_factory=Counter)
    broken: list[Gate] = field(default_factory=list)

    def add(self, gate: Gate) -> None:
        """Count one gate."""
        self.gates += 1
        self.second += gate.second
        self.hours += gate.hours
        self.cpu += gate.cpu
        if not full_size(gate.number):
            self.small += 1
            self.small_cpu += gate.cpu
        self.words.update(gate.words)
        self.struck.update(gate.struck)
        if gate.violations:
            self.broken.append(gate)


def full_size(number: int) -> bool:
    """One gate in a hundred is as large as a real release gate."""
    return number % FULL_SIZE == FULL_SIZE - 1


def play_one(seed: int, number: int) -> Gate:
    """Make, play and check one gate."""
    began = time.process_time()
    checked = check(case_of(seed, number))
    played = checked.played
    attempts = played.attempts if played is not None else ()
    return Gate(
        number=number,
        violations=checked.violations,
        words=tuple(one.decision.word if one.decision else "undecided" for one in attempts) or ("no attempt",),
        struck=tuple(sorted({one.fault.kind for one in played.struck})) if played is not None else (),
        hours=played.ended / 3600 if played is not None else 0.0,
        second=checked.second,
        cpu=time.process_time() - began,
    )


def campaign(
    seed: int,
    gates: int,
    *,
    workers: int = 1,
    keep_going: bool = False,
    progress: Callable[[Tally], None] | None = None,
) -> Tally:
    """Play `gates` gates; stop at the first broken promise unless `keep_going`. The same for any number of workers."""
    tally = Tally()
    for gate in _played(seed, gates, workers):
        tally.add(gate)
        if progress is not None:
            progress(tally)
        if gate.violations and not keep_going:
            break
    return tally


def _played(seed: int, gates: int, workers: int) -> Iterator[Gate]:
    if workers <= 1:
        yield from (play_one(seed, number) for number in range(gates))
        return
    starts = iter(range(0, gates, CHUNK))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        waiting: list[Future[list[Gate]]] = []

        def refill() -> None:
            while len(waiting) < workers * AHEAD and (start := next(starts, None)) is not None:
                waiting.append(pool.submit(_chunk, seed, start, min(start + CHUNK, gates)))

        try:
            refill()
            while waiting:
                yield from waiting.pop(0).result()
                refill()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _chunk(seed: int, start: int, end: int) -> list[Gate]:
    return [play_one(seed, number) for number in range(start, end)]
