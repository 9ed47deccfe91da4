"""Deriving the rungs of the ladder from the few numbers of gate.yaml, and where each that was set by hand stands."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from gate.plan.draft import LegSource
from gate.plan.legconfig import Leg
from gate.plan.load import Gate
from gate.plan.model import LegBudgets, PollBudgets
from gate.plan.nodes import Node, find

MINUTE = 60.0
HOUR = 3600.0

SETUP = 45 * MINUTE
TASK = HOUR
TURN = 20 * MINUTE
STALL = 15 * MINUTE
STARTUP_PROBE = 90.0  # a healthy turn's first byte comes in about 8 s
PREPARE = 10 * MINUTE
QUEUE = {"local": HOUR}
OTHER_QUEUE = 4 * HOUR
SHORTEST_QUEUE = 10 * MINUTE
OUTAGE = 20 * MINUTE
SKEW = 5 * MINUTE
TOKEN_LIFE = 24 * HOUR  # GitHub refreshes a job's token for so long
INTERVAL = {"local": 2.0}
OTHER_INTERVAL = 30.0
EVIDENCE = {"local": 5.0}
OTHER_EVIDENCE = 90.0  # past the 60 s for which NFS may cache that a file is absent


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a rung was set by hand: file name, dotted path, line."""

    file: str
    path: str
    line: int


Origins = dict[tuple[str, str], Origin]
"""(subject, rung) to its place; subject is a leg id, a workload id, or "" for the gate's own rungs."""


@dataclass(slots=True)
class Deriver:
    """Derives leg by leg, and remembers which rungs were set by hand."""

    gate: Gate
    origins: Origins = field(default_factory=dict)

    def leg(self, source: LegSource, leg: Leg) -> LegBudgets:
        """The rungs of one leg."""
        own, top = leg.budgets, self.gate.file.budgets
        agent = leg.run is None
        setup = self._set(source, "setup", (source.node, "setup", "budget"), leg.setup.budget if leg.setup else None)
        setup = self._or_top("setup", source, setup, SETUP) if agent else 0.0
        if agent:
            task = self._set(source, "task", (source.node, "task", "budget"), leg.task.budget if leg.task else None)
        else:
            task = self._set(source, "task", (source.node, "budget"), leg.budget)
        task = self._or_top("task", source, task, TASK)

        def rung(name: str, default: float) -> float:
            value = self._set(source, name, (source.node, "budgets", name), getattr(own, name))
            return self._or_top(name, source, value, default)

        turn = rung("turn", min(TURN, setup / 2)) if agent else 0.0
        wait_margin = rung("wait_margin", min(15 * MINUTE, max(MINUTE, task / 20)))
        silence = own.silence if own.silence is not None else top.silence
        return LegBudgets(
            startup_probe=rung("startup_probe", min(STARTUP_PROBE, turn / 2)) if agent else 0.0,
            turn=turn,
            # A command is told apart by its process: without a stall budget of its own its deadline alone decides.
            stall=rung("stall", min(STALL, setup / 2) if agent else task + wait_margin),
            prepare=rung("prepare", PREPARE),
            setup=setup,
            task=task,
            wait_margin=wait_margin,
            silence=silence,
            evidence=rung("evidence", EVIDENCE.get(self.gate.file.engine.kind, OTHER_EVIDENCE)),
        )

    def workload(self, workload: str, node: Node | None, by_hand: float | None, legs: Iterable[LegBudgets]) -> float:
        """The time-out of a workload: what its longest leg needs, with a margin, in whole minutes."""
        if by_hand is not None and node is not None:
            where = find(node, "timeout")
            self.origins[workload, "workload"] = self._origin(where)
            return by_hand
        return derived_above(max(body(leg) for leg in legs))

    def poll(self, longest: float) -> PollBudgets:
        """The poller's rungs for workloads of at most `longest` seconds."""
        top = self.gate.file.budgets
        kind = self.gate.file.engine.kind
        skew = self._gate("skew", SKEW)
        token_life = self._gate("token_life", TOKEN_LIFE)
        limit = None if top.job is None else self._gate("job", top.job)
        room = top.poll if top.poll is not None else whole_minutes(fits_below(limit or token_life))
        fits = whole_minutes(fits_below(room) - longest - skew)
        queue = self._gate("queue", max(SHORTEST_QUEUE, min(QUEUE.get(kind, OTHER_QUEUE), fits)))
        return PollBudgets(
            interval=self._gate("interval", INTERVAL.get(kind, OTHER_INTERVAL)),
            queue=queue,
            outage=self._gate("outage", OUTAGE),
            skew=skew,
            deadline=self._gate("poll", derived_above(queue + longest + skew)),
            job=limit,
            token_life=token_life,
        )

    def _origin(self, node: Node) -> Origin:
        return Origin(self.gate.path.name, node.path, node.line)

    def _set(self, source: LegSource, name: str, where: tuple[Node | str, ...], value: float | None) -> float | None:
        if value is not None:
            node, *parts = where
            assert isinstance(node, Node)
            found = find(node, *(str(part) for part in parts))
            self.origins[source.id, name] = self._origin(found)
        return value

    def _or_top(self, name: str, source: LegSource, value: float | None, default: float) -> float:
        if value is not None:
            return value
        top: float | None = getattr(self.gate.file.budgets, name)
        if top is None:
            return default
        found = find(self.gate.root, "budgets", name)
        self.origins[source.id, name] = self._origin(found)
        return top

    def _gate(self, name: str, default: float) -> float:
        value: float | None = getattr(self.gate.file.budgets, name)
        if value is None:
            return default
        found = find(self.gate.root, "budgets", name)
        self.origins["", name] = self._origin(found)
        return value


def body(leg: LegBudgets) -> float:
    """What a leg may take from its workload's start to its end."""
    return leg.prepare + leg.setup + leg.task + leg.wait_margin


def margin(low: float) -> float:
    """What must lie between two rungs when the lower one is `low` seconds: 1 %, at least 10 s."""
    return max(10.0, low / 100)


def derived_above(low: float) -> float:
    """The next rung above `low`: a whole minute, its margin kept."""
    return math.ceil((low + margin(low)) / MINUTE) * MINUTE


def fits_below(high: float) -> float:
    """The largest rung that keeps its margin below `high`: the inverse of adding `margin`."""
    return min(high / 1.01, high - 10.0)


def whole_minutes(seconds: float) -> float:
    """`seconds`, cut to whole minutes."""
    return math.floor(seconds / MINUTE) * MINUTE
