"""What a leg can come to, why, and on what evidence. The words every report, file and exit code uses.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, Literal

from gate.documents import Document

Scalar = str | int | float | bool | None


class Outcome(str, Enum):
    """PASS and FAIL are measurements of the product; ERROR and NOT_JUDGED say that there is none."""

    PASS = "PASS"  # noqa: S105 - an outcome, not a password
    FAIL = "FAIL"
    ERROR = "ERROR"
    NOT_JUDGED = "NOT_JUDGED"


class Reason(str, Enum):
    """Stable reason codes. Never renamed: dashboards and scripts match on them."""

    # PASS
    CRITERIA_MET = "criteria_met"
    # FAIL
    NOT_ACCEPTED = "not_accepted"  # finished, but the value is not in the success set
    LIMIT_EXCEEDED = "limit_exceeded"
    FLAKY = "flaky"  # passed, but only on a later attempt, and the gate says that this fails
    # ERROR: inside the workload
    PREPARE_FAILED = "prepare_failed"
    AGENT_UNAVAILABLE = "agent_unavailable"
    SETUP_STALLED = "setup_stalled"
    SETUP_DEADLINE = "setup_deadline"
    LAUNCH_FAILED = "launch_failed"  # asked as often as allowed, and nothing ever ran
    TASK_STALLED = "task_stalled"
    TASK_DEADLINE = "task_deadline"
    COMMAND_FAILED = "command_failed"  # a command leg ended without a finished state file
    TURNS_SPENT = "turns_spent"  # the cap against token spend was reached
    LEG_CRASHED = "leg_crashed"  # a bug in bootstrap, named as one
    # ERROR: the workload
    CREATE_REFUSED = "create_refused"
    CREATE_UNCLEAR = "create_unclear"
    NEVER_STARTED = "never_started"  # queued for longer than the queue budget
    IMAGE_UNAVAILABLE = "image_unavailable"
    UNSCHEDULABLE = "unschedulable"
    VANISHED = "vanished"
    WORKLOAD_RESTARTED = "workload_restarted"
    OUT_OF_MEMORY = "out_of_memory"
    EVICTED = "evicted"
    NODE_LOST = "node_lost"
    WORKLOAD_TIMEOUT = "workload_timeout"
    WORKLOAD_STOPPED = "workload_stopped"
    ENDED_WITHOUT_RESULT = "ended_without_result"
    # ERROR: the evidence
    EVIDENCE_MALFORMED = "evidence_malformed"
    EVIDENCE_UNREADABLE = "evidence_unreadable"
    EVIDENCE_AMBIGUOUS = "evidence_ambiguous"
    EVIDENCE_FOREIGN = "evidence_foreign"
    VALUE_MISSING = "value_missing"  # a judged key is missing or of the wrong type
    SILENT = "silent"  # the state file stopped changing for longer than the silence budget
    # ERROR: the observer
    API_REFUSED = "api_refused"
    API_REJECTED = "api_rejected"  # token rejected or permission missing
    API_TIMED_OUT = "api_timed_out"
    API_GONE = "api_gone"
    API_ERROR = "api_error"
    POLL_DEADLINE = "poll_deadline"
    # NOT_JUDGED
    FAIL_FAST = "fail_fast"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"


FieldKind = Literal["value", "missing", "container"]


@dataclass(frozen=True, slots=True)
class Field:
    """One dotted key looked up in a state file: a scalar, missing, or an object or list (which is never judged)."""

    kind: FieldKind
    value: Scalar = None


StateStatus = Literal["absent", "empty", "torn", "malformed", "unreadable", "foreign", "ambiguous", "ok"]


@dataclass(frozen=True, slots=True)
class StateView:
    """One snapshot of a leg's state file. `fields` is filled only where `status` is "ok".

    `sha256` is of the raw bytes that were parsed ("" where none were read), `path` relative to the run directory,
    `detail` what is wrong with it in words. Nothing here changes unless the file does.
    """

    status: StateStatus
    path: str = ""
    sha256: str = ""
    size: int = 0
    fields: Mapping[str, Field] = field(default_factory=dict)
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a verdict rests on: one snapshot, whose it is, and what the engine said at that moment."""

    state: StateView
    tag: str
    incarnation: str
    sequence: int
    phase: str
    read_at: float
    """Wall time of the reading, Unix seconds."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One step of the derivation that `gate explain` shows."""

    name: str
    observed: str
    source: str
    """The file (relative to the run directory) or the call that showed it."""
    holds: bool
    decides: bool = False
    age: float | None = None
    """Seconds from the reading of `source` to the verdict, on gate's own clock; None where nothing was read then."""
    sha256: str = ""
    """Of the raw bytes of `source`; "" where it is no file, or could not be read."""


@dataclass(frozen=True, slots=True)
class Verdict(Document):
    """A leg's verdict, written once. `sentence` is for people and carries no markup and no secret."""

    FORMAT: ClassVar[str] = "gate.verdict"
    VERSION: ClassVar[int] = 1

    leg: str
    blocking: bool
    outcome: Outcome
    reason: Reason
    sentence: str
    tag: str
    attempt: int
    at: float
    """Wall time of the deciding tick, Unix seconds."""
    elapsed: float
    """Seconds since the attempt's first poll."""
    evidence: Evidence | None
    rules: tuple[Rule, ...] = ()
    carried_from: str | None = None
    """Tag of the attempt that measured it, where it is carried."""
    flaky: bool = False
    """Passed, after an earlier attempt of this run had not."""
