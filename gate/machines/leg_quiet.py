"""The stall clock: charged only with time that was seen to be quiet.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from dataclasses import replace

from gate.contracts import Scan
from gate.machines.leg_model import Quiet


def look(quiet: Quiet, scan: Scan | None, mono: float) -> Quiet:
    """The clock after one look; None or a blind scan saw nothing."""
    passed = max(0.0, mono - quiet.looked)
    if scan is None or scan.blind:
        return replace(quiet, looked=mono, seeing=False, blind=quiet.blind + passed)
    if scan.changed:
        blind = quiet.blind if quiet.seeing else quiet.blind + passed
        return Quiet(seconds=0.0, looked=mono, seeing=True, blind=blind)
    if not quiet.seeing:
        return replace(quiet, looked=mono, seeing=True, blind=quiet.blind + passed)
    return replace(quiet, seconds=quiet.seconds + passed, looked=mono)


def after_turn(quiet: Quiet, mono: float, *, restart: bool) -> Quiet:
    """The clock when a turn has ended: the turn's own time is never charged; `restart` begins a new budget."""
    return replace(quiet, seconds=0.0 if restart else quiet.seconds, looked=mono, seeing=True)


def seen(quiet: Quiet, mono: float) -> Quiet:
    """The clock after a look that saw the leg without asking for change: nothing is charged."""
    blind = quiet.blind if quiet.seeing else quiet.blind + max(0.0, mono - quiet.looked)
    return replace(quiet, looked=mono, seeing=True, blind=blind)
