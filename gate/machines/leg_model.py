"""What the leg machine is told, what it asks for, and what it remembers.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from gate.contracts import CommandResult, Scan, TurnEnd, TurnOutcome
from gate.documents import Json
from gate.machines.clock import Now, reading
from gate.machines.verdict import Reason, StateView
from gate.plan.model import LegPlan

Phase = Literal["prepare", "setup", "launch", "wait", "ended"]
TurnKind = Literal["setup", "nudge", "task", "finish_launch", "redrive"]

# --- observations ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prepared:
    """The leg's directory is there and its tools answer, or `problem` says which of the two is not so."""

    incarnation: str
    agent_version: str | None
    problem: Literal["", "prepare", "agent"] = ""
    detail: str = ""
    states: tuple[StateView, ...] = ()
    """What lies there before anything ran: what was staged, at a place where state files count."""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The running turn is over, one way or the other."""

    outcome: TurnOutcome


@dataclass(frozen=True, slots=True)
class Verified:
    """The leg's own check of its set-up ran."""

    result: CommandResult


@dataclass(frozen=True, slots=True)
class Audited:
    """Processes of the leg that outlived its set-up turns, as `pid command`."""

    survivors: tuple[str, ...]
    states: tuple[StateView, ...] | None = ()
    """State files that set-up left (None: could not be seen): of a trial run, say."""


@dataclass(frozen=True, slots=True)
class CommandStarted:
    """The leg's command runs, or `problem` says why not."""

    problem: str = ""


@dataclass(frozen=True, slots=True)
class Looked:
    """One look: liveness (None where not asked for), state files (None: could not be seen), the command if it ended."""

    scan: Scan | None
    states: tuple[StateView, ...] | None
    command: CommandResult | None = None


@dataclass(frozen=True, slots=True)
class StopAsked:
    """Somebody asked this process to end."""

    signal: int


Observation = Prepared | TurnEnded | Verified | Audited | CommandStarted | Looked | StopAsked

# --- actions -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prepare:
    """Make the leg's directory, and ask the agent for its version, within `budget` seconds."""

    budget: float


@dataclass(frozen=True, slots=True)
class RunTurn:
    """Run one turn. `session` is the ordinal whose id names the conversation; `resume` goes on with it.

    `recap`: the conversation was lost, so the prompt starts with the recap. `extra` is added to the prompt.
    """

    ordinal: int
    kind: TurnKind
    session: int
    resume: bool
    recap: bool
    budget: float
    extra: str = ""


@dataclass(frozen=True, slots=True)
class RunVerify:
    """Run the leg's own check of its set-up within `budget` seconds."""

    budget: float


@dataclass(frozen=True, slots=True)
class Audit:
    """Ask which processes of the leg are alive although no turn runs."""


@dataclass(frozen=True, slots=True)
class StartCommand:
    """Start the command leg's command."""


@dataclass(frozen=True, slots=True)
class FullScan:
    """Compare every entry, from start to end after now, then read the state files: one `Looked`."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Look again when that is worth it, at the latest in `longest` seconds. Replaces the watch before it.

    A step without a Watch ends watching.
    """

    beat: float
    longest: float
    scan: bool


@dataclass(frozen=True, slots=True)
class Publish:
    """Rewrite the session pointer with these facts."""

    facts: PointerFacts


@dataclass(frozen=True, slots=True)
class Note:
    """Something for the leg's journal; `kind` is stable."""

    kind: str
    text: str
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finish:
    """The leg has ended. The last action there ever is."""

    outcome: Literal["finished", "failed", "stopped"]
    reason: Reason | None
    sentence: str


Action = Prepare | RunTurn | RunVerify | Audit | StartCommand | FullScan | Watch | Publish | Note | Finish

# --- state -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PointerFacts:
    """What the session pointer says beside identity, sequence and time."""

    phase: Phase
    state: str | None
    """Path of the state file relative to the run directory."""
    turns: int
    resumes: int
    recaps: int
    redrives: int
    blind: float
    cost_usd: float | None
    earlier: tuple[str, ...] | None = None
    """Paths of state files that are older than the task; None while it has not begun."""


