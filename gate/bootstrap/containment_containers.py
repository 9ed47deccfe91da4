"""Containers of a workload: no descendants of it, so found by label.

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import shutil
import subprocess

from gate.bootstrap.containment import Census

LABEL_TAG = "gate.tag"
LABEL_WORKLOAD = "gate.workload"
_TOOLS = ("docker", "podman")
_NO_DAEMON = "Cannot connect to the Docker daemon"
"""Then none of its containers runs either: no problem."""
_SECONDS = 60.0
"""A daemon that does not answer for as long is not waited for."""


def end_containers(tag: str, workload: str) -> tuple[str, ...]:
    """Remove the workload's containers through whichever of docker and podman is there.

    One with the tag and no workload label goes with the last workload of the tag on this machine. Returns, in words,
    what could not be removed or asked about.
    """
    problems: list[str] = []
    for tool in _TOOLS:
        if shutil.which(tool) is None:
            continue
        listed = _run(tool, "ps", "--all", "--filter", f"label={LABEL_TAG}={tag}", "--format", _FORMAT)
        if isinstance(listed, str):
            if _NO_DAEMON not in listed:
                problems.append(listed)
            continue
        for line in listed.stdout.splitlines():
            container, _, owner = line.partition(" ")
            if container and _ours(owner.strip(), tag, workload):
                removed = _run(tool, "rm", "--force", "--volumes", container)
                if isinstance(removed, str):
                    problems.append(removed)
    return tuple(problems)


_FORMAT = '{{.ID}} {{.Label "' + LABEL_WORKLOAD + '"}}'


def _ours(owner: str, tag: str, workload: str) -> bool:
    if owner in ("", "<no value>"):
        return not Census().tagged(tag)
    return owner == workload


def _run(tool: str, *words: str) -> subprocess.CompletedProcess[str] | str:
    try:
        done = subprocess.run(
            [tool, *words], capture_output=True, text=True, timeout=_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{tool} {words[0]}: {error}"
    if done.returncode != 0:
        return f"{tool} {words[0]}: {done.stderr.strip()[:300] or f'exit {done.returncode}'}"
    return done
