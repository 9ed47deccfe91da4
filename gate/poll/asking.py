"""One question at a time, asked in the background: a slow answer must not delay the look at the evidence."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import anyio
import anyio.abc

T = TypeVar("T")


class _Ask(Generic[T]):
    def __init__(self) -> None:
        self.done = anyio.Event()
        self.answer: T | None = None


class Asking(Generic[T]):
    """Asks `question` in `tasks`, never twice at once. The question answers errors as values; it does not raise.

    One that is not answered within `limit` seconds is given up, and `late` is its answer.
    """

    def __init__(self, tasks: anyio.abc.TaskGroup, question: Callable[[], Awaitable[T]], limit: float, late: T) -> None:
        self._tasks = tasks
        self._question = question
        self._limit = limit
        self._late = late
        self._ask: _Ask[T] | None = None
        self._wanted: anyio.Event | None = None
        self.overdue = False
        """The question under way was begun in an earlier round."""

    def begin(self) -> None:
        """Ask, unless an answer is still on its way."""
        self.overdue = self._ask is not None
        if self._ask is not None:
            return
        self._ask = _Ask()
        if self._wanted is None:
            self._wanted = anyio.Event()
            self._tasks.start_soon(self._serve)
        self._wanted.set()

    async def take(self, patience: float) -> T | None:
        """The answer, or None where it has not come within `patience` seconds: it is kept for the next `take`."""
        ask = self._ask
        if ask is None:
            return None
        if not ask.done.is_set():
            with anyio.move_on_after(patience):
                await ask.done.wait()
        if not ask.done.is_set():
            return None
        self._ask = None
        return ask.answer

    async def arrived(self) -> None:
        """Return when the answer under way is there; never where nothing is asked."""
        if self._ask is None:
            await anyio.sleep_forever()
        else:
            await self._ask.done.wait()

    async def or_until(self, sleep: Callable[[float], Awaitable[None]], seconds: float) -> None:
        """Return after `seconds`, or as soon as an answer that is awaited now has come."""
        if not self.under_way:
            await sleep(seconds)
            return

        async def arrival() -> None:
            await self.arrived()
            race.cancel_scope.cancel()

        async with anyio.create_task_group() as race:
            race.start_soon(arrival)
            await sleep(seconds)
            race.cancel_scope.cancel()

    @property
    def under_way(self) -> bool:
        """An answer is awaited."""
        return self._ask is not None and not self._ask.done.is_set()

    async def _serve(self) -> None:
        """One task and one scope for all rounds: making them anew costs more than most answers."""
        while True:
            with anyio.CancelScope() as scope:
                await self._answer_all(scope)
            if self._ask is not None:
                self._ask.answer = self._late
                self._ask.done.set()

    async def _answer_all(self, scope: anyio.CancelScope) -> None:
        while True:
            assert self._wanted is not None
            await self._wanted.wait()
            self._wanted = anyio.Event()
            ask = self._ask
            if ask is None or ask.done.is_set():
                continue
            scope.deadline = anyio.current_time() + self._limit
            ask.answer = await self._question()
            scope.deadline = math.inf
            ask.done.set()