@dataclass(frozen=True, slots=True)
class Quiet:
    """The stall clock: seconds of seen quiet. Time between a blind look and the next one is never charged."""

    seconds: float = 0.0
    looked: float = 0.0
    """`mono` of the last look."""
    seeing: bool = True
    blind: float = 0.0
    """Seconds that could not be seen, in all."""

    def spent(self, budget: float) -> bool:
        """Has the stall budget run out, as far as can be seen now?"""
        return self.seeing and self.seconds >= budget


@dataclass(frozen=True, slots=True)
class Turns:
    """The conversation so far. `count` turns were begun; the next ordinal is one more."""

    count: int = 0
    running: RunTurn | None = None
    began: float = 0.0
    ended: float = 0.0
    session: int | None = None
    """Ordinal of the turn that started the conversation to resume; None: the next turn starts one."""
    recap: bool = False
    """The next turn starts afresh because a conversation was lost."""
    resumes: int = 0
    recaps: int = 0
    """Conversations that were lost; each is replaced by a fresh one with a recap, up to a bound."""
    redrives: int = 0
    launches: int = 0
    lost_in_row: int = 0
    unavailable_in_row: int = 0
    fruitless: int = 0
    """Turns in a row that ended badly or changed nothing: the pause before the next grows with it."""
    cost_usd: float | None = 0.0
    last: TurnEnd | None = None
    last_detail: str = ""


@dataclass(frozen=True, slots=True)
class SeenState:
    """A state file that counts: turns begun when it was first seen, and the last look that found it changed."""

    view: StateView
    generation: int
    look: int


@dataclass(frozen=True, slots=True)
class Files:
    """State files as the looks found them. `earlier`: those that lay there when the task began and are as they were."""

    looks: int = 0
    seen: tuple[SeenState, ...] = ()
    chosen: StateView | None = None
    hint: str = ""
    """What an absent state file's view says (where stray ones lie)."""
    earlier: tuple[StateView, ...] | None = None
    """None: the task has not begun."""


Doing = Literal["prepare", "turn", "verify", "audit", "start", "judge", "pause", "watch", "confirm", "close", "done"]


@dataclass(frozen=True, slots=True)
class LegState:
    """Everything the leg machine remembers."""

    leg: LegPlan
    phase: Phase = "prepare"
    doing: Doing = "prepare"
    incarnation: str = ""
    agent_version: str | None = None
    setup_began: float = 0.0
    task_began: float = 0.0
    watch_began: float = 0.0
    """`mono` since when this kind of watching goes on; looks get rarer with it."""
    until: float = 0.0
    """`mono` at which the pause, or reading the last evidence again, is over."""
    retry: TurnKind | None = None
    """What the pause ends with."""
    scanning: bool = False
    """A full scan is under way: another one waits until it is over."""
    quiet: Quiet = field(default_factory=Quiet)
    turns: Turns = field(default_factory=Turns)
    files: Files = field(default_factory=Files)
    verify_said: str = ""
    survivors: tuple[str, ...] = ()
    command_said: str = ""
    command_ended: bool = False
    ending: Finish | None = None
    """What the leg ends with unless reading the evidence again shows that it finished."""
    published: PointerFacts | None = None

    def left(self, deadline: Literal["setup", "task"], now: Now) -> float:
        """Seconds until the set-up or the task deadline."""
        budgets = self.leg.budgets
        if deadline == "setup":
            return self.setup_began + budgets.setup - reading(now, "setup")
        return self.task_began + budgets.task - reading(now, "task")


Step = tuple[LegState, tuple[Action, ...]]


def finish(state: LegState, outcome: Literal["finished", "failed", "stopped"], reason: Reason | None, why: str) -> Step:
    """The leg's end."""
    return replace(state, phase="ended", doing="done"), (Finish(outcome, reason, why),)
