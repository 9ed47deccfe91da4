"""In CI a skip is a failure: tried on a small suite of its own, with and without workers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

OTHERS = {
    "skip": "import pytest\n\ndef test_a():\n    pass\n\n@pytest.mark.skip\ndef test_b():\n    pass\n",
    "whole_module": "import pytest\n\npytest.importorskip('no_such_module_here')\n",
    "xfail": "import pytest\n\ndef test_a():\n    pass\n\n@pytest.mark.xfail\ndef test_b():\n    assert False\n",
    "xpass": "import pytest\n\ndef test_a():\n    pass\n\n@pytest.mark.xfail\ndef test_b():\n    pass\n",
}


def run(folder: Path, body: str, *words: str, ci: str) -> subprocess.CompletedProcess[str]:
    """Run one test file with this project's conftest, in a folder of its own."""
    shutil.copy(Path(__file__).with_name("conftest.py"), folder / "conftest.py")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_small.py").write_text(body)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    return subprocess.run(
        command, cwd=folder, env={**environment, "CI": ci}, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS.keys())
def test_hewlang2857_what_did_not_run_fails_in_ci(tmp_path: Path, body: str) -> None:
    ended = run(tmp_path, body, ci="true")
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout
    assert "In CI every test runs" in ended.stdout


def test_a_skip_on_a_worker_fails_in_ci(tmp_path: Path) -> None:
    ended = run(tmp_path, OTHERS["skip"], "-n", "1", ci="true")
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED, ended.stdout


def test_elsewhere_a_skip_is_only_shown(tmp_path: Path) -> None:
    assert run(tmp_path, OTHERS["skip"], ci="").returncode == pytest.ExitCode.OK


def test_a_suite_that_ran_passes_in_ci(tmp_path: Path) -> None:
    assert run(tmp_path, "def test_a():\n    pass\n", ci="true").returncode == pytest.ExitCode.OK
