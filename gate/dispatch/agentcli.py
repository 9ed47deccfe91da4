"""The agent's command line, staged for images that lack it: `staged/agent/claude`, and what it needs beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from gate.dispatch.placing import place, place_bytes
from gate.errors import AgentError
from gate.plan.model import AgentPlan, Plan

VERSION_BUDGET = 60.0
_ELF = b"\x7fELF"
_WRAPPER = b"""#!/bin/sh
here=$(dirname "$0")
exec "$here/node" "$here/claude-code/%s" "$@"
"""


def stage_agent(plan: Plan, folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Stage what the plan's agent legs need into `folder`: (path below it to digest, tool to version).

    Only `claude` is a program of its own; `command` agents come with their image, `scripted` ones with gate.pyz.
    Raises AgentError: not installed here, or not the pinned version; OSError.
    """
    # A leg that names its executable finds it in its image, staged or not.
    claude = [leg.agent for leg in plan.legs if leg.agent is not None and leg.agent.kind == "claude"]
    agents = [agent for agent in claude if "executable" not in agent.options]
    if not agents:
        return {}, {}
    found = shutil.which("claude")
    if found is None:
        raise AgentError(
            "stage_agent: claude is not on PATH here, so it cannot be staged",
            hint="Install it (`npm install @anthropic-ai/claude-code`), or set `stage_agent: false`.",
        )
    version = _version(found)
    for agent in agents:
        _check(agent, found, version)
    executable = Path(os.path.realpath(found))
    with executable.open("rb") as stream:
        native = stream.read(4) == _ELF
    if native:
        return {"claude": place(executable, folder / "claude")}, {"claude": version}
    return _with_node(executable, folder), {"claude": version, "node": _version("node")}


def _check(agent: AgentPlan, found: str, version: str) -> None:
    if agent.version is not None and agent.version != version:
        raise AgentError(
            f"stage_agent: {found} is version {version}, and gate.yaml pins {agent.version}",
            hint=f"npm install @anthropic-ai/claude-code@{agent.version}",
        )


def _with_node(script: Path, folder: Path) -> dict[str, str]:
    """An older release is a script in its npm package, and runs on a node that is staged beside it."""
    node = shutil.which("node")
    if node is None:
        raise AgentError("stage_agent: claude is a script here, and node is not on PATH")
    package = next((one for one in script.parents if (one / "package.json").is_file()), script.parent)
    files = {"node": place(Path(os.path.realpath(node)), folder / "node")}
    for path in sorted(package.rglob("*")):
        if path.is_file():
            name = f"claude-code/{path.relative_to(package).as_posix()}"
            files[name] = place(path, folder / name)
    wrapper = _WRAPPER % script.relative_to(package).as_posix().encode()
    files["claude"] = place_bytes(wrapper, folder / "claude", mode=0o755)
    return files


def _version(command: str) -> str:
    """What it calls itself: the first word of `--version`."""
    try:
        done = subprocess.run(
            [command, "--version"],
            capture_output=True,
            timeout=VERSION_BUDGET,
            check=False,
            stdin=subprocess.DEVNULL,
            text=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AgentError(f"stage_agent: `{command} --version` does not work here: {error}") from error
    words = done.stdout.split()
    if done.returncode != 0 or not words:
        raise AgentError(f"stage_agent: `{command} --version` ended with {done.returncode}: {done.stderr[:200]}")
    return words[0].removeprefix("v")
