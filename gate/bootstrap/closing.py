"""A leg's end: what outlived it is named and ended, secrets are looked for, and its result is left.

Imported by bootstrap: standard library and anyio only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import anyio

from gate.bootstrap.ledger import Ledger
from gate.contracts import LegWorld, StopRequest
from gate.errors import StoreError
from gate.machines.leg_model import Finish, LegState
from gate.rundir.formats import LegResult

SURVIVORS = 10.0
END_ALL = 20.0
SECRETS = 60.0
HURRIED = 3.0
"""Seconds for each part of closing at the most; the wait margin of the ladder is shared among them.

`HURRIED`: of the search for secrets when the workload was asked to stop.
"""


class Closing:
    """Closes one leg."""

    def __init__(
        self,
        world: LegWorld,
        tag: str,
        ledger: Ledger,
        state: LegState,
        end: Finish,
        below: Callable[[str | None], str | None],
    ) -> None:
        self._world = world
        self._ledger = ledger
        self._end = end
        self._margin = world.leg.budgets.wait_margin
        chosen = state.files.chosen
        turns = state.turns
        self._opened = bool(state.incarnation)
        self._result = LegResult(
            leg=world.leg.id,
            tag=tag,
            incarnation=state.incarnation,
            outcome=end.outcome,
            reason=end.reason,
            sentence=end.sentence,
            state=below(chosen.path if chosen is not None else None),
            turns=turns.count,
            resumes=turns.resumes,
            recaps=turns.recaps,
            redrives=turns.redrives,
            cost_usd=turns.cost_usd,
            agent_version=state.agent_version,
            survivors=state.survivors,
            secret_hits=(),
            ended=0.0,
        )

    def first_word(self) -> None:
        """Leave the result as far as it is known: a stop may become a kill at any moment."""
        if self._opened:
            self._ledger.conclude(self._result)

    async def close(self, stop: StopRequest | None) -> LegResult:
        """End what the leg left behind and leave the whole result; within the stop's grace where there is one."""
        grace = stop.grace * 0.8 if stop is not None else self._margin
        with anyio.move_on_after(min(grace, self._margin)):
            await self._clean_up(thorough=stop is None)
        now = await self._world.clock.now()
        self._result = replace(self._result, ended=now.wall)
        if self._opened:
            self._ledger.conclude(self._result)
            await self._ledger.settled(max(1.0, grace / 4))
        return self._result

    async def _clean_up(self, *, thorough: bool) -> None:
        commands = self._world.commands
        survivors: tuple[str, ...] = ()
        remaining: tuple[str, ...] = ()
        if thorough:
            with anyio.move_on_after(min(SURVIVORS, self._margin / 8)):
                survivors = await commands.survivors()
        with anyio.move_on_after(min(END_ALL, self._margin / 4)):
            remaining = await commands.end_all()
        self._found(tuple(dict.fromkeys((*survivors, *(f"{one} (could not be ended)" for one in remaining)))))
        if self._opened:
            # Also where it is stopped: a leg that passed is, as soon as it is judged.
            with anyio.move_on_after(min(SECRETS, self._margin / 4) if thorough else HURRIED) as looking:
                await self._look_for_secrets()
            if looking.cancelled_caught:
                self._result = replace(self._result, secret_hits=("not everything was searched: no time was left",))

    def _found(self, survivors: tuple[str, ...]) -> None:
        named = tuple(dict.fromkeys((*self._result.survivors, *survivors)))
        self._result = replace(self._result, survivors=named)

    async def _look_for_secrets(self) -> None:
        try:
            hits = await self._world.home.secret_hits()
        except StoreError as error:
            hits = (f"could not be looked for: {error.message}",)
        self._result = replace(self._result, secret_hits=hits)
