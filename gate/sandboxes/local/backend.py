"""The local backend: sandboxes as processes of this machine, in namespaces of their own where that is allowed."""

from __future__ import annotations

import os
import tempfile
import uuid
from pathlib import Path

import anyio

from gate.adapters.threads import Lane
from gate.bootstrap.supervise_kernel import become_subreaper
from gate.contracts import Clock
from gate.contracts.sandbox import Sandbox, SandboxCapabilities, SandboxRequest
from gate.errors import SandboxRefused, SandboxUnavailable
from gate.plan import identity
from gate.sandboxes.fit import check
from gate.sandboxes.local.reaper import Reaper
from gate.sandboxes.local.sandbox import MARK, LocalSandbox
from gate.sandboxes.local.space import Space

_KEPT = ("PATH", "LANG", "LC_ALL", "TZ", identity.ENV_TAG, identity.ENV_WORKLOAD)
"""Of this process's environment: no secret, and what its workload's end finds its processes by."""


class LocalSandboxes:
    """Everything here ends with `aclose`, or at the latest with the workload that this process belongs to."""

    kind = "local"

    def __init__(self, clock: Clock, *, namespaces: bool, root: Path | None = None) -> None:
        self._clock = clock
        self._namespaces = namespaces
        self._root = root
        self._base: Path | None = None
        self._reaper = Reaper()
        self._lane = Lane("sandboxes", limit=8)
        self._sandboxes: dict[str, LocalSandbox] = {}
        self._env = {key: os.environ[key] for key in _KEPT if key in os.environ}
        self.capabilities = SandboxCapabilities(
            policies=("none", "public") if namespaces else ("public",),
            switch=False,
            images=False,
            caps=(),
            suspend=False,
            isolated=namespaces,
            name_pattern=r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
        )

    async def create(self, request: SandboxRequest) -> Sandbox:
        """A folder, and its namespaces where wanted."""
        check(self.kind, self.capabilities, request)
        if request.name in self._sandboxes:
            raise SandboxRefused(f"there is a sandbox {request.name!r} already")
        home = self._home(request.name)
        mark = f"{request.name}.{uuid.uuid4().hex[:12]}"
        env = {**self._env, "HOME": str(home), "TMPDIR": str(home), **request.env, MARK: mark}
        space = Space(self._reaper, env, network=request.network.mode == "public") if self._namespaces else None
        tools = (self._reaper, self._lane, self._clock, self.capabilities)
        sandbox = LocalSandbox(request.name, home, env, tools, space, self._forget)
        self._sandboxes[request.name] = sandbox
        if space is not None:
            await self._up(sandbox, space, request.deadline)
        return sandbox

    async def delete(self, name: str) -> bool:
        """Stop the one of this name."""
        sandbox = self._sandboxes.get(name)
        if sandbox is None:
            return False
        await sandbox.stop()
        return True

    async def exists(self, name: str) -> bool:
        """Whether it was created and not stopped."""
        return name in self._sandboxes

    async def aclose(self) -> None:
        """Stop what was not stopped, and remove the folder of all."""
        for sandbox in tuple(self._sandboxes.values()):
            await sandbox.stop()
        self._reaper.close()
        if self._base is not None:
            self._base.rmdir()

    def _forget(self, name: str) -> None:
        del self._sandboxes[name]

    async def _up(self, sandbox: LocalSandbox, space: Space, deadline: float) -> None:
        try:
            with anyio.fail_after(deadline):
                await space.up()
        except BaseException as error:
            await sandbox.stop()
            if isinstance(error, TimeoutError):
                raise SandboxUnavailable(f"{sandbox.name}: its namespaces were not there in {deadline:g} s") from error
            raise

    def _home(self, name: str) -> Path:
        """Made here and now: one system call on a local disk, where a thread would cost ten times as much."""
        if self._base is None:
            become_subreaper()
            self._base = Path(tempfile.mkdtemp(prefix="gate-sandboxes-", dir=self._root))
        home = self._base / name
        try:
            home.mkdir()
        except OSError as error:
            raise SandboxUnavailable(f"no folder for sandbox {name}: {error.strerror}") from error
        return home
