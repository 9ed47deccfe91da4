"""Sandboxes: small machines that are created, driven, parked and removed by the hundred.

As narrow as it can be: a backend implements `Sandboxes` and `Sandbox`, and says what it can do beyond that. What it
cannot honour it refuses before anything is paid for (`gate.sandboxes.fit`). Anything that has no answer raises
SandboxUnavailable: the state is unknown. Cancelling any call here ends what the call had begun, inside the sandbox too.
Standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

PolicyMode = Literal["none", "public", "allowlist"]
CapKind = Literal["cpus", "memory", "disk", "processes"]

TIMED_OUT = 124
"""Exit code of a command that was ended by its time-out, as timeout(1) has it."""
OUTPUT_LIMIT = 200_000
"""Bytes of output that are kept: the last ones, where the reason of a failure stands."""


@dataclass(frozen=True, slots=True)
class NetworkPolicy:
    """What a sandbox may reach. `hosts` (names or networks) belong to the allowlist alone."""

    mode: PolicyMode
    hosts: tuple[str, ...] = ()


NO_NETWORK = NetworkPolicy("none")
PUBLIC = NetworkPolicy("public")


@dataclass(frozen=True, slots=True)
class Labels:
    """Whose a sandbox is. `phase` is where the trial stands when it is created (`work`, `check` …)."""

    leg: str
    task: str
    trial: str
    phase: str


@dataclass(frozen=True, slots=True)
class Caps:
    """What a sandbox may use at most; 0 is no cap. `memory` and `disk` in bytes."""

    cpus: float = 0
    memory: int = 0
    disk: int = 0
    processes: int = 0


@dataclass(frozen=True, slots=True)
class SandboxRequest:
    """One sandbox to create. `name` is fixed before the call, so that a create without an answer can be undone."""

    name: str
    image: str | None
    """Pinned by digest (`…@sha256:<64 hex>`), or None where the backend has no images."""
    network: NetworkPolicy
    labels: Labels
    caps: Caps = Caps()
    env: Mapping[str, str] = field(default_factory=dict)
    ttl: float = 3600.0
    """Seconds after which a backend that can removes it itself: a backstop, not a schedule."""
    deadline: float = 300.0
    """Seconds after which the create has failed."""


@dataclass(frozen=True, slots=True)
class Command:
    """What `sh -c` runs in a sandbox, standard input closed. `cwd` "": the sandbox's own working directory."""

    script: str
    timeout: float
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """How a command ended. `exit_code`: 128 + n for a death by signal n, `TIMED_OUT` where `timed_out`."""

    exit_code: int
    output: bytes
    """Standard output and error, merged as they came; the last OUTPUT_LIMIT bytes."""
    duration: float
    """Seconds."""
    dropped: int = 0
    """Bytes of output before those kept."""
    timed_out: bool = False

    @property
    def text(self) -> str:
        """The output for people: UTF-8, what is none of it replaced."""
        return self.output.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class SandboxCapabilities:
    """What a backend can do; what a request asks beyond it is refused before the first sandbox."""

    policies: tuple[PolicyMode, ...]
    switch: bool
    """The policy of a running sandbox can be changed."""
    images: bool
    """Starts from images, pinned by digest; else a request has none."""
    caps: tuple[CapKind, ...]
    suspend: bool
    """Can be parked with `suspend`; the next command wakes it."""
    isolated: bool
    """Processes of one sandbox see neither the host's nor another's."""
    name_pattern: str
    """Regular expression that a whole sandbox name matches."""
    longest_exec: float | None = None
    """Seconds; a command with a longer time-out is refused. None: no bound."""


class Sandbox(Protocol):
    """One sandbox that runs. Every method may raise SandboxUnavailable (state unknown), SandboxGone, SandboxRefused."""

    @property
    def name(self) -> str: ...

    async def exec(self, command: Command) -> ExecResult:
        """Run to the end. At the time-out, on a cancel and on every error the whole process tree inside is killed.

        Wakes a suspended sandbox. What a command leaves running in the background after it ended by itself lives on.
        """
        ...

    async def upload(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Write a file, parents made; a relative path is below the working directory."""
        ...

    async def download(self, path: str, limit: int) -> bytes:
        """The file's bytes. Raises SandboxFileError: none there, not readable, or longer than `limit`."""
        ...

    async def switch(self, network: NetworkPolicy) -> None:
        """Another policy from now on; returns when it holds. Only where `capabilities.switch`."""
        ...

    async def suspend(self) -> None:
        """Park it, seen parked. Only where `capabilities.suspend`; idempotent."""
        ...

    async def stop(self) -> None:
        """Remove it with everything in it, seen gone. Idempotent."""
        ...


@runtime_checkable
class Detached(Protocol):
    """Commands as start, poll, read: none of them is one long call. A backend may have its own; for others
    `gate.sandboxes.detached` makes one out of `exec`.

    `nonce` is chosen by the caller, and claimed in the sandbox before anything runs: whoever comes second under the
    same one starts nothing. So a start whose answer was lost is simply started again.
    """

    async def start(self, nonce: str, command: Command) -> None:
        """Claim the nonce and begin; returns when it runs, also where an earlier call has started it already."""
        ...

    async def poll(self, nonce: str, wait: float) -> bool:
        """True once the command has ended; waits for that at most about `wait` seconds. Unknown: SandboxGone."""
        ...

    async def read(self, nonce: str) -> ExecResult:
        """How it ended, once `poll` was true; what is kept of it is removed."""
        ...

    async def kill(self, nonce: str) -> None:
        """End its whole process tree, seen gone. A start that arrives later finds the nonce used. Idempotent."""
        ...


class Sandboxes(Protocol):
    """A backend. Opened once, used by many tasks at the same time."""

    @property
    def kind(self) -> str: ...

    @property
    def capabilities(self) -> SandboxCapabilities: ...

    async def create(self, request: SandboxRequest) -> Sandbox:
        """Start one; returns when it can be asked to run commands. Never retried by the backend.

        Raises SandboxRefused (nothing was created), or SandboxUnavailable (it may exist, now or a little later: delete
        it by name).
        """
        ...

    async def delete(self, name: str) -> bool:
        """Remove the sandbox of this name, seen gone; False where there was none. Raises SandboxUnavailable."""
        ...

    async def exists(self, name: str) -> bool:
        """Whether something of this name is there, suspended ones too. Raises SandboxUnavailable."""
        ...

    async def aclose(self) -> None:
        """Close connections. Sandboxes that were not stopped are not its business, save those of this process."""
        ...
