"""What the local backend offers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gate.contracts import Clock
from gate.contracts.sandbox import Sandboxes
from gate.documents import Json
from gate.errors import ConfigError
from gate.sandboxes.local.backend import LocalSandboxes
from gate.sandboxes.local.space import namespaces_allowed
from gate.sandboxes.offer import Offer


def _open(parameters: Mapping[str, Json], _credentials: Mapping[str, str], clock: Clock) -> Sandboxes:
    wanted = parameters.get("namespaces", "auto")
    if wanted not in ("auto", True, False):
        raise ConfigError(f"sandbox backend local: namespaces: expected auto, true or false, found {wanted!r}")
    allowed = wanted is not False and namespaces_allowed()
    if wanted is True and not allowed:
        raise ConfigError(
            "sandbox backend local: this machine does not let this user make namespaces",
            hint="Run as root, allow user namespaces, or say `namespaces: false`.",
        )
    root = parameters.get("root")
    if root is not None and (not isinstance(root, str) or not Path(root).is_dir()):
        raise ConfigError(f"sandbox backend local: root: expected a folder that exists, found {root!r}")
    return LocalSandboxes(clock, namespaces=allowed, root=None if root is None else Path(root))


OFFER = Offer(parameters=("namespaces", "root"), credentials=(), open=_open)
