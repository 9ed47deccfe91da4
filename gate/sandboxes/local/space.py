"""A pid namespace (and a network of its own where none is allowed) for one sandbox, held by its process 1.

`unshare --kill-child` ends process 1 with this process, and with process 1 the kernel ends everything in it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache

from gate.errors import SandboxUnavailable
from gate.sandboxes.local.process import Process
from gate.sandboxes.local.reaper import Reaper
from gate.sandboxes.local.sweep import children

_HOLD = "echo up; while :; do sleep 3600 & wait; done"
"""`wait` collects what becomes an orphan in the namespace; a bare `sleep` as process 1 would not."""


@cache
def namespaces_allowed() -> bool:
    """Whether this machine lets this process make namespaces (tried once)."""
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        return False
    try:
        done = subprocess.run([*_unshare(network=False), "/bin/true"], capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


class Space:
    """The namespaces of one sandbox."""

    def __init__(self, reaper: Reaper, env: Mapping[str, str], *, network: bool) -> None:
        self.network = network
        self._reaper = reaper
        self.holder = Process(reaper, [*_unshare(network=network), "/bin/sh", "-c", _HOLD], env)
        self.init = 0

    async def up(self) -> None:
        """Returns when its process 1 runs. Raises SandboxUnavailable."""
        await self._reaper.wait(self.holder.spoke)
        self.init = next(iter(children(self.holder.pid)), 0)
        if not self.init:
            said = self.holder.output.taken().decode(errors="replace").strip()
            raise SandboxUnavailable(f"the sandbox's namespaces cannot be made: {said or 'unshare ended'}")

    def entering(self) -> list[str]:
        """What comes before a command that is to run inside."""
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        net = [] if self.network else ["--net"]
        path = shutil.which("nsenter") or "/usr/bin/nsenter"
        return [path, "--target", str(self.init), "--pid", "--mount", *net, *user, "--"]


def _unshare(*, network: bool) -> list[str]:
    path = shutil.which("unshare") or "/usr/bin/unshare"
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    net = [] if network else ["--net"]
    return [path, "--pid", "--fork", "--kill-child=KILL", "--mount-proc", *net, *user, "--"]
