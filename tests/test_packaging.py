"""The wheel: what is in it, and that it runs with its locked run-time dependencies alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
import tomllib

ROOT = Path(__file__).parents[1]
LOCKS = sorted(ROOT.glob("requirements/*.txt"))
PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ]+)", re.MULTILINE)


def normal(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(lock: Path) -> dict[str, str]:
    """Name to version of everything a lock holds."""
    return {normal(pin["name"]): pin["version"] for pin in PIN.finditer(lock.read_text())}


def run(*command: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command, fail with its output, return its standard output."""
    ended = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of what git would give a fresh clone."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "gate", source / "gate", ignore=shutil.ignore_patterns("__pycache__"))
    run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", place / "dist", cwd=source)
    (built,) = (place / "dist").glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_its_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    wanted = {str(file.relative_to(ROOT)) for file in (ROOT / "gate").rglob("*") if file.is_file()}
    wanted = {name for name in wanted if "__pycache__" not in name}
    assert {name for name in names if name.startswith("gate/")} == wanted
    assert {"gate/py.typed", "gate/prompts/_contract.md.j2", "gate/prompts/hyperloom/setup.md.j2"} <= names
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def _runtime(lock: Path) -> list[Distribution]:
    """The distributions of this environment that the run-time lock names and this platform needs."""
    locked = pins(lock)
    return [found for found in distributions() if normal(found.metadata["Name"]) in locked]


def test_it_runs_with_the_run_time_lock_alone(wheel: Path, tmp_path: Path) -> None:
    """As `pipx install` would: an empty environment, the wheel, what the lock names, and nothing of the developers'.

    The dependencies are linked from this environment file by file, so that the test needs no network.
    """
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = tmp_path / "venv/bin/python"
    query = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    target = Path(run(python, "-c", query, cwd=tmp_path).strip())
    for found in _runtime(ROOT / "requirements/run.txt"):
        for file in found.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                (target / file).symlink_to(Path(str(file.locate())))
    pip = (sys.executable, "-m", "pip", "--python", python)
    env = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    run(*pip, "install", "--no-index", wheel, cwd=tmp_path, env=env)
    gate = tmp_path / "venv/bin/gate"
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    assert run(gate, "--version", cwd=tmp_path, env=clean).startswith("gate ")
    assert "dispatch" in run(gate, "--help", cwd=tmp_path, env=clean)
    assert json.loads(run(gate, "schema", cwd=tmp_path, env=clean))["type"] == "object"


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_pipx_install(tmp_path: Path) -> None:
    """What `pipx install .` does, with the index: an environment of its own, built and installed by pip alone."""
    shutil.copytree(ROOT / "gate", tmp_path / "source/gate", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / "source" / name)
    venv.create(tmp_path / "venv", with_pip=True, symlinks=True)
    run(tmp_path / "venv/bin/pip", "--quiet", "--no-input", "install", ".", cwd=tmp_path / "source")
    assert run(tmp_path / "venv/bin/gate", "--version", cwd=tmp_path).startswith("gate ")
    listed = run(tmp_path / "venv/bin/pip", "list", "--format", "freeze", cwd=tmp_path)
    installed = dict(line.lower().split("==") for line in listed.splitlines())
    assert not {"pytest", "mypy", "ruff", "hypothesis"} & set(installed)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_locks_pin_everything_with_hashes_and_name_no_host(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    requirements = [line for line in text.splitlines() if line and not line.startswith((" ", "#"))]
    assert len(requirements) == len(pins(lock))
    assert all(line.endswith("\\") for line in requirements), "a requirement without a hash"
    assert not re.search(r"^(-|--)", text, re.MULTILINE)


def test_the_locks_agree_with_each_other_and_with_the_package() -> None:
    run_time, development = pins(ROOT / "requirements/run.txt"), pins(ROOT / "requirements/dev.txt")
    assert run_time.items() <= development.items()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = pins_of(project["dependencies"])
    assert direct.items() <= run_time.items()


def pins_of(requirements: list[str]) -> dict[str, str]:
    """Name to version of pinned requirements as pyproject.toml writes them."""
    return {normal(name): version for name, version in (line.split("==") for line in requirements)}
