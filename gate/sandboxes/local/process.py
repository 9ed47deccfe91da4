"""One command on this machine: posix_spawn, a pidfd, and a pipe of which the last bytes are kept."""

from __future__ import annotations

import errno
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence

from gate.contracts.sandbox import OUTPUT_LIMIT
from gate.errors import SandboxRefused, SandboxUnavailable
from gate.sandboxes.local.reaper import Reaper, Wait

_CHUNK = 65536
_PIPE = 1 << 20
"""As large as a command without privileges can make its pipe."""
_DEFAULTS = (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP)
"""What Python or a shell's background job ignores, and a command must not inherit so."""
_SCARCE = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)


class Output:
    """The last OUTPUT_LIMIT bytes of what is fed in."""

    def __init__(self) -> None:
        self.dropped = 0
        self._parts: deque[bytes] = deque()
        self.size = 0

    def feed(self, part: bytes) -> None:
        """More of it."""
        self._parts.append(part)
        self.size += len(part)
        while self.size - len(self._parts[0]) >= OUTPUT_LIMIT:
            first = len(self._parts.popleft())
            self.size -= first
            self.dropped += first

    def taken(self) -> bytes:
        """What is kept; `dropped` is right from now on."""
        kept = b"".join(self._parts)
        self.dropped += max(0, len(kept) - OUTPUT_LIMIT)
        return kept[-OUTPUT_LIMIT:]


class Process:
    """A command that runs in a session of its own. `ended.done` once `status` (as waitstatus_to_exitcode) is known."""

    def __init__(self, reaper: Reaper, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Start it. Raises SandboxUnavailable (no process or descriptor to be had), SandboxRefused (too long, …)."""
        self.ended = Wait()
        self.spoke = Wait()
        """It has written something, or ended."""
        self.output = Output()
        self.status = 0
        self._reaper = reaper
        try:
            self._pipe, writing = os.pipe2(os.O_CLOEXEC)
        except OSError as error:
            raise _failed(error) from error
        try:
            self.pid = os.posix_spawn(
                argv[0],
                tuple(argv),
                env,
                file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)]
                + [(os.POSIX_SPAWN_DUP2, writing, fd) for fd in (1, 2)],
                setsid=True,
                setsigmask=(),
                setsigdef=_DEFAULTS,
            )
        except OSError as error:
            os.close(self._pipe)
            raise _failed(error) from error
        finally:
            os.close(writing)
        os.set_blocking(self._pipe, False)
        self._watch()

    def _watch(self) -> None:
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except OSError as error:
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self._pipe)
            raise _failed(error) from error
        self._reaper.watch(self._pipe, self._readable)
        self._reaper.watch(self._pidfd, self._over)

    @property
    def exit_code(self) -> int:
        """As a shell has it: 128 + n for a death by signal n."""
        return self.status if self.status >= 0 else 128 - self.status

    def kill(self) -> None:
        """SIGKILL to its whole session's first group."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def _readable(self) -> bool:
        """One read and no more: a command that never stops writing must not hold the loop. True where there was one."""
        try:
            part = os.read(self._pipe, _CHUNK)
        except BlockingIOError:
            return False
        if part:
            self.output.feed(part)
            self.spoke.finish()
        else:
            self._close_pipe()
        return bool(part)

    def _over(self) -> None:
        self._reaper.forget(self._pidfd)
        os.close(self._pidfd)
        _, status = os.waitpid(self.pid, 0)
        self.status = os.waitstatus_to_exitcode(status)
        # What is in the pipe was written before the end; what the background goes on writing is not waited for.
        for _ in range(_PIPE // _CHUNK):
            if self._pipe < 0 or not self._readable():
                break
        self._close_pipe()
        self.spoke.finish()
        self.ended.finish()

    def _close_pipe(self) -> None:
        if self._pipe >= 0:
            self._reaper.forget(self._pipe)
            os.close(self._pipe)
            self._pipe = -1


def _failed(error: OSError) -> SandboxUnavailable | SandboxRefused:
    if error.errno in _SCARCE:
        return SandboxUnavailable(
            f"this machine cannot start another process: {error.strerror}",
            hint="Raise its limits (ulimit -n, ulimit -u), or lower the width.",
        )
    return SandboxRefused(f"the command cannot be started: {error.strerror}")
