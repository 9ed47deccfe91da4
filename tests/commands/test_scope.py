"""`gate scope` as a workflow's step calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gate.cli import run
from tests.scope.repositories import Repository


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    made = Repository(tmp_path / "repository")
    monkeypatch.chdir(made.folder)
    for name in ("GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_OUTPUT", "GITHUB_SHA", "GITHUB_ACTOR"):
        monkeypatch.delenv(name, raising=False)
    return made


def event(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, payload: object) -> Path:
    (tmp_path / "event.json").write_text(json.dumps(payload) if not isinstance(payload, str) else payload)
    monkeypatch.setenv("GITHUB_EVENT_NAME", name)
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(tmp_path / "event.json"))
    monkeypatch.setenv("GITHUB_OUTPUT", str(tmp_path / "output"))
    return tmp_path / "output"


def outputs(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    lines = iter(path.read_text().splitlines())
    for line in lines:
        name, delimiter = line.split("<<")
        value = []
        for part in lines:
            if part == delimiter:
                break
            value.append(part)
        found[name] = "\n".join(value)
    return found


def test_a_pull_request(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.product("1.1.0")
    head = repository.commit()
    payload = {"pull_request": {"base": {"sha": repository.first}, "head": {"sha": head}}}
    written = event(monkeypatch, tmp_path, "pull_request", payload)
    assert run(["scope"]) == 0
    shown = capsys.readouterr().out
    assert "scope     full: every leg (2)\n" in shown
    assert shown.endswith("Next: gate run --scope full\n")
    reason = "the version changed from 1.0.0 to 1.1.0"
    assert outputs(written) == {"scope": "full", "legs": "a,b", "reason": reason, "version": "1.1.0"}


def test_a_group_of_the_merge_queue_and_a_push(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("README.md", "more\n")
    head = repository.commit()
    group = {"merge_group": {"base_sha": repository.first, "head_sha": head}}
    written = event(monkeypatch, tmp_path, "merge_group", group)
    assert run(["scope"]) == 0
    assert outputs(written)["scope"] == "none"
    push = {"ref": "refs/heads/main", "before": repository.first, "after": head}
    event(monkeypatch, tmp_path, "push", push)
    assert run(["scope"]) == 0
    event(monkeypatch, tmp_path, "push", push | {"ref": "refs/tags/v1"})
    assert run(["scope"]) == 0
    assert outputs(written)["scope"] == "full"
    assert outputs(written)["reason"] == "tag v1: every leg"


def test_by_hand(repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = event(monkeypatch, tmp_path, "workflow_dispatch", {"inputs": {}})
    monkeypatch.setenv("GITHUB_ACTOR", "someone")
    assert run(["scope", "--legs", "b"]) == 0
    assert outputs(written)["reason"] == "workflow dispatch by someone: 1 of 2 legs"
    assert outputs(written)["legs"] == "b"


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ("{", "is no JSON"),
        ({}, "no text at 'pull_request.base.sha', found None"),
        ({"pull_request": {"base": {"sha": 3}}}, "found 3"),
        ([], "no text at"),
    ],
)
def test_a_malformed_event_is_an_error(
    repository: Repository,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    payload: object,
    said: str,
) -> None:
    written = event(monkeypatch, tmp_path, "pull_request", payload)
    assert run(["scope"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "--base and --head" in error
    assert not written.exists()


def test_an_event_without_a_file_is_an_error(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_EVENT_NAME", "push")
    assert run(["scope"]) == 2
    assert "GITHUB_EVENT_PATH names no file" in capsys.readouterr().err


def test_outside_of_a_workflow(repository: Repository, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["scope"]) == 2
    assert "Name a commit to compare with: --base." in capsys.readouterr().err
    repository.write("README.md", "more\n")
    repository.commit()
    assert run(["scope", "--base", repository.first]) == 0
    told = capsys.readouterr()
    assert "gate reap --stale" in told.out
    assert told.err == "not in a GitHub workflow: no outputs were written\n"
    assert run(["scope", "--base", repository.first, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scope"] == "none"
