"""Pushes and clones: what there is to compare with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gate.errors import ScopeError
from gate.plan.load import load
from gate.scope.costs import costs
from gate.scope.dispatches import git_login, will_dispatch
from gate.scope.history import History
from gate.scope.model import Scoped
from gate.scope.span import Asked, Occasion, Proposed, Pushed
from tests.scope.repositories import Repository

ZERO = "0" * 40
GONE = "1234567890" * 4


def cost(folder: Path, occasion: Occasion) -> Scoped:
    return costs(load(folder / "gate.yaml"), History.of(folder), occasion, None, ())


def clone(repository: Repository, place: Path, *options: str) -> Path:
    command = ["git", "clone", "-q", *options, f"file://{repository.folder}", str(place)]
    subprocess.run(command, check=True, capture_output=True)
    return place


def test_a_push_is_compared_with_what_was_there_before(repository: Repository) -> None:
    repository.product("1.1.0")
    bumped = repository.commit()
    repository.write("README.md", "more\n")
    head = repository.commit()
    assert cost(repository.folder, Pushed(repository.first, head, "main")).scope == "full"
    assert cost(repository.folder, Pushed(bumped, head, "main")).scope == "none"


def test_a_forced_push_back_is_a_change_too(repository: Repository) -> None:
    repository.product("1.1.0")
    bumped = repository.commit()
    found = cost(repository.folder, Pushed(bumped, repository.first, "main"))
    assert found.reason == "the version changed from 1.1.0 to 1.0.0"


def test_the_first_commit_needs_every_leg(repository: Repository) -> None:
    found = cost(repository.folder, Pushed(ZERO, repository.first, "main"))
    assert found.scope == "full"
    assert found.reason == "there is nothing to compare with: main is a new branch"


def test_a_new_branch_is_compared_with_where_it_left_the_default_branch(repository: Repository, tmp_path: Path) -> None:
    repository.git("checkout", "-q", "-b", "topic")
    repository.write("README.md", "more\n")
    head = repository.commit()
    repository.git("checkout", "-q", "main")
    place = clone(repository, tmp_path / "clone")
    assert cost(place, Pushed(ZERO, head, "topic")).scope == "none"


def test_what_a_forced_push_replaced_may_be_gone(repository: Repository, tmp_path: Path) -> None:
    repository.git("checkout", "-q", "-b", "topic")
    repository.write("README.md", "more\n")
    head = repository.commit()
    repository.git("checkout", "-q", "main")
    place = clone(repository, tmp_path / "clone")
    assert cost(place, Pushed(GONE, head, "topic")).scope == "none"
    found = cost(place, Pushed(GONE, repository.first, "main"))
    assert found.scope == "full"
    assert "main was rewritten" in found.reason


@pytest.mark.parametrize("gone", [ZERO, GONE])
def test_a_shallow_clone_is_an_error_that_names_fetch_depth(repository: Repository, tmp_path: Path, gone: str) -> None:
    repository.write("README.md", "more\n")
    head = repository.commit()
    place = clone(repository, tmp_path / "clone", "--depth", "1")
    for occasion in (Pushed(gone, head, "main"), Proposed(repository.first, head), Proposed(head, head)):
        with pytest.raises(ScopeError, match="shallow clone") as caught:
            cost(place, occasion)
        assert "fetch-depth: 0" in caught.value.hint


def test_outside_of_a_repository_is_an_error(tmp_path: Path, repository: Repository) -> None:
    with pytest.raises(ScopeError, match="in no git repository"):
        History.of(tmp_path)


def test_what_was_asked_for_is_what_it_costs(repository: Repository) -> None:
    gate, history = load(repository.folder / "gate.yaml"), History.of(repository.folder)
    occasion = Asked("HEAD", "workflow dispatch by someone")
    assert costs(gate, history, occasion, None, ()).scope == "full"
    fast = costs(gate, history, occasion, "fast", ())
    assert (fast.scope, fast.legs, fast.version) == ("fast", ("a",), "1.0.0")
    subset = costs(gate, history, occasion, None, ("b",))
    assert (subset.scope, subset.legs) == ("subset", ("b",))
    assert subset.reason == "workflow dispatch by someone: 1 of 2 legs"
    assert costs(gate, history, occasion, None, ("*",)).scope == "full"
    assert not costs(gate, history, occasion, "none", ()).dispatches


@pytest.mark.anyio
async def test_whether_a_newer_commit_will_dispatch(repository: Repository, tmp_path: Path) -> None:
    place = clone(repository, tmp_path / "clone")
    repository.git("checkout", "-q", "-b", "topic")
    repository.write("README.md", "more\n")
    quiet = repository.commit()
    repository.product("1.1.0")
    bumped = repository.commit()
    repository.write("README.md", "even more\n")
    after = repository.commit()
    config = place / "gate.yaml"
    assert await will_dispatch(place, config, quiet) is False  # fetched: the clone is older
    assert await will_dispatch(place, config, after) is True
    assert await will_dispatch(place, config, after, base=bumped, pushed=True) is False
    assert await will_dispatch(place, config, GONE) is None
    assert await will_dispatch(tmp_path, config, quiet) is None
    assert await will_dispatch(place, tmp_path / "none.yaml", quiet) is None


def test_git_logs_in_by_its_environment() -> None:
    login = git_login("https://github.example.org/", "secret-token")
    assert login["GIT_CONFIG_KEY_0"] == "http.https://github.example.org/.extraheader"
    assert "secret-token" not in str(login)
    assert git_login("https://github.example.org", "") == {}
