"""How long a workload whose bootstrap has ended is held open.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from gate.documents import load
from gate.errors import DocumentError
from gate.rundir import layout
from gate.rundir.formats import Kept

EVERY = 2.0
"""Seconds between readings of the lease while the workload is held open."""
SELDOM = 30.0
"""The same while bootstrap runs: a thousand workloads share the file server."""
_FRESH = 5.0


@dataclass(frozen=True, slots=True)
class Desk:
    """What the run directory says of a workload: its lease, and whether the attempt is decided."""

    lease: Kept | None = None
    decided: bool = False


class Reader:
    """Reads the run directory in a thread of its own: a hung share must not hold up the end of a workload."""

    def __init__(self, run_dir: Path, tag: str, workload: str) -> None:
        self.latest = Desk()
        """The last successful reading; what cannot be read changes nothing."""
        self._often = threading.Event()
        self._done = threading.Event()
        self._run_dir = run_dir
        self._lease = run_dir / layout.kept(tag, workload)
        self._decision = run_dir / layout.decision(tag)

    def start(self) -> None:
        threading.Thread(target=self._run, name="gate-lease", daemon=True).start()

    def refresh(self) -> None:
        """From here on read often; returns after one more reading, or soon where the share hangs."""
        self._done.clear()
        self._often.set()
        self._done.wait(_FRESH)

    def read(self) -> None:
        """One reading, here and now."""
        try:
            decided = self.latest.decided or self._decision.exists()
            self.latest = Desk(self._read_lease(), decided)
        except (OSError, DocumentError):
            # Cut off, torn or of a newer gate: unknown, so the last reading stands.
            return

    def _read_lease(self) -> Kept | None:
        try:
            return load(Kept, self._lease.read_bytes(), str(self._lease))
        except FileNotFoundError:
            # Absent, unless the whole root is: an unmounted share has no leases at all.
            self._run_dir.stat()
            return None

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            self.read()
            self._done.set()
            if self._often.is_set():
                pause.wait(EVERY)
            else:
                self._often.wait(SELDOM)


@dataclass(slots=True)
class Keeper:
    """Until when an ended workload is held open. Wall times; pure but for remembering that a lease was there.

    A failed one for `keep_on_fail`, or as its lease says: longer, shorter, or no more once it was taken away. One that
    did not fail only for somebody else than its own run, who asked for it.
    """

    run: str
    keep_on_fail: float
    ended: float
    failed: bool
    leased: bool = False

    def until(self, lease: Kept | None) -> float:
        """Wall time of the end, as far as is known now; `ended` for at once."""
        if lease is not None:
            self.leased = True
            return lease.until if self.failed or lease.holder != self.run else self.ended
        if self.failed and not self.leased:
            return self.ended + self.keep_on_fail
        return self.ended


def lapsed(desk: Desk, now: float) -> bool:
    """Is nobody waiting for this workload any more, though its bootstrap runs?

    Before the decision a lease that ends says nothing: the poller watches the leg.
    """
    return desk.decided and desk.lease is not None and desk.lease.until <= now
