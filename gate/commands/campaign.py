"""`gate campaign`: random gates and random faults on all cores, the promises checked after each."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Annotated

import typer

from gate.campaign.campaign import Tally, campaign
from gate.campaign.case import case_of
from gate.campaign.shrink import shrink
from gate.commands.options import Json
from gate.commands.telling import say, tell, tell_json
from gate.documents import dump
from gate.errors import EXIT_PASSED, EXIT_REMAINS

EVERY = 10.0
"""Seconds between two lines of progress."""

Count = Annotated[int, typer.Option("-n", "--count", min=1, help="How many gates.")]
Seed = Annotated[int | None, typer.Option("--seed", help="The same seed plays the same gates; default: a random one.")]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Processes; default: one a core.")]
KeepGoing = Annotated[bool, typer.Option("--keep-going", help="Do not stop at the first broken promise.")]
Out = Annotated[Path, typer.Option("--out", help="Folder for the cases that break a promise.", file_okay=False)]


def command(
    count: Count = 1000,
    seed: Seed = None,
    workers: Workers = None,
    keep_going: KeepGoing = False,
    out: Out = Path(),
    as_json: Json = False,
) -> int:
    """Play random gates with random faults in virtual time, on the cores and drivers that production runs.

    After each gate the promises are checked. One that is broken is printed with its seed, shrunk, and written as a file
    that `gate simulate` plays again. Exit code 6: a promise was broken.
    """
    seed = random.SystemRandom().randrange(1 << 32) if seed is None else seed
    say(f"campaign of {count} gates, seed {seed}")
    began = time.monotonic()
    tally = campaign(
        seed, count, workers=workers or os.cpu_count() or 1, keep_going=keep_going, progress=_Progress(count)
    )
    seconds = time.monotonic() - began
    files = [_write_down(seed, gate.number, gate.violations[0].invariant, out) for gate in tally.broken]
    if as_json:
        tell_json(_summary(seed, tally, seconds, files))
    else:
        _tell(seed, tally, seconds, files)
    return EXIT_REMAINS if tally.broken else EXIT_PASSED


class _Progress:
    def __init__(self, count: int) -> None:
        self._count = count
        self._last = time.monotonic()

    def __call__(self, tally: Tally) -> None:
        for violation in (
            tally.broken[-1].violations if tally.broken and tally.broken[-1].number + 1 == tally.gates else ()
        ):
            say(f"gate {tally.gates - 1}: {violation}")
        if time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            say(f"{tally.gates} of {self._count} gates, {len(tally.broken)} of them broke a promise")


def _write_down(seed: int, number: int, invariant: str, out: Path) -> Path:
    """Shrink the case and write it."""
    say(f"gate {number} of seed {seed} breaks `{invariant}`: shrinking")
    case = shrink(case_of(seed, number), invariant)
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"campaign-{seed}-{number}.json"
    path.write_bytes(dump(case))
    return path


def _summary(seed: int, tally: Tally, seconds: float, files: list[Path]) -> dict[str, object]:
    return {
        "seed": seed,
        "gates": tally.gates,
        "violations": [
            {"gate": gate.number, "invariant": one.invariant, "said": one.said, "file": str(path)}
            for gate, path in zip(tally.broken, files, strict=True)
            for one in gate.violations
        ],
        "decisions": dict(sorted(tally.words.items())),
        "faults": dict(sorted(tally.struck.items())),
        "played_twice": tally.second,
        "virtual_hours": round(tally.hours, 1),
        "seconds": round(seconds, 1),
        "gates_per_minute": round(60 * tally.gates / seconds) if seconds else None,
    }


def _tell(seed: int, tally: Tally, seconds: float, files: list[Path]) -> None:
    rate = f", {60 * tally.gates / seconds:.0f} a minute" if seconds else ""
    tell(f"{tally.gates} gates, {tally.hours:.0f} hours of virtual time in {seconds:.0f} s{rate}; seed {seed}")
    tell("decisions: " + ", ".join(f"{count} {word}" for word, count in tally.words.most_common()))
    tell("faults: " + ", ".join(f"{count} {kind}" for kind, count in tally.struck.most_common()))
    if not tally.broken:
        tell("no promise was broken")
        return
    for gate, path in zip(tally.broken, files, strict=True):
        for one in gate.violations:
            tell(f"gate {gate.number}: {one}")
        tell(f"  play it again: gate simulate {path}")
