"""Campaigns: gates a minute on one core, and how much a second core brings.

`python -m bench.campaign` measures alone; `python -m bench.campaign 100000 --seed 1` makes the recorded run and writes
it to bench/campaign-run.md, which bench/README.md takes in.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator

from bench.measure import Row
from bench.report import RECORD, machine
from gate.campaign.campaign import Tally, campaign, full_size, play_one

SEED = 20
GATES = 400
RUNS = 3


def rows() -> Iterator[Row]:
    """Of gates of up to three legs and about an hour; what is full-size is left out of the first figure."""
    numbers = [number for number in range(GATES) if not full_size(number)]
    play_one(SEED, 0)
    costs = [sum(play_one(SEED, number).cpu for number in numbers) / len(numbers) for _ in range(RUNS)]
    each = statistics.median(costs)
    yield Row(
        what="campaign: CPU time of a faulted gate of up to three legs and about an hour",
        measured=each * 1000,
        limit=60_000 / 2000,
        unit="ms",
        how=f"{60 / each:,.0f} gates a minute on one core; median of {RUNS} runs of {len(numbers)} gates",
    )
    pairs = [(_seconds(1), _seconds(2)) for _ in range(RUNS)]
    one, two = (statistics.median(column) for column in zip(*pairs, strict=True))
    yield Row(
        what="campaign: time on two cores against one",
        measured=two / one,
        limit=1 / 1.8,
        unit="times",
        how=f"{one / two:.2f} times as fast; medians of {RUNS} runs of {GATES} gates in turn",
    )


def _seconds(workers: int) -> float:
    """Wall time per gate in the steady state: what starting the processes takes is taken out."""
    began = time.perf_counter()
    first: list[float] = []

    def progress(tally: Tally) -> None:
        if tally.gates == 1:
            first.append(time.perf_counter())

    campaign(SEED, GATES, workers=workers, progress=progress)
    return time.perf_counter() - (first[0] if first else began)


def record(seed: int, gates: int, workers: int) -> int:
    """One long run, written down. Returns how many gates broke a promise."""
    began = time.perf_counter()
    step = max(1, gates // 50)

    told: set[int] = set()

    def progress(tally: Tally) -> None:
        for gate in tally.broken:
            if gate.number not in told:
                told.add(gate.number)
                print(f"gate {gate.number}: {'; '.join(map(str, gate.violations))}", flush=True)
        if tally.gates % step == 0:
            print(f"{tally.gates} gates, {len(tally.broken)} broken, {time.perf_counter() - began:.0f} s", flush=True)

    tally = campaign(seed, gates, workers=workers, keep_going=True, progress=progress)
    RECORD.write_text(_text(seed, tally, workers, time.perf_counter() - began))
    return len(tally.broken)


def _text(seed: int, tally: Tally, workers: int, seconds: float) -> str:
    words = ", ".join(f"{count:,} {word}" for word, count in tally.words.most_common())
    kinds = "\n".join(f"| {kind} | {count:,} |" for kind, count in sorted(tally.struck.items()))
    return f"""\
## The recorded campaign

{tally.gates:,} gates with seed {seed} on {workers} processes in {seconds / 60:.0f} minutes ({tally.cpu / 60:.0f} of
CPU time), {tally.hours:,.0f} hours of virtual time; {tally.second:,} of them played a second time without deaths and
compared. **{len(tally.broken)} broke a promise.** {machine()}

Decisions of all attempts: {words}.

Gates in which each fault really struck:

| fault | gates |
|---|---:|
{kinds}
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("gates", type=int, nargs="?", default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    if asked.gates:
        raise SystemExit(6 if record(asked.seed, asked.gates, asked.workers) else 0)
    for row in rows():
        print(f"{'kept' if row.kept else 'NOT KEPT'}: {row.what}: {row.measured:.4g} {row.unit} ({row.how})")
