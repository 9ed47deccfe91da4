"""Will another commit's run dispatch? Asked about a newer run before this one makes way for it."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from gate.adapters.threads import Lane
from gate.errors import GateError
from gate.plan.load import load
from gate.scope.decide import decide
from gate.scope.history import FETCH, TIMEOUT, History
from gate.scope.reading import read_change, rules_of
from gate.scope.span import Proposed, Pushed, span_of

DEADLINE = FETCH + 2 * TIMEOUT
"""Seconds after which it is not known."""


async def will_dispatch(
    repo: Path,
    config: Path,
    commit: str,
    *,
    base: str | None = None,
    pushed: bool = False,
    environ: Mapping[str, str] | None = None,
    lane: Lane | None = None,
) -> bool | None:
    """Would `gate scope` launch anything for `commit`? None: not known.

    `repo`: a clone of the repository; a commit that it lacks is fetched from origin. `config`: gate.yaml. `base`: what
    the commit is compared with (a pull request's base; with `pushed` the commit before the push), else the default
    branch. `environ`: beside this process's, for how git logs in (`git_login`). Never raises for what git or gate.yaml
    say.
    """
    question = partial(_will_dispatch, repo, config, commit, base, pushed, dict(environ or {}))
    try:
        return await (lane or Lane("git", limit=1)).call(DEADLINE, question)
    except (GateError, OSError):
        return None


def git_login(server: str, token: str) -> dict[str, str]:
    """How git sends `token` to `server` (`https://github.com`): by its environment, which `ps` does not show."""
    if not token:
        return {}
    header = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{server.rstrip('/')}/.extraheader",
        "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {header}",
    }


def _will_dispatch(
    repo: Path, config: Path, commit: str, base: str | None, pushed: bool, environ: dict[str, str]
) -> bool | None:
    history = History(History.of(repo).folder, environ)
    if history.commit(commit) is None and not history.fetch(commit):
        return None
    start = base or history.default_branch()
    if start is None or (history.commit(start) is None and not history.fetch(start)):
        return None
    gate = load(config)
    occasion = Pushed(start, commit, "") if pushed else Proposed(start, commit)
    return decide(read_change(history, span_of(history, occasion), gate), rules_of(gate, history.folder)).dispatches
