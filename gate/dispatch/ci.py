"""Which CI run this is, from the environment that the CI gives its steps."""

from __future__ import annotations

from collections.abc import Mapping

NAMES = ("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_WORKFLOW", "GITHUB_JOB", "GITHUB_SHA", "GITHUB_REPOSITORY")


def ci(environment: Mapping[str, str]) -> dict[str, str]:
    """What identifies the CI run, with its `url` where it can be told; empty outside CI."""
    if not environment.get("GITHUB_RUN_ID"):
        return {}
    found = {name: environment[name] for name in NAMES if environment.get(name)}
    server, repository = environment.get("GITHUB_SERVER_URL"), environment.get("GITHUB_REPOSITORY")
    if server and repository:
        found["url"] = f"{server}/{repository}/actions/runs/{found['GITHUB_RUN_ID']}"
    return found


def same_attempt(recorded: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """True where both are the same attempt of the same CI run (or both are outside CI)."""
    keys = ("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT")
    return all(recorded.get(key) == now.get(key) for key in keys)
