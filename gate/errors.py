"""Every expected failure of gate: one class each, with the exit code it ends the command with.

Anything that is not a `GateError` is a bug: the log is saved, its path shown, exit 70.
A message says what, where, what was found, and what to do next. No message carries a secret's value.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from typing import Literal

EXIT_PASSED = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NOT_MEASURED = 3
EXIT_SUPERSEDED = 4
EXIT_UNDECIDED = 5
EXIT_REMAINS = 6
"""Done, but something remains or differs: survivors, replay differences, failed checks."""
EXIT_BUG = 70
EXIT_CANCELLED_INT = 130
EXIT_CANCELLED_TERM = 143


class GateError(Exception):
    """An expected failure. `exit_code` is what the command ends with; `hint` says what to do next."""

    exit_code = EXIT_USAGE

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


# --- what people write -------------------------------------------------------------------------------


class UsageError(GateError):
    """The command line asks for something that does not exist or does not go together."""


class ConfigError(GateError):
    """One or more faults in a file people write (`gate.yaml`, a scenario), all reported at once."""


class PromptError(GateError):
    """A prompt template that is missing, malformed, or names something that is not defined."""


class ArtifactError(GateError):
    """The artifact is not there, is ambiguous, or is not what its digest says."""


class LadderError(GateError):
    """A rung of the deadline ladder does not fit below the next one."""


class ScopeError(GateError):
    """What a change costs cannot be told: no repository, commits that are not there, a part of the history."""


class Declined(GateError):
    """A person was asked and said no, or nobody could be asked and `--yes` was not given."""


# --- the run directory -------------------------------------------------------------------------------


class DocumentError(GateError):
    """A file of gate's own that cannot be read as what it should be: torn, foreign, or of a newer version."""


class RunNotFound(GateError):
    """No run of that id below the root, or more than one where one is meant."""


class RunHeld(GateError):
    """Another process holds the run's lease and is alive."""


class LiveTwin(GateError):
    """A run of the same gate, ref and version is still live."""


class StoreError(GateError):
    """The run directory could not be read or written."""


class StoreUnavailable(StoreError):
    """The shared root does not answer (hung, cut off, vanished). The state is unknown: nothing follows from it."""


class StoreFull(StoreError):
    """No space left, or over quota, on the shared root."""


class StoreDenied(StoreError):
    """The operating system refuses access to a file of the run directory."""


# --- engines -----------------------------------------------------------------------------------------


class EngineError(GateError):
    """An engine's answer that is not the one asked for."""


Unreachable = Literal["refused", "timed_out", "gone", "error"]
"""In which way an engine cannot be reached: nobody listens, no answer in time, nothing of its kind there, else."""


class EngineUnreachable(EngineError):
    """No usable answer (refused, timed out, 5xx, HTML from a proxy). The state is unknown; reads may be retried."""

    def __init__(self, message: str, *, hint: str = "", kind: Unreachable = "error") -> None:
        super().__init__(message, hint=hint)
        self.kind: Unreachable = kind


class EngineAuthError(EngineError):
    """The engine rejects the credential (401), or it lacks a permission (403)."""


class EngineRefused(EngineError):
    """The engine understood and said no (validation, quota, capability). Retrying the same is pointless."""


class CreateUnclear(EngineError):
    """A create ended without an answer: the workload may exist. Look it up by tag, then adopt or remove it."""


class WorkloadNotFound(EngineError):
    """The engine answers and does not know this id. Never success; shortly after a create it is list lag."""


class CapabilityError(GateError):
    """The plan needs what the engine does not declare."""


# --- GitHub ------------------------------------------------------------------------------------------


class GitHubError(GateError):
    """An answer of GitHub that is not the one asked for. It never touches a verdict."""


class GitHubUnreachable(GitHubError):
    """No usable answer: refused, timed out, 5xx, a proxy's page."""


class GitHubLimited(GitHubError):
    """A rate limit, primary or secondary, that outlasts what may be waited for; or this gate's own budget of calls."""


class GitHubDenied(GitHubError):
    """The token is not accepted any more (401), or may not do this (403): a fork's token may not write."""


class GitHubRefused(GitHubError):
    """GitHub understood and will not take it (404, 410, 422): no such pull request, a locked conversation, too many."""


# --- sandboxes ---------------------------------------------------------------------------------------


class SandboxError(GateError):
    """A sandbox or its backend answers otherwise than asked."""


class SandboxRefused(SandboxError):
    """The backend understood and will not: a policy, cap, name or image that it cannot honour. Nothing was done."""


class SandboxUnavailable(SandboxError):
    """No usable answer (unreachable, timed out, overloaded). The state is unknown: it may have been done."""


class SandboxGone(SandboxError):
    """The sandbox, or a command in it, is not there (any more): removed, crashed, lost."""


class SandboxFileError(SandboxError):
    """A file in a sandbox that is not there, cannot be read or written, or is longer than what was allowed."""


class RecorderError(GateError):
    """What a load run measures cannot be written down (disk full, not permitted): the run has failed."""


# --- secrets, agents, tools --------------------------------------------------------------------------


class SecretError(GateError):
    """A secret's source is missing, empty, or too short to be redacted safely."""


class AgentError(GateError):
    """The agent's CLI is missing, has another version than the plan pins, or cannot start."""


def leaves(error: BaseException) -> tuple[BaseException, ...]:
    """The error itself, or those of tasks that ran side by side, out of the groups that task groups wrap them in."""
    inner: tuple[BaseException, ...] | None = getattr(error, "exceptions", None)
    return (error,) if inner is None else tuple(leaf for one in inner for leaf in leaves(one))
