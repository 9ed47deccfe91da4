"""The supervisor, simulated: the same contract as `gate.bootstrap.supervise_run`, on its own pure parts.

It enforces the workload's time-out, passes stops on, holds a failed workload open while a lease or the plan says so,
and ends everything. What it watches tells it of changes, so that it wakes when something happens and never on a beat.
"""

from __future__ import annotations

import math
import signal
from dataclasses import replace
from typing import Any

import trio

from gate import documents
from gate.bootstrap import exits
from gate.bootstrap.supervise import GRACE
from gate.bootstrap.supervise_files import Supervised
from gate.bootstrap.supervise_keep import Desk, Keeper, lapsed
from gate.bootstrap.supervise_outcome import CameTo, Ending, outcome
from gate.bootstrap.workload import run_legs
from gate.contracts import Store
from gate.errors import DocumentError, StoreError
from gate.rundir import layout
from gate.rundir.formats import Assignment, Kept
from gate.simulate.clock import OwnedClock
from gate.simulate.engine_items import SimProcess
from gate.simulate.host import SimHost, Surroundings
from gate.simulate.legworld import SimSignals
from gate.simulate.life import Life, survived
from gate.simulate.played import BootstrapLife

STOP_GRACE = {signal.SIGINT: 7.5, signal.SIGTERM: 2.5}
"""As `gate.adapters.signals` tells bootstrap."""


