"""What a pull request costs, in real repositories."""

from __future__ import annotations

import pytest

from gate.errors import ConfigError, GateError, ScopeError
from gate.plan.load import load
from gate.scope.costs import costs
from gate.scope.history import History
from gate.scope.model import Scoped
from gate.scope.span import Proposed
from tests.scope.repositories import GATE, Repository


def cost(repository: Repository, base: str = "main", head: str = "HEAD") -> Scoped:
    gate = load(repository.folder / "gate.yaml")
    return costs(gate, History.of(repository.folder), Proposed(base, head), None, ())


@pytest.fixture
def change(repository: Repository) -> Repository:
    """On a branch of its own, while main goes on."""
    repository.git("checkout", "-q", "-b", "change")
    return repository


def test_a_new_version_needs_every_leg(change: Repository) -> None:
    change.product("1.1.0")
    head = change.commit()
    found = cost(change)
    assert (found.scope, found.legs, found.version) == ("full", ("a", "b"), "1.1.0")
    assert found.reason == "the version changed from 1.0.0 to 1.1.0"
    assert (found.base, found.head) == (change.first, head)


def test_an_older_version_is_a_new_one(change: Repository) -> None:
    change.product("0.9.0")
    change.commit()
    assert cost(change).reason == "the version changed from 1.0.0 to 0.9.0"


def test_a_dependency_in_the_same_file_needs_none(change: Repository) -> None:
    change.product("1.0.0", needs="httpx>=0.28")
    change.commit()
    found = cost(change)
    assert (found.scope, found.legs) == ("none", ())
    assert found.reason == "1 file changed, none of the gate's own; the version stays 1.0.0"


@pytest.mark.parametrize("path", ["gate.yaml", "prompts/nudge.md.j2", "ci/gate/run.sh", "tools/judge.py"])
def test_the_gates_own_files_need_the_fast_legs_alone_or_with_others(change: Repository, path: str) -> None:
    change.write(path, GATE + "# more\n")
    change.write("README.md", "more\n")
    change.commit()
    found = cost(change)
    assert (found.scope, found.legs) == ("fast", ("a",))
    assert found.reason == f"the gate's own files changed: {path}"


def test_own_files_that_went_or_were_renamed_changed_too(change: Repository) -> None:
    change.write("ci/gate/run.sh", "x\n" * 20)
    change.git("checkout", "-q", "main")
    change.git("checkout", "-q", "-B", "main")
    change.write("ci/gate/run.sh", "x\n" * 20)
    change.commit()
    change.git("checkout", "-q", "-B", "change")
    change.git("mv", "ci/gate/run.sh", "run.sh")
    change.commit()
    assert cost(change).scope == "fast"


def test_a_new_version_counts_for_more_than_the_gates_own_files(change: Repository) -> None:
    change.product("1.1.0")
    change.write("gate.yaml", GATE + "# more\n")
    change.commit()
    assert cost(change).scope == "full"


def test_own_files_without_fast_legs_need_every_leg(change: Repository) -> None:
    change.write("gate.yaml", GATE.replace("fast: [a], ", ""))
    change.commit()
    found = cost(change)
    assert (found.scope, found.legs) == ("full", ("a", "b"))
    assert "scope.fast names no legs" in found.reason


def test_what_main_did_meanwhile_does_not_count(change: Repository) -> None:
    change.write("README.md", "more\n")
    change.commit()
    change.git("checkout", "-q", "main")
    change.product("2.0.0")
    change.commit()
    assert cost(change, "main", "change").scope == "none"


def test_a_renamed_version_file_keeps_its_version(change: Repository) -> None:
    change.git("mv", "pyproject.toml", "product.toml")
    change.write("gate.yaml", GATE.replace("pyproject.toml", "{file: product.toml, key: project.version}"))
    change.commit()
    found = cost(change)
    assert (found.scope, found.version) == ("fast", "1.0.0")


def test_a_version_that_stood_elsewhere_is_read_where_gate_yaml_said_then(change: Repository) -> None:
    change.write("VERSION.json", '{"version": "1.0.0"}')
    change.write("gate.yaml", GATE.replace("pyproject.toml", "{file: VERSION.json, key: version}"))
    change.commit()
    assert cost(change).scope == "fast"
    change.write("VERSION.json", '{"version": "1.0.1"}')
    change.commit()
    assert cost(change).reason == "the version changed from 1.0.0 to 1.0.1"


def test_a_version_that_could_not_be_read_before_needs_every_leg(change: Repository) -> None:
    change.git("checkout", "-q", "main")
    change.write("pyproject.toml", "[project\n")
    change.commit()
    change.git("checkout", "-q", "-B", "change")
    change.product("1.0.0")
    change.commit()
    found = cost(change)
    assert found.scope == "full"
    assert "cannot be read" in found.reason


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[project\n", "malformed"),
        ("[project]\nname = 'demo'\ndynamic = ['version']\n", "no text at 'project.version'"),
        ("[project]\nversion = 1.0\n", "found 1.0"),
    ],
)
def test_a_version_that_cannot_be_read_is_an_error_and_never_none(change: Repository, text: str, said: str) -> None:
    change.write("pyproject.toml", text)
    head = change.commit()
    with pytest.raises(ConfigError, match=r"pyproject.toml") as caught:
        cost(change)
    assert said in caught.value.message
    assert head[:10] in caught.value.message
    assert caught.value.exit_code == 2


def test_no_text_in_the_version_file_is_an_error(change: Repository) -> None:
    (change.folder / "pyproject.toml").write_bytes(b"\xff\xfe")
    change.commit()
    with pytest.raises(ConfigError, match="no UTF-8 text"):
        cost(change)


def test_a_version_file_that_went_is_an_error(change: Repository) -> None:
    change.git("rm", "-q", "pyproject.toml")
    change.commit()
    with pytest.raises(ScopeError, match=r"pyproject.toml is not there at .*, and was before"):
        cost(change)


def test_pep_621_is_what_is_read_where_nothing_is_said(change: Repository) -> None:
    silent = GATE.replace("version: pyproject.toml, ", "")
    change.git("checkout", "-q", "main")
    change.write("gate.yaml", silent)
    change.commit()
    change.git("checkout", "-q", "-B", "change")
    change.product("1.0.1")
    change.commit()
    assert cost(change).reason == "the version changed from 1.0.0 to 1.0.1"
    change.git("rm", "-q", "pyproject.toml")
    change.commit()
    with pytest.raises(ScopeError, match=r"there is no pyproject.toml, and gate.yaml does not say"):
        cost(change)


def test_names_of_files_may_hold_anything(change: Repository) -> None:
    change.write('ci/gate/a\nb "ü" *.sh', "x")
    change.commit()
    assert cost(change).scope == "fast"


def test_what_is_not_in_the_clone_is_an_error_that_says_what_to_fetch(change: Repository) -> None:
    with pytest.raises(ScopeError, match="the base 1234567 is not in this clone") as caught:
        cost(change, "1234567")
    assert "git fetch origin 1234567" in caught.value.hint
    with pytest.raises(GateError, match="no name of a commit"):
        cost(change, "--output=x")


def test_histories_without_a_commit_in_common_need_every_leg(change: Repository) -> None:
    change.git("checkout", "-q", "--orphan", "other")
    change.commit()
    found = cost(change, "main", "other")
    assert found.scope == "full"
    assert "no commit in common" in found.reason
