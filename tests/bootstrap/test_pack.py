"""gate.pyz: the same bytes each time, nothing but the standard library and anyio in it, and it runs on Python 3.10."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gate.bootstrap import exits
from gate.bootstrap.pack import OUTSIDE, PACKAGES, imported, modules, pack
from gate.errors import UsageError
from tests.bootstrap.legs import command_leg
from tests.bootstrap.test_workload import FINISH
from tests.bootstrap.workloads import stage

OLDEST = (3, 10)


def python310() -> list[str]:
    """Interpreters of the oldest version there are, each tried."""
    named = [shutil.which("python3.10") or ""]
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    if os.access(pyenv, os.R_OK | os.X_OK):  # PYENV_ROOT may be another user's
        named += [str(path) for path in sorted(pyenv.glob("3.10.*/bin/python3.10"))]
    return [name for name in named if name and _runs(name)]


def _runs(name: str) -> bool:
    code = "import sys; raise SystemExit(sys.version_info[:2] != (3, 10))"
    return subprocess.run([name, "-I", "-S", "-c", code], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pyz") / "gate.pyz"
    pack(path)
    return path


def test_same_sources_same_bytes(pyz: Path, tmp_path: Path) -> None:
    pack(tmp_path / "again.pyz")
    assert (tmp_path / "again.pyz").read_bytes() == pyz.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["again.pyz"]


def test_bootstrap_imports_the_standard_library_and_anyio_only() -> None:
    allowed = {*sys.stdlib_module_names, "anyio", "gate"}
    for module, path in modules().items():
        found = {name.split(".")[0] for name in imported(path)}
        assert found <= allowed, f"{module} imports {sorted(found - allowed)}"


def test_nothing_of_the_runner_is_packed() -> None:
    packed = set(modules())
    assert OUTSIDE not in packed
    for part in ("gate.plan.config", "gate.poll", "gate.dispatch", "gate.report", "gate.engines", "gate.simulate"):
        assert not [name for name in packed if name == part or name.startswith(f"{part}.")]
    assert {"gate.bootstrap.supervise", "gate.agents.claude", "gate.agents.command", "gate.agents.scripted"} <= packed


def test_every_packed_module_parses_as_the_oldest_python(pyz: Path) -> None:
    with zipfile.ZipFile(pyz) as archive:
        for name in archive.namelist():
            if name.startswith("gate/"):
                ast.parse(archive.read(name), name, feature_version=OLDEST)


def test_no_packed_module_uses_a_name_that_the_oldest_python_lacks(pyz: Path) -> None:
    """Names that are new in 3.11 and easy to reach for."""
    late = ("datetime.UTC", "from datetime import UTC", "StrEnum", "tomllib", "asyncio.timeout", "TaskGroup()")
    with zipfile.ZipFile(pyz) as archive:
        for name in archive.namelist():
            if name.startswith("gate/bootstrap/") and name != "gate/bootstrap/pack.py":
                text = archive.read(name).decode()
                assert not [word for word in late if word in text], name
                assert "except*" not in text, name


@pytest.mark.parametrize("package", PACKAGES)
def test_what_anyio_needs_is_packed(pyz: Path, package: str) -> None:
    with zipfile.ZipFile(pyz) as archive:
        names = archive.namelist()
    assert f"{package}/__init__.py" in names or f"{package}.py" in names


def test_it_runs_without_anything_installed(pyz: Path, tmp_path: Path) -> None:
    """On the oldest Python where there is one, else on this one; isolated, without site-packages."""
    staged = stage(tmp_path, command_leg(FINISH))
    python = (*(python310() or [sys.executable])[:1], "-I", "-S", str(pyz))
    process = staged.start(
        "supervise",
        "--assignment",
        str(staged.path),
        "--",
        "bootstrap",
        "--assignment",
        str(staged.path),
        python=python,
    )
    said, _ = process.communicate(timeout=60)
    assert process.returncode == exits.LEGS_FINISHED, said
    assert staged.result().outcome == "finished"


def test_a_package_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gate.bootstrap.pack.PACKAGES", ("no_such_package",))
    with pytest.raises(UsageError, match="no_such_package is not installed"):
        pack(tmp_path / "gate.pyz")
    assert not list(tmp_path.iterdir())
