"""Secrets by name: where they come from, and what is said when they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.errors import SecretError
from gate.plan.model import SecretRef
from gate.plan.secrets import needed, resolve

VALUE = "s3cr3t-v4lue-123"


def test_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", VALUE)
    assert resolve([SecretRef("API_KEY", "env", "MY_KEY")]) == {"API_KEY": VALUE}


def test_from_a_file_without_its_last_newline(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{VALUE}\n", encoding="utf-8")
    assert resolve([SecretRef("API_KEY", "file", str(tmp_path / "key"))]) == {"API_KEY": VALUE}


def test_from_a_command() -> None:
    assert resolve([SecretRef("API_KEY", "command", f"echo {VALUE}")]) == {"API_KEY": VALUE}


@pytest.mark.parametrize(
    ("ref", "said"),
    [
        (SecretRef("K", "env", "GATE_TEST_NOT_SET"), "GATE_TEST_NOT_SET is not set"),
        (SecretRef("K", "file", "/nowhere/key"), "/nowhere/key cannot be read: No such file"),
        (SecretRef("K", "command", f"echo {VALUE}; exit 3"), "ended with exit code 3"),
        (SecretRef("K", "command", "true"), "its command is empty"),
        (SecretRef("K", "command", "echo short"), "5 bytes"),
        (SecretRef("K", "command", "printf '\\377\\376aaaaaaaa'"), "not text"),
        (SecretRef("K", "command", "printf 'aaaaaaaa\\000bbbbbbbb'"), "NUL"),
    ],
)
def test_what_is_wrong_is_said_without_the_value(ref: SecretRef, said: str) -> None:
    with pytest.raises(SecretError) as caught:
        resolve([ref])
    assert said in str(caught.value)
    assert VALUE not in str(caught.value)
    assert "short" not in str(caught.value)


def test_all_that_are_missing_are_named_at_once() -> None:
    refs = [SecretRef("A", "env", "GATE_TEST_NO_A"), SecretRef("B", "env", "GATE_TEST_NO_B")]
    with pytest.raises(SecretError) as caught:
        resolve(refs)
    assert "GATE_TEST_NO_A" in str(caught.value)
    assert "GATE_TEST_NO_B" in str(caught.value)


def test_only_what_is_needed_is_resolved() -> None:
    refs = [SecretRef("A", "env", "X"), SecretRef("B", "env", "Y")]
    assert needed(refs, ["B", "B"]) == (refs[1],)
    with pytest.raises(SecretError, match="'C'"):
        needed(refs, ["C"])
