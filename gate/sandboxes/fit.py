"""What a request or a command asks for and a backend cannot honour: found before anything is paid for (pure)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gate.contracts.sandbox import Caps, Command, SandboxCapabilities, SandboxRequest
from gate.errors import SandboxRefused

_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PINNED = re.compile(r".+@sha256:[0-9a-f]{64}", re.ASCII)


def unfit(capabilities: SandboxCapabilities, request: SandboxRequest) -> tuple[str, ...]:
    """Everything of the request that this backend cannot honour, in words."""
    found = [*_name(capabilities, request), *_image(capabilities, request), *_network(capabilities, request)]
    found += [
        f"a cap on {kind}: it has {', '.join(capabilities.caps) or 'none'}"
        for kind, value in _caps(request.caps).items()
        if value and kind not in capabilities.caps
    ]
    return (*found, *bad_env(request.env))


def check(kind: str, capabilities: SandboxCapabilities, request: SandboxRequest) -> None:
    """Raises SandboxRefused with everything of the request that the backend cannot honour."""
    if found := unfit(capabilities, request):
        raise SandboxRefused(
            f"the {kind} backend cannot give {request.name!r} what it asks for: {'; '.join(found)}",
            hint="Nothing was started. Change the request, or the backend.",
        )


def check_command(kind: str, capabilities: SandboxCapabilities, command: Command) -> None:
    """Raises SandboxRefused: a time-out that the backend cannot keep, or variables that are none."""
    found = list(bad_env(command.env))
    longest = capabilities.longest_exec
    if longest is not None and command.timeout > longest:
        found.append(f"a time-out of {command.timeout:g} s: the longest that it keeps is {longest:g} s")
    if command.timeout <= 0:
        found.append(f"a time-out of {command.timeout:g} s: expected more than 0")
    if "\0" in command.script:
        found.append("a NUL byte in the command")
    if found:
        raise SandboxRefused(f"the {kind} backend cannot run this command: {'; '.join(found)}")


def bad_env(env: Mapping[str, str]) -> tuple[str, ...]:
    """Variables that a shell could not export: a backend that builds a command line of them would run their names."""
    names = [
        f"the environment variable {name!r}: letters, digits and '_', no digit first"
        for name in env
        if not _ENV_NAME.fullmatch(name)
    ]
    return (*names, *(f"a NUL byte in the environment variable {name}" for name, value in env.items() if "\0" in value))


def _name(capabilities: SandboxCapabilities, request: SandboxRequest) -> list[str]:
    if re.fullmatch(capabilities.name_pattern, request.name):
        return []
    return [f"the name: expected {capabilities.name_pattern}"]


def _image(capabilities: SandboxCapabilities, request: SandboxRequest) -> list[str]:
    if not capabilities.images:
        return [] if request.image is None else ["an image: it has none, its sandboxes are processes of this machine"]
    if request.image is None:
        return ["no image: it starts from one, pinned by digest (name@sha256:…)"]
    if not _PINNED.fullmatch(request.image):
        return [f"image {request.image!r}: expected one pinned by digest (name@sha256:<64 hex digits>)"]
    return []


def _network(capabilities: SandboxCapabilities, request: SandboxRequest) -> list[str]:
    policy = request.network
    if policy.mode not in capabilities.policies:
        return [f"network {policy.mode!r}: it has {', '.join(capabilities.policies)}"]
    if policy.hosts and policy.mode != "allowlist":
        return [f"hosts under network {policy.mode!r}: they belong to an allowlist"]
    return []


def _caps(caps: Caps) -> dict[str, float]:
    return {"cpus": caps.cpus, "memory": caps.memory, "disk": caps.disk, "processes": caps.processes}
