"""What drivers may ask of the world. Each contract asks only what every backend must do.

A driver awaits these and nothing else: no threads, subprocesses, signals, clocks or randomness of its own. Every
method is async. Real adapters do blocking I/O in threads with a deadline; simulated ones answer without leaving the
loop. Every contract has a conformance suite in `tests/conformance/` that all its implementations pass. Faults enter as
decorators around a contract. After a simulated kill every call raises `Killed`.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, Protocol

from gate.documents import Json
from gate.machines.clock import Now
from gate.machines.verdict import StateView
from gate.plan.model import LegPlan, Resources
from gate.rundir.formats import LegResult, Pointer


class Killed(BaseException):
    """The process that owns this contract handle is dead (simulation only): nothing may catch it and go on."""


# --- time --------------------------------------------------------------------------------------------


class Clock(Protocol):
    """The three clocks of this process, and waiting."""

    async def now(self) -> Now: ...

    async def sleep(self, seconds: float) -> None: ...


# --- the run directory -------------------------------------------------------------------------------


class Store(Protocol):
    """The run directory as the runner writes it: whole small files by key (a relative path with slashes).

    Errors of all methods: StoreUnavailable (hung, cut off, vanished; never mistaken for "absent"), StoreFull,
    StoreDenied. A write is durable when its call returns, and atomic: readers see the old file or the new one.
    """

    async def read(self, key: str) -> bytes | None:
        """The file's bytes, or None where it does not exist."""
        ...

    async def create(self, key: str, data: bytes) -> bool:
        """Write the file unless it exists. True for exactly one of any number of racing callers."""
        ...

    async def replace(self, key: str, data: bytes) -> None:
        """Write the file, whether it exists or not."""
        ...

    async def append(self, key: str, data: bytes) -> None:
        """Add one whole record. After a crash the last record may be torn; readers drop a torn tail."""
        ...

    async def list(self, prefix: str) -> tuple[str, ...]:
        """Keys of all files below the folder `prefix`, sorted; empty where there is none."""
        ...

    async def remove(self, key: str) -> bool:
        """Remove the file; False where there was none."""
        ...


class CancelNotes(Protocol):
    """The runner's own disk: where a cancel is written down first, because the shared root may hang."""

    async def record(self, run: str, tag: str, signal: int) -> None: ...

    async def find(self, run: str, tag: str) -> int | None:
        """The signal of a cancel noted for this attempt, or None."""
        ...


# --- a leg's files, as the poller sees them ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LegQuery:
    """What to look for: one leg under one tag."""

    leg: str
    tag: str
    globs: tuple[str, ...]
    keys: tuple[str, ...]
    """Dotted keys that a snapshot extracts."""


@dataclass(frozen=True, slots=True)
class LegView:
    """One look at a leg's files. Equal views mean that nothing changed."""

    incarnations: tuple[str, ...] = ()
    """All incarnations found, oldest first; pointer, result and state are those of the last."""
    pointer: Pointer | None = None
    result: LegResult | None = None
    state: StateView = field(default_factory=lambda: StateView("absent"))
    problem: str = ""
    """What of pointer or leg.json could not be read as ours, in words; "" for nothing."""
    stamp: str = ""
    """Changes whenever anything of the leg advanced (state file, pointer, result, transcript)."""


class LegFiles(Protocol):
    """The poller's look at `legs/`. Nothing below it is trusted beyond judging that leg."""

    async def look(self, queries: Sequence[LegQuery]) -> Mapping[str, LegView]:
        """One view a leg id. Raises StoreUnavailable when the root as a whole does not answer."""
        ...


# --- engines -----------------------------------------------------------------------------------------


class Phase(str, Enum):
    """A workload's phase in the engine's eyes. UNKNOWN is never terminal."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    STOPPED = "Stopped"
    UNKNOWN = "Unknown"

    @property
    def terminal(self) -> bool:
        """True where nothing of the workload runs any more."""
        return self in (Phase.SUCCEEDED, Phase.FAILED, Phase.STOPPED)


EndReason = Literal[
    "",
    "exit",
    "out_of_memory",
    "evicted",
    "node_lost",
    "timeout",
    "stopped",
    "image_unavailable",
    "unschedulable",
    "preempted",
    "lost",
]
"""Why a workload is in its phase, where the engine says; "lost": its supervisor is gone and left no exit code."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do; the plan refuses what needs more."""

    list_lag: float
    """Seconds for which a created workload may be missing from lists."""
    max_name: int
    name_pattern: str
    """Regular expression that a whole workload name matches."""
    privileged: bool
    shared: bool
    images: bool
    timeouts: bool
    """Enforces the workload time-out itself, beside the supervisor."""
    logs_after_end: bool
    shell: bool
    queue_position: bool
    gpus: bool
    protects_gate: bool
    """Mounts `legs/` alone writable."""
    options: tuple[str, ...] = ()
    """Keys that `resources.options` may have."""


