"""Broken gate.yaml files: each says what is wrong, where, and what would be right."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from gate.errors import ConfigError
from gate.plan.load import load

FILES = sorted((Path(__file__).parent / "broken").glob("*.yaml"))


def expected(path: Path) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix("# expect: ") for line in lines if line.startswith("# expect: ")]


def test_there_are_enough() -> None:
    assert len(FILES) >= 40


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_broken_file_says_what_and_where(path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert time.monotonic() - started < 5
    message = str(caught.value)
    fragments = expected(path)
    assert fragments
    for fragment in fragments:
        if fragment.startswith("!"):
            assert fragment[1:] not in message
        else:
            assert fragment in message
    faults = [line for line in message.splitlines() if ": found " in line]
    assert faults
    assert all(f"{path.name}:" in fault and "; expected " in fault for fault in faults)


def test_a_missing_file_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no such file\n.*gate init"):
        load(tmp_path / "gate.yaml")


def test_a_folder_is_no_gate_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load(tmp_path)


def test_a_huge_file_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "gate.yaml"
    path.write_bytes(b"a: " + b"x" * (2 << 20))
    with pytest.raises(ConfigError, match="at most 1048576 bytes"):
        load(path)


def test_bytes_that_are_no_text_name_their_line(tmp_path: Path) -> None:
    path = tmp_path / "gate.yaml"
    path.write_bytes(b"version: 1\ngate: \xff\n")
    with pytest.raises(ConfigError, match=r"gate\.yaml:2: found byte 0xff; expected UTF-8 text"):
        load(path)