class Supervisor:
    """One start of one workload."""

    def __init__(self, given: SimProcess, life: Life, around: Surroundings, store: Store) -> None:
        self._given = given
        self._life = life
        self._around = around
        self._store = store
        self._clock: OwnedClock = around.clock(life)
        self._wake = trio.Event()
        self._stopped = False
        self._status: int | None = None
        self._ended = False
        self._bootstrap = around.bootstrap(given, life)
        self._bootstrap_signals = SimSignals()
        self._desk = Desk()
        self._record = Supervised(given.request.tag, given.request.workload, "simulated", 0, 0, "pending")

    async def run(self) -> int:
        """To the end; the workload's exit code."""
        request = self._given.request
        try:
            raw = await self._store.read(request.assignment)
            assignment = documents.load(Assignment, raw or b"", request.assignment)
        except (StoreError, DocumentError) as error:
            self._say(f"the assignment cannot be used: {error}")
            return exits.BAD_ASSIGNMENT
        began = trio.current_time()
        deadline = began + request.timeout
        await self._update(phase="running", started=(await self._clock.now()).wall)
        ending, forced = Ending(), False
        with self._around.disk.watch(self._keys(), self._tell):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._pass_stops)
                async with trio.open_nursery() as inner:
                    inner.start_soon(self._boot, assignment, nursery)
                    ending, forced = await self._watch(deadline)
                ended = trio.current_time()
                self._around.truth.workload(self._given.id).bootstraps.append(
                    BootstrapLife(self._given.restarts + 1, began, deadline, ended, self._status, forced)
                )
                came_to = outcome(self._status, ending, ("", 0), request.timeout)
                await self._hold(assignment, came_to, ending, deadline)
                nursery.cancel_scope.cancel()
        await self._update(phase="ended", kept_until=None)
        return came_to.code

    # --- bootstrap runs ------------------------------------------------------------------------------

    async def _boot(self, assignment: Assignment, programs: trio.Nursery) -> None:
        """Bootstrap. What it launches outlives its death, and is ended with the workload."""
        life = self._bootstrap
        status: int | None = None
        try:
            with life.scope:
                status = await run_legs(
                    SimHost(assignment, self._given, life, self._around, self._bootstrap_signals, programs)
                )
        except BaseException as error:  # noqa: BLE001 - a death is none of the others, and those go on
            rest = survived(error)
            if rest is not None:
                raise rest from None
        finally:
            self._around.ended(life, status if life.alive else None)
        self._life.check()
        self._status = status if status is not None else -signal.SIGKILL
        self._ended = True
        self._tell()

    async def _watch(self, deadline: float) -> tuple[Ending, bool]:
        """Until bootstrap has ended; why it was ended, and whether force was needed."""
        ending, kill_at = Ending(), math.inf
        while not self._ended:
            if not ending.why:
                ending = await self._reason_to_end(deadline)
                if ending.why:
                    self._say(f"{ending.text}; bootstrap has {GRACE:g} s to end")
                    number = signal.Signals(ending.signal)
                    self._bootstrap_signals.send(number, STOP_GRACE.get(number, 2.5))
                    kill_at = trio.current_time() + GRACE
            elif trio.current_time() >= kill_at:
                self._bootstrap.kill()
                await self._sleep(math.inf)
                return ending, True
            await self._sleep(kill_at if ending.why else min(deadline, await self._lease_ends()))
        return ending, False

    async def _reason_to_end(self, deadline: float) -> Ending:
        if self._stopped:
            return Ending("stopped", "asked to stop", signal.SIGTERM)
        if trio.current_time() >= deadline:
            return Ending("timeout", f"the workload's time-out of {self._given.request.timeout:g} s has passed")
        await self._read_desk()
        if lapsed(self._desk, (await self._clock.now()).wall):
            return Ending("stopped", "the run is decided and its lease on this workload has ended")
        return Ending()

    async def _lease_ends(self) -> float:
        lease = self._desk.lease
        if not self._desk.decided or lease is None:
            return math.inf
        return trio.current_time() + max(0.001, lease.until - (await self._clock.now()).wall)

    # --- bootstrap has ended -------------------------------------------------------------------------

    async def _hold(self, assignment: Assignment, came_to: CameTo, ending: Ending, deadline: float) -> None:
        """Hold a failed workload open for as long as somebody may want to look at it."""
        ended = (await self._clock.now()).wall
        latest = ended + max(0.0, deadline - trio.current_time())
        await self._update(ended=ended, exit_code=came_to.code, reason=came_to.reason, message=came_to.message)
        self._say(f"bootstrap ended: {came_to.reason} {came_to.code}")
        if ending.why:
            return
        keeper = Keeper(assignment.run, assignment.keep_on_fail, ended, failed=came_to.keep)
        since = trio.current_time()
        while not self._stopped and trio.current_time() < deadline:
            await self._read_desk()
            until = min(keeper.until(self._desk.lease), latest)
            left = until - (await self._clock.now()).wall
            if left <= 0:
                break
            await self._update(phase="keeping", kept_until=until)
            await self._sleep(trio.current_time() + left)
        if trio.current_time() > since:
            self._around.truth.workload(self._given.id).kept.append((since, trio.current_time()))

    # --- inside --------------------------------------------------------------------------------------

    def _tell(self) -> None:
        self._wake.set()

    async def _sleep(self, until: float) -> None:
        """Until something changes, at the latest at `until`; a root that cannot be read is looked at again."""
        until = min(until, self._around.roots.seen_again())
        with trio.move_on_at(until):
            await self._wake.wait()
        self._wake = trio.Event()
        self._life.check()

    async def _pass_stops(self) -> None:
        await self._given.signals.wait()
        self._stopped = True
        self._tell()

    def _keys(self) -> frozenset[str]:
        request = self._given.request
        return frozenset((layout.decision(request.tag), layout.kept(request.tag, request.workload)))

    async def _read_desk(self) -> None:
        """What the run directory says; what cannot be read changes nothing."""
        request = self._given.request
        if self._around.roots.blind():
            return
        disk = self._around.disk
        raw = disk.files.get(layout.kept(request.tag, request.workload))
        lease = None if raw is None else documents.load(Kept, bytes(raw), "kept")
        self._desk = Desk(lease, self._desk.decided or layout.decision(request.tag) in disk.files)

    async def _update(self, **changes: Any) -> None:
        """Leave what became of the workload where others find it; a root that fails holds nothing up."""
        self._record = replace(self._record, **changes)
        request = self._given.request
        what = f"supervised {self._record.phase}"
        step = self._life.begin(what)
        window = self._around.roots.now()
        if window is None:
            self._around.disk.write(layout.supervised(request.tag, request.workload), documents.dump(self._record))
        self._life.done(step, what)

    def _say(self, text: str) -> None:
        self._given.log.extend(f"gate supervise: {text}\n".encode())
