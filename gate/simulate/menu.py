"""The menu of faults: every kind, what it does, and which fields of `scenario.Fault` count for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

ApiKind = Literal[
    "api_refused", "api_timeout", "api_401", "api_403", "api_404", "api_5xx", "api_html", "api_slow", "api_incomplete"
]
CreateKind = Literal["create_refused", "create_unclear", "create_lost", "create_twice"]
ListKind = Literal["list_lag", "list_duplicate", "phase_backwards"]
WorkloadKind = Literal[
    "queue", "image_hang", "image_missing", "unschedulable", "vanish", "oom", "evict", "node_lost", "timeout", "preempt"
]
TurnKind = Literal[
    "turn_early", "turn_hang", "turn_lie", "turn_empty", "turn_429", "turn_killed", "turn_no_start", "turn_lost"
]
LegKind = Literal[
    "agent_missing",
    "prepare_fails",
    "setup_stall",
    "setup_long",
    "launch_nothing",
    "task_stall",
    "task_dies",
    "task_long",
    "task_late",
    "leak",
]
StateKind = Literal[
    "state_torn",
    "state_empty",
    "state_types",
    "state_backwards",
    "state_two",
    "state_stray",
    "state_unreadable",
    "state_stale",
    "state_foreign",
    "state_delayed",
]
RootKind = Literal["disk_full", "root_hangs", "root_gone"]
ClockKind = Literal["clock_skew", "clock_jump"]
KillKind = Literal["kill_dispatcher", "kill_poller", "kill_supervisor", "kill_bootstrap"]
OutsideKind = Literal["cancel", "newer_run", "reports_limited", "reports_down"]
Kind = Literal[
    ApiKind,
    CreateKind,
    ListKind,
    WorkloadKind,
    TurnKind,
    LegKind,
    StateKind,
    RootKind,
    ClockKind,
    KillKind,
    OutsideKind,
]

Field = Literal["at", "probability", "lasts", "legs", "seconds", "turn", "who", "step", "side", "restart", "signal"]


@dataclass(frozen=True, slots=True)
class Item:
    """One kind. `probability` means "of each call, turn, change" where `each`, else "of happening at all"."""

    what: str
    fields: tuple[Field, ...]
    lasts: float | None = None
    """Seconds that it lasts where the fault does not say; None: it has no length."""
    seconds: float | None = None
    each: bool = False


_WINDOW: tuple[Field, ...] = ("at", "lasts", "probability")
_LEG: tuple[Field, ...] = ("legs", "probability")
_ONCE: tuple[Field, ...] = ("at", "legs", "probability")
_TURN: tuple[Field, ...] = ("at", "turn", "legs", "probability")
_VIEW: tuple[Field, ...] = ("at", "lasts", "legs", "probability")
_KILL: tuple[Field, ...] = ("at", "probability", "step", "side", "restart")
_ENDLESS = 10 * 86_400.0

MENU: Mapping[Kind, Item] = {
    "api_refused": Item("The engine refuses connections.", _WINDOW, 1500.0, each=True),
    "api_timeout": Item("The engine's API does not answer.", _WINDOW, 1500.0, each=True),
    "api_401": Item("The engine rejects the token.", _WINDOW, 1500.0, each=True),
    "api_403": Item("The engine says that a permission is missing.", _WINDOW, 1500.0, each=True),
    "api_404": Item(
        "The engine does not know a workload, though it lives: neither in lists nor by its id.", _VIEW, 600.0, each=True
    ),
    "api_5xx": Item("The engine answers 503.", _WINDOW, 600.0, each=True),
    "api_html": Item("A proxy answers in the engine's stead, with a page.", _WINDOW, 600.0, each=True),
    "api_slow": Item(
        "The engine takes `seconds` for each answer.",
        ("at", "lasts", "probability", "seconds"),
        3600.0,
        20.0,
        each=True,
    ),
    "api_incomplete": Item("Lists lack a workload, and say that they are not complete.", _VIEW, 600.0, each=True),
    "create_refused": Item("The engine refuses to create the workload.", _LEG),
    "create_unclear": Item("The workload is created, and the answer is lost.", _LEG),
    "create_lost": Item("Neither is the workload created nor an answer given.", _LEG),
    "create_twice": Item("The create is sent twice on its way: two workloads of the same name.", _LEG),
    "list_lag": Item(
        "A workload is in no list for `seconds` after its create; the engine declares it.", ("seconds",), None, 20.0
    ),
    "list_duplicate": Item("Lists show every workload twice.", _WINDOW, 3600.0, each=True),
    "phase_backwards": Item("The engine says Pending for a while, though the workload runs.", _VIEW, 300.0, each=True),
    "queue": Item("The workload queues for `seconds` more.", ("legs", "probability", "seconds"), None, 7200.0),
    "image_hang": Item("The image pull never ends.", _LEG),
    "image_missing": Item("There is no such image.", _LEG),
    "unschedulable": Item("No node can ever take the workload.", _LEG),
    "vanish": Item("The workload is gone, and the engine knows nothing of it.", _ONCE),
    "oom": Item("The workload runs out of memory.", _ONCE),
    "evict": Item("The workload is evicted.", _ONCE),
    "node_lost": Item("The workload's node is lost.", _ONCE),
    "timeout": Item("The engine ends the workload for its time-out.", _ONCE),
    "preempt": Item(
        "The workload is sent back to the queue for `seconds`, and starts anew.",
        ("at", "legs", "probability", "seconds"),
        None,
        300.0,
    ),
    "turn_early": Item("The turn ends early, without the marker.", _TURN, each=True),
    "turn_hang": Item("The turn hangs until its budget is spent.", _TURN, each=True),
    "turn_lie": Item("The turn says that it is done, and it is not.", _TURN, each=True),
    "turn_empty": Item("The turn ends at once, saying nothing.", _TURN, each=True),
    "turn_429": Item("The turn ends with 429 from its model's API.", _TURN, each=True),
    "turn_killed": Item("The turn is killed by a signal from outside.", _TURN, each=True),
    "turn_no_start": Item("The agent's process never says a word.", _TURN, each=True),
    "turn_lost": Item("The conversation is lost after the turn: the next resume fails.", _TURN, each=True),
    "agent_missing": Item("The agent's program is not there.", _LEG),
    "prepare_fails": Item("The leg's directory is not there within its budget.", _LEG),
    "setup_stall": Item("Set-up stops half-way: turns end, and change nothing.", _LEG),
    "setup_long": Item("Set-up needs `seconds` more.", ("legs", "probability", "seconds"), None, 1800.0),
    "launch_nothing": Item("The task turn leaves nothing running; the next request does.", _LEG),
    "task_stall": Item("The run stops writing half-way until it is asked to go on.", _LEG),
    "task_dies": Item("The run dies half-way, and is started again when asked.", _LEG),
    "task_long": Item("The run needs `seconds` more.", ("legs", "probability", "seconds"), None, 3600.0),
    "task_late": Item("The first state file comes `seconds` later.", ("legs", "probability", "seconds"), None, 600.0),
    "leak": Item("Agent and run print the leg's secrets.", _LEG),
    "state_torn": Item("The state file is torn.", _VIEW, 60.0),
    "state_empty": Item("The state file is empty.", _VIEW, 60.0),
    "state_types": Item("The last state file holds values of the wrong types.", _LEG),
    "state_backwards": Item("The state file says finished, and is then taken back.", _LEG),
    "state_two": Item("Two state files count.", _LEG),
    "state_stray": Item("The state file lies where none counts.", _LEG),
    "state_unreadable": Item("The poller may not read the state file.", _VIEW, 60.0),
    "state_stale": Item("The poller goes on seeing an old state file.", _VIEW, 300.0),
    "state_foreign": Item("The poller sees pointer and state file of another run.", _VIEW, 60.0),
    "state_delayed": Item(
        "The poller sees all files `seconds` late: an attribute cache.",
        ("at", "lasts", "legs", "seconds", "probability"),
        _ENDLESS,
        60.0,
    ),
    "disk_full": Item("No space is left on the shared root.", ("at", "lasts", "who"), 900.0),
    "root_hangs": Item("The shared root does not answer.", ("at", "lasts", "who"), 900.0),
    "root_gone": Item("The shared root is not mounted.", ("at", "lasts", "who"), 900.0),
    "clock_skew": Item("A wall clock is off by `seconds` from the start.", ("seconds", "who"), None, 900.0),
    "clock_jump": Item("A wall clock jumps by `seconds`.", ("at", "seconds", "who"), None, 900.0),
    "kill_dispatcher": Item("The dispatcher is killed.", _KILL, each=True),
    "kill_poller": Item("The poller is killed.", _KILL, each=True),
    "kill_supervisor": Item(
        "A workload's supervisor is killed, and everything below it; with `restart` the engine starts it anew.",
        (*_KILL, "legs"),
        each=True,
    ),
    "kill_bootstrap": Item(
        "A workload's bootstrap is killed.", ("at", "probability", "step", "side", "legs"), each=True
    ),
    "cancel": Item("The CI cancels the job.", ("at", "signal")),
    "newer_run": Item("A newer run for the same ref waits behind this one.", ("at",)),
    "reports_limited": Item("Reports are refused for a while: too many requests.", _WINDOW, 1200.0, each=True),
    "reports_down": Item("Reports get no answer.", _WINDOW, 1200.0, each=True),
}

KINDS: tuple[str, ...] = tuple(MENU)
assert set(KINDS) == set(get_args(Kind)), "every kind is on the menu"
