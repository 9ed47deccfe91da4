"""One incarnation of a simulated process, and how it dies.

A kill is not a cancel: from the moment of death every contract handle of this incarnation raises `Killed`, so that
nothing it does while it unwinds has an effect. Every change to the world has a kill point before and after its effect.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import trio

from gate.contracts import Killed
from gate.simulate.played import Role
from gate.simulate.scenario import Fault, Side


class KillPoints:
    """When processes of one kind are to die, counted over all their incarnations."""

    def __init__(self, faults: Sequence[tuple[Fault, random.Random]]) -> None:
        self._faults = list(faults)
        self._steps = 0

    def next(self) -> int:
        """The number of the change that begins now, from 1."""
        self._steps += 1
        return self._steps

    def due(self, step: int, side: Side) -> Fault | None:
        """The fault that strikes at this point. One at a step strikes once; one with a probability goes on."""
        for fault, dice in self._faults:
            if fault.side != side:
                continue
            if fault.step is not None:
                if fault.step == step:
                    return fault
            elif fault.probability is not None and fault.at is None and dice.random() < fault.probability:
                return fault
        return None


class Life:
    """A process while it lives. `died` is told once: of what fault, at which step and side, doing what.

    What a child of `parent` changes counts as its parent's too: their kill points are of one tree of processes.
    """

    def __init__(
        self,
        name: str,
        role: Role,
        points: KillPoints | None,
        died: Callable[[Life, Fault | None, int | None, Side | None, str], None],
        parent: Life | None = None,
    ) -> None:
        self.name = name
        self.role: Role = role
        self.alive = True
        self.began = trio.current_time()
        self.scope = trio.CancelScope()
        self.steps: list[str] = []
        self.killed_by: Fault | None = None
        self.children: list[Life] = []
        self.points = points
        self._died = died
        self._parent = parent
        if parent is not None:
            parent.children.append(self)

    def check(self) -> None:
        """Raises Killed in a process that is dead."""
        if not self.alive:
            raise Killed(self.name)

    def begin(self, what: str) -> tuple[int, int]:
        """A change to the world is about to be made; its numbers, here and in the parent."""
        self.check()
        self.steps.append(what)
        step = (self.next_step(), self._parent.next_step() if self._parent is not None else 0)
        self._strike(step, "before", what)
        return step

    def done(self, step: tuple[int, int], what: str) -> None:
        """It has been made."""
        self.check()
        self._strike(step, "after", what)

    def kill(self, fault: Fault | None = None) -> None:
        """Die now, from outside."""
        if self.alive:
            self.killed_by = fault
            self.die()
            self._died(self, fault, None, None, "")

    def die(self) -> None:
        """Everything of it ends, and nobody is told: with its machine, or with its parent."""
        self.alive = False
        for child in self.children:
            child.die()
        self.scope.cancel()

    def end(self) -> None:
        """It has ended: nothing that is left of it may act."""
        self.alive = False

    def next_step(self) -> int:
        """The number of the next change, counted over all incarnations; 0 where nothing counts."""
        return self.points.next() if self.points is not None else 0

    def _strike(self, step: tuple[int, int], side: Side, what: str) -> None:
        for life, number in ((self, step[0]), (self._parent, step[1])):
            if life is None or life.points is None:
                continue
            fault = life.points.due(number, side)
            if fault is not None:
                life.killed_by = fault
                life.die()
                self._died(life, fault, number, side, what)
                raise Killed(life.name)


def survived(error: BaseException) -> BaseException | None:
    """What is left of `error` once the simulated deaths in it are taken out, however many task groups wrap them."""
    if isinstance(error, Killed):
        return None
    if isinstance(error, BaseExceptionGroup):  # noqa: F821 - simulations run at the runner, on Python 3.11 or newer
        rest: BaseException | None = error.split(Killed)[1]
        return rest
    return error
