"""Output that nobody takes: never a code that means something else, and never the end of a command that acts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GATE = [sys.executable, "-m", "gate"]
CONFIG = """
version: 1
gate: g
artifact: none
keep_on_fail: 0
legs:
  a:
    run: "sleep 1; echo '{\\"done\\": true}' > $GATE_STATE_FILE"
    judge: {finished: {done: true}, pass: {done: [true]}}
"""
WAYS = ["closed pipe", "full", "closed", "both closed"]


def run(folder: Path, way: str, *argv: str) -> tuple[int, str]:
    """Run gate with a standard output that fails; its code, and what it said on standard error."""
    (folder / "gate.yaml").write_text(CONFIG)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("GITHUB_", "GATE_"))}
    environment["GATE_STATE_DIR"] = str(folder / "state")
    tail = {"full": ">/dev/full", "closed": ">&-", "both closed": ">&- 2>&-"}.get(way, "")
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            ["sh", "-c", f'"$@" {tail}', "sh", *GATE, *argv],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            timeout=90,
            check=False,
        )
    finally:
        os.close(write)
    return done.returncode, done.stderr


@pytest.mark.parametrize("way", WAYS)
def test_a_run_ends_with_its_own_code_whoever_listens(tmp_path: Path, way: str) -> None:
    code, said = run(tmp_path, way, "run")
    assert code == 0, said
    assert "bug" not in said
    assert run(tmp_path, "terminal", "poll")[0] == 0


@pytest.mark.parametrize(("way", "code"), [("closed pipe", 141), ("full", 2), ("closed", 0), ("both closed", 0)])
@pytest.mark.parametrize("argv", [["plan"], ["schema"], ["--help"], []])
def test_a_command_that_shows_something_never_ends_as_a_failed_leg(
    tmp_path: Path, way: str, code: int, argv: list[str]
) -> None:
    found, said = run(tmp_path, way, *argv)
    assert found == code, said
    assert ("cannot write to standard output: No space left on device" in said) == (way == "full")