@dataclass(frozen=True, slots=True)
class WorkloadRequest:
    """Everything an engine needs to start one workload."""

    name: str
    workload: str
    tag: str
    gate: str
    repository: str
    ref: str
    run: str
    legs: tuple[str, ...]
    run_dir: str
    assignment: str
    """Store key of the assignment that bootstrap reads."""
    resources: Resources
    timeout: float
    keep_on_fail: float
    env: Mapping[str, str]
    """Plain environment, no secret in it."""
    secrets: Mapping[str, str]
    """Secret name to value: handed over by whatever means the engine has that shows in no list, record or argv."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One workload as the engine reports it."""

    id: str
    name: str
    tag: str
    run: str
    ref: str
    phase: Phase
    reason: EndReason = ""
    exit_code: int | None = None
    message: str = ""
    queue_position: int | None = None
    restarts: int = 0
    kept_until: float | None = None
    """Wall time, where the engine itself holds a lease (the local supervisor)."""


@dataclass(frozen=True, slots=True)
class Listing:
    """One list round. Absence from a listing that is not complete means nothing."""

    workloads: tuple[Workload, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose workloads to list: one gate of one repository, narrowed to a ref or a tag."""

    repository: str
    gate: str
    ref: str | None = None
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class LogChunk:
    """A piece of a workload's log; read on from `next_offset`. `ended`: no more will come."""

    data: bytes
    next_offset: int
    ended: bool


class Engine(Protocol):
    """Where workloads run. Errors: EngineUnreachable, EngineAuthError (any method), and those named below."""

    @property
    def kind(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def create(self, request: WorkloadRequest) -> str:
        """Start a workload and return its id. Never retried.

        Raises EngineRefused (nothing was created) or CreateUnclear (it may have been: look it up by tag and name).
        """
        ...

    async def list(self, scope: Scope) -> Listing:
        """All workloads of `scope`, ended ones too for as long as the engine remembers them."""
        ...

    async def get(self, workload_id: str) -> Workload:
        """One workload. Raises WorkloadNotFound."""
        ...

    async def stop(self, workload_id: str) -> None:
        """End the workload and every process of it. Idempotent: an unknown or ended one is no error.

        Returns when the engine has taken the request; whether it is gone is seen in `list` or `get`.
        """
        ...

    async def logs(self, workload_id: str, offset: int, limit: int) -> LogChunk:
        """At most `limit` bytes of the log from `offset` (negative: from the end). Raises WorkloadNotFound."""
        ...

    async def aclose(self) -> None: ...


# --- inside a workload -------------------------------------------------------------------------------


class TurnEnd(str, Enum):
    """How a turn of an agent ended. Everything but COMPLETED is a warning, never a failure of the leg."""

    COMPLETED = "completed"
    EMPTY = "empty"  # exit 0 and nothing said
    FAILED = "failed"  # the agent says so (API error, max turns, refusal)
    TIMED_OUT = "timed_out"
    NO_START = "no_start"  # the start-up probe saw no byte
    SESSION_LOST = "session_lost"  # resume: no such conversation
    SESSION_USED = "session_used"  # start: the id is taken
    KILLED = "killed"  # ended by a signal that was not ours
    UNAVAILABLE = "unavailable"  # cannot be executed at all


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One bounded turn. `resume` continues `session`, else it is started under that id (a UUID)."""

    ordinal: int
    prompt: str
    session: str
    resume: bool
    budget: float
    """Seconds after which the turn is ended with everything that it did not detach."""
    startup_probe: float
    """Seconds until the first byte of output; 0 switches the probe off."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one turn."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """What a turn came to. `cost_usd` is of this turn alone, None where unknown."""

    end: TurnEnd
    text: str
    """The agent's last result text."""
    detail: str
    """Why it did not complete, in one redacted sentence; "" where it did."""
    session: str | None
    """The session id the agent reports."""
    exit_code: int | None
    usage: Usage | None
    cost_usd: float | None


class Agent(Protocol):
    """A coding agent's command line, driven one bounded turn at a time."""

    @property
    def kind(self) -> str: ...

    async def version(self) -> str:
        """What the installed agent calls itself. Raises AgentError: missing, not executable, not the pinned version."""
        ...

    async def turn(self, request: TurnRequest) -> TurnOutcome:
        """Run one turn to its end or its budget. Never raises for a turn that went badly.

        Cancelling the call ends the turn and everything it did not detach, as running out of budget does.
        """
        ...


@dataclass(frozen=True, slots=True)
class CommandResult:
    """A finished command. `output` is the redacted, bounded tail of stdout and stderr, merged."""

    exit_code: int | None
    """None: ended by its time-out. Negative: by that signal."""
    output: str


class Commands(Protocol):
    """Running the leg's own commands (verify, prepare, the command of a command leg) in its workspace."""

    async def run(self, command: str, budget: float) -> CommandResult:
        """Run `sh -c command` to its end or its budget; its whole tree is ended then."""
        ...

    async def start(self, command: str) -> None:
        """Start the leg's one long command, detached from turns. It ends with the workload at the latest."""
        ...

    async def poll(self) -> CommandResult | None:
        """The long command's result, or None while it runs."""
        ...

    async def survivors(self) -> tuple[str, ...]:
        """Live processes of this leg that no running turn or command accounts for, as `pid command`."""
        ...

    async def end_all(self) -> tuple[str, ...]:
        """End every process of this leg; what could not be ended, as `pid command`."""
        ...


@dataclass(frozen=True, slots=True)
class Scan:
    """Liveness. `changed`: some entry's (inode, size, mtime, ctime) differs from the last look, or came or went.

    `full`: every entry was compared, from start to end of this call. A scan that could not see the tree is `blind`.
    """

    changed: bool
    full: bool
    blind: bool
    entries: int


class LegHome(Protocol):
    """One leg's own directory inside the workload: `legs/LEG/TAG/INCARNATION/`."""

    async def open(self) -> str:
        """Make this start's directory (never one that exists), copy in the staged files; return the incarnation."""
        ...

    async def idle(self, beat: float, longest: float) -> None:
        """Return when a new look at the leg is worth its cost, at the latest after `longest` seconds.

        A home that must look to find out returns every `beat` seconds; one that is told of changes waits for the next.
        """
        ...

    async def scan(self, *, full: bool) -> Scan:
        """Look for change below workspace and session: the hot set, or everything in slices when `full`."""
        ...

    async def states(self) -> tuple[StateView, ...]:
        """One snapshot of each state file that counts; empty while there is none."""
        ...

    async def publish(self, document: Pointer | LegResult) -> None:
        """Write pointer.json or leg.json atomically, readable by the runner."""
        ...

    async def record(self, entry: Mapping[str, Json]) -> None:
        """Append to the leg's journal (turns before they start, observations)."""
        ...

    async def secret_hits(self) -> tuple[str, ...]:
        """Files below the leg root in which a secret stands, as `path: secret name`."""
        ...


@dataclass(frozen=True, slots=True)
class StopRequest:
    """Somebody asked this process to end: signal number and when its supervisor will use force."""

    signal: int
    grace: float


class Signals(Protocol):
    """Requests to end, from outside."""

    async def wait(self) -> StopRequest:
        """Return at the first request; at once where one has already come."""
        ...


class LegWorld(Protocol):
    """Everything one leg's driver is given."""

    @property
    def leg(self) -> LegPlan: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def home(self) -> LegHome: ...
    @property
    def commands(self) -> Commands: ...
    @property
    def agent(self) -> Agent | None: ...
    @property
    def signals(self) -> Signals: ...


# --- the world around a gate -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewerRun:
    """A newer run for the same ref that waits behind this one and will dispatch."""

    run: str
    commit: str
    url: str


class Supersede(Protocol):
    """Is a newer run waiting behind this one?"""

    async def newer(self) -> NewerRun | None:
        """None: no, or unknown (this run then goes on)."""
        ...


@dataclass(frozen=True, slots=True)
class Event:
    """Something that reporters may tell people: `kind` is stable, `data` plain JSON, redacted."""

    kind: str
    at: float
    elapsed: float
    leg: str | None
    text: str
    data: Mapping[str, Json]


class Reporter(Protocol):
    """Tells people or services. Best-effort: a reporter's failure never touches a verdict."""

    async def emit(self, event: Event) -> None: ...

    async def aclose(self) -> None: ...
