"""The README's own gate, by following it literally in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.tree import ROOT, blocks, commands, exit_codes

README = ROOT / "README.md"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The two files that the README shows, beside each other."""
    program = next(block for block in blocks(README) if block.startswith("# tune.py"))
    gate = next(block for block in blocks(README) if block.startswith("version: 1"))
    assert len(gate.splitlines()) == 8, "the README promises a gate in eight lines"
    (tmp_path / "tune.py").write_text(program)
    (tmp_path / "gate.yaml").write_text(gate)
    return tmp_path


def follow(project: Path) -> subprocess.CompletedProcess[str]:
    """Run the README's commands there, with nothing of this process's environment but PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "HOME": str(project), "LANG": "C.UTF-8"}
    return subprocess.run(
        ["bash", "-c", commands(README)], cwd=project, env=env, capture_output=True, text=True, timeout=60, check=False
    )


def test_it_passes_and_explains_itself(project: Path) -> None:
    ended = follow(project)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert re.findall(r"^\d+$", ended.stdout, re.MULTILINE) == exit_codes(README)
    assert "converged" in ended.stdout


def test_a_program_that_does_not_converge_fails_it(project: Path) -> None:
    program = project / "tune.py"
    program.write_text(program.read_text().replace('"converged"', '"diverged"'))
    ended = follow(project)
    assert re.findall(r"^\d+$", ended.stdout, re.MULTILINE) == ["1"], ended.stdout + ended.stderr
    assert "not_accepted" in ended.stdout


def test_a_program_that_writes_no_state_file_is_not_measured(project: Path) -> None:
    (project / "tune.py").write_text("print('all is well')\n")
    ended = follow(project)
    assert re.findall(r"^\d+$", ended.stdout, re.MULTILINE) == ["3"], ended.stdout + ended.stderr
    assert "command_failed" in ended.stdout
